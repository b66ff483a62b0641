// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/boundmodel.h"
#include "core/lrp/rule.h"
#include "core/lrp/traversalgraph.h"

#include <span>
#include <vector>

namespace retro::lrp
{

/// Per operand slot of a node: 1 when the operand takes relevance.
[[nodiscard]] std::vector<std::uint8_t> trackedSlots(const TraversalGraph& graph, NodeId node);

/// Forward values of a node, as far as its rule reads them.
struct NodeValues
{
    std::vector<Tensor> operands; ///< per operand slot
    std::vector<Tensor> outputs;  ///< per output
};

/// Applies a rule to one node: relevance per output (invalid = zero), result per operand slot. Adds what was lost and
/// gained to `row` when it is given.
[[nodiscard]] std::vector<Tensor> applyRule(const execute::BoundModel& model, NodeId node, const Rule& rule,
                                            std::span<const std::uint8_t> tracked, std::span<const Tensor> relevance,
                                            const NodeValues& values, event::LedgerEntry* row);

} // namespace retro::lrp
