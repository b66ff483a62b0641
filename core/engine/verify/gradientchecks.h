// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain.h"
#include "core/engine/verify/property.h"
#include "core/tape/model/modeltape.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace retro::engine
{

/// Relative errors up to which a reverse rule agrees with a central difference, and up to which it is in doubt.
inline constexpr double kGoodGradient = 1e-6;
inline constexpr double kPoorGradient = 1e-3;

/// A node's reverse rule against a central difference, along directions drawn by chance.
struct NodeGradient
{
    tape::Id id = 0;
    std::string node;
    std::string op;
    /// |⟨upstream, Δ⟩ − ⟨direction, parts⟩| over the size of what was added; nothing where it cannot be checked.
    std::optional<double> error;
    bool isKink = false;       ///< forward and backward differences disagree: the error says nothing
    std::string note;          ///< why it cannot be checked
    std::string smallest = {}; ///< of the worst node, where its rule is wrong: the fewest elements that show it
};

/// P8: every tracked node of a tape in double, by itself: its operands are moved a little, its value is computed again.
/// For the worst node beyond kPoorGradient, elements of what arrives and of the directions are then taken away, by
/// halves, as long as the rule stays wrong. Errors: Cancelled, what an operator or a rule refuses.
[[nodiscard]] base::Result<std::vector<NodeGradient>> checkNodes(const tape::ModelTape& made, std::uint64_t seed,
                                                                 const std::stop_token& stop,
                                                                 const StageProgress& progress = {});
/// P8 as a property: violated by the worst node beyond kPoorGradient that has no kink.
[[nodiscard]] PropertyResult judgeNodes(const std::vector<NodeGradient>& nodes);

/// The gradient of the whole model against a central difference along one direction of its floating inputs, with the
/// best of several steps. Not applicable where a kink lies in every step, or where no input is floating. Errors as
/// checkNodes().
[[nodiscard]] base::Result<PropertyResult> checkWhole(const tape::ModelTape& made, tape::Id target,
                                                      const tensor::Tensor& start, std::uint64_t seed,
                                                      const std::stop_token& stop);

/// How far float is from double at a value.
struct UlpDistance
{
    std::string value;
    std::string node;       ///< that makes it
    std::uint64_t most = 0; ///< floats between the float value and the double value rounded to float
    double relative = 0;    ///< largest difference over the largest double value
};

/// Forward values of a float tape against those of a double tape of the same model, by value name, floating values that
/// nodes make, in the order of the float tape.
[[nodiscard]] std::vector<UlpDistance> ulpDistances(const tape::ModelTape& narrow, const tape::ModelTape& wide);

} // namespace retro::engine
