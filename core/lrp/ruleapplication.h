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

/// What applying the rule of a node needs beside values: the same for every input of a bound model.
struct RuleSite
{
    RulePointer rule;
    std::vector<std::uint8_t> tracked;   ///< per operand slot: 1 when the operand takes relevance
    std::vector<ops::TensorType> types;  ///< per operand slot
    std::vector<std::size_t> tokenSlots; ///< slots of tokens, whose relevance goes to the input that they are
};

/// The site of a node's rule.
[[nodiscard]] RuleSite ruleSite(const execute::BoundModel& model, NodeId node, RulePointer rule,
                                std::vector<std::uint8_t> tracked);

/// A row of the ledger for what is lost where the parts of an input are added: an input has no rule, so it is booked as
/// one more row of `reader`, the node of its last in-edge that has one.
[[nodiscard]] event::LedgerEntry rowOfInput(NodeId reader, std::uint32_t visit, double lost);
/// The consumer of the last in-edge that has one; at least one has.
[[nodiscard]] NodeId lastReader(std::span<const InEdge> edges);

/// Applies the rule of a site; otherwise as below.
[[nodiscard]] std::vector<Tensor> applyRule(const execute::BoundModel& model, NodeId node, const RuleSite& site,
                                            std::span<const Tensor> relevance, const NodeValues& values,
                                            event::LedgerEntry* row, double lost = 0);

/// Applies a rule to one node: relevance per output (invalid = zero), result per operand slot. Adds what was lost and
/// gained to `row` when it is given, and `lost`, what rounding took when the parts of the relevance were added. In
/// float64 the row then closes to about 106 bits: what rounding leaves is summed exactly.
[[nodiscard]] std::vector<Tensor> applyRule(const execute::BoundModel& model, NodeId node, const RulePointer& rule,
                                            std::span<const std::uint8_t> tracked, std::span<const Tensor> relevance,
                                            const NodeValues& values, event::LedgerEntry* row, double lost = 0);

} // namespace retro::lrp
