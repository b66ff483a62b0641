// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/facts.h"
#include "core/diagnosis/matching.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace retro::diagnosis
{

/// A constant operand that is not the partner's.
struct ConstantDifference
{
    NodeId node; ///< in the own graph
    std::size_t slot = 0;
    std::size_t elements = 0;
    std::vector<std::int64_t> positions; ///< row-major, of those that differ
    bool isOtherShape = false;
};

/// An attribute that is not the partner's, in words.
struct AttributeDifference
{
    NodeId node;
    std::string name;
    std::string own; ///< "none" where it is not written and has no usual value
    std::string other;
};

/// An operand that is another value than the partner's.
struct RewiredOperand
{
    NodeId node;
    std::size_t slot = 0;
    std::string own;
    std::string other;
};

/// Two models, matched, and what differs in them. Of runs without their models the graphs that ran.
struct Compared
{
    std::shared_ptr<ModelFacts> own;
    std::shared_ptr<ModelFacts> other;
    GraphMatch match;
    std::vector<NodeId> extra;   ///< nodes that only the own graph has
    std::vector<NodeId> missing; ///< nodes that only the other has
    std::vector<ConstantDifference> constants;
    std::size_t equalConstants = 0;
    std::vector<AttributeDifference> attributes;
    std::vector<RewiredOperand> rewired;

    /// Nothing of the models differs.
    [[nodiscard]] bool isSameModel() const
    {
        return extra.empty() && missing.empty() && constants.empty() && attributes.empty() && rewired.empty();
    }
    /// At least half of the smaller graph has a partner.
    [[nodiscard]] bool isComparable() const { return 2 * match.matched >= match.nodes; }
};

/// Of the graphs of two passes: which nodes and values are the same.
struct ComparedPasses
{
    std::shared_ptr<ModelFacts> own;
    std::shared_ptr<ModelFacts> other;
    GraphMatch match;
};

/// Compares two models. Both must have a model or a pass.
[[nodiscard]] std::shared_ptr<const Compared> compareModels(const Facts& own, const Facts& other);
/// Matches two passes; null where one is not there.
[[nodiscard]] std::shared_ptr<const ComparedPasses> comparePasses(const Facts& own, const Facts& other);
/// True where both passes read the same inputs, bit for bit.
[[nodiscard]] bool haveSameInputs(const Facts& own, const Facts& other);

} // namespace retro::diagnosis
