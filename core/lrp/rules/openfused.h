// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/boundmodel.h"
#include "core/lrp/composite/composite.h"

#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace retro::lrp
{

/// A value inside a fused node, or one of its operands.
struct OpenedValue
{
    std::string name;
    bool isOperand = false;
    Tensor value;     ///< forward
    Tensor relevance; ///< by the rules of the members; invalid where nothing arrived
};

/// A fused node, opened: its members with the relevance of every value between them.
struct OpenedNode
{
    std::shared_ptr<const execute::BoundModel> model; ///< of the members
    RuleAssignment rules;                             ///< by NodeId of the members
    std::vector<OpenedValue> values;                  ///< operands, then results in order of execution
};

/// What is needed to open a fused node.
struct OpenRequest
{
    std::shared_ptr<const graph::Graph> members; ///< rewrite::FusedNode::members
    std::vector<Tensor> operands;                ///< forward values of its inputs, in order
    std::vector<Tensor> relevance;               ///< per output of `members`: what arrived there; invalid: nothing
    execute::Precision precision = execute::Precision::Float;
    /// Rule of the fused node and its structure: the member of the same structure (the layer whose bias was fused in)
    /// keeps it.
    RulePointer rule;
    ops::StructureKind structure = ops::StructureKind::NoRelevance;
};

/// Runs the members forward and carries the relevance that arrived at the fused node back through them, each by the
/// rule that it has there. The operands' relevance is that of the decomposed rules and may differ from what the fused
/// node handed on. Errors: Input (a member without a rule, shapes), Cancelled.
[[nodiscard]] base::Result<OpenedNode> openFused(const OpenRequest& request, const Composite& composite,
                                                 const std::stop_token& stop = {});

} // namespace retro::lrp
