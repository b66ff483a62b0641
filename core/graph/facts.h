// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace retro::graph
{

/// What a capture says about a node beyond its operator. Everything is optional: missing means not known.
struct NodeFacts
{
    std::optional<double> flops;
    std::optional<double> milliseconds;
    std::optional<std::uint64_t> workspace; ///< bytes while it runs
    std::string phase;                      ///< "forward", "backward", or empty
    /// Operands and outputs, by position, that are kept for the gradient; missing = the operator's own choice.
    std::optional<std::vector<std::uint32_t>> savedOperands;
    std::optional<std::vector<std::uint32_t>> savedOutputs;
    bool recomputable = true;
    bool stochastic = false;
    bool effectful = false;
    bool operator==(const NodeFacts&) const = default;
};

/// What a capture says about a value beyond its type.
struct ValueFacts
{
    std::optional<std::uint64_t> bytes;
    std::optional<std::uint32_t> storage; ///< values of one number share memory
    bool isPinned = false;                ///< stays in memory for the whole run
    bool requiresGradient = false;
    bool operator==(const ValueFacts&) const = default;
};

} // namespace retro::graph
