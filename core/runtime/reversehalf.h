// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/boundmodel.h"
#include "core/tape/model/modeltape.h"

#include <functional>
#include <vector>

namespace retro::runtime
{

/// What lands on a value: what the reverse rule of `reader` gives its operand `slot`; of a reader that is not valid,
/// what starts there.
struct Part
{
    base::NodeId reader;
    std::uint32_t slot = 0;
};

/// The parts of a value. What starts there comes first unless a group says where. Those of a group are of one reader
/// and are added first, then the groups, both in order: sums of floating-point numbers depend on it.
using PartGroups = std::vector<std::vector<Part>>;

/// How the second half of a joint graph is computed: gradients and relevance differ in nothing else.
struct ReverseHalf
{
    tape::ModelRule rule;
    std::function<PartGroups(base::ValueId)> partsOf;
    /// Operand slots that the rule of a node is told to serve, where that changes its numbers; null = those of a group.
    std::function<std::vector<std::uint8_t>(base::NodeId)> wantedOf;
    /// True for nodes whose rule gives zeros whatever arrives: nothing is planned for them. Null = there is none.
    std::function<bool(base::NodeId)> givesZeros;
    /// What starts at an output whose forward value is known; in its shape and type.
    std::function<base::Result<tensor::Tensor>(base::ValueId, const tensor::Tensor&)> startAt;
};

/// The order in which a tape adds gradients: readers from the last to the first, operands of one reader by slot.
[[nodiscard]] PartGroups gradientParts(const execute::BoundModel& model, base::ValueId value);

} // namespace retro::runtime
