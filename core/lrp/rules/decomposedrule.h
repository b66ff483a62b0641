// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/composite/composite.h"
#include "core/rewrite/body/functionbody.h"

namespace retro::lrp
{

/// True for decomposedRule() as composites have it: assignRules() puts bindDecomposed() in its place.
[[nodiscard]] bool isDecomposed(const Rule& rule);

/// True when both have the same name and parameters; of two that were bound to their nodes, when so have the rules of
/// all their parts. Two of one node then give the same bits for the same tensors.
[[nodiscard]] bool isSameRule(const Rule& a, const Rule& b);

/// The function body of a node of the model, with the operands that carry no relevance detached. Errors (Input, without
/// a place): as rewrite::functionBody.
[[nodiscard]] base::Result<rewrite::FunctionBody> bodyOf(const execute::BoundModel& model, execute::NodeId id);

/// The rules of the parts of a rule that was bound to its node, by NodeId of its body; null for other rules.
[[nodiscard]] const RuleAssignment* rulesOfParts(const Rule& rule);

/// The rule for a composed node by the rules of its parts: the members that a rewrite kept, else its function body
/// (rewrite::functionBody). The parts run forward on the operands, and relevance is carried back through them by the
/// oracle, each by the rule that the composite gives it. `composite` is that of the inside: its entries for the first
/// layer are those that lie there. Operands that carry no relevance outside carry none inside. Errors (Input): the
/// operator cannot be taken apart, a part without a rule; the message says what to do. `use` as for assignRules().
[[nodiscard]] base::Result<RulePointer> bindDecomposed(const Composite& composite, const execute::BoundModel& model,
                                                       execute::NodeId id, const graph::Graph* members,
                                                       EntryUse* use = nullptr);

} // namespace retro::lrp
