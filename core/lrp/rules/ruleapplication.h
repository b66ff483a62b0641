// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/boundmodel.h"
#include "core/lrp/rules/rule.h"
#include "core/lrp/traversal/traversalgraph.h"

#include <map>
#include <span>
#include <string>
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

/// Rows of the ledger for what is lost where the parts of inputs are added: an input has no rule, so it is booked as
/// one more row of a node that reads it, behind the rows of the rules.
class InputRows
{
public:
    /// `reader` is the node of the input's last in-edge that has one. Nothing when nothing was lost.
    void add(NodeId input, NodeId reader, double lost);
    /// The rows in the order of the inputs, as of `visit`; none are left.
    [[nodiscard]] std::vector<event::LedgerEntry> take(std::uint32_t visit);

private:
    std::map<NodeId, event::LedgerEntry> m_rows; // by input
};

/// The consumer of the last in-edge that has one; invalid when none has.
[[nodiscard]] NodeId lastReader(std::span<const InEdge> edges);

/// Rule::misfit() of a rule at a node; operands count as tracked where anything computed from a float input does.
[[nodiscard]] std::string misfitOf(const Rule& rule, const execute::BoundModel& model, NodeId node);

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
