// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/rules/rule.h"
#include "core/ops/structure.h"

#include <span>

namespace retro::lrp
{

/// What gradientPart() reads for a node with this operator, for the parts of these operand slots (1 = this one).
[[nodiscard]] ops::Reads gradientReads(const ops::BoundOperator& op, std::span<const std::uint8_t> tracked);
/// What the gradients of these operand slots read when they are constants, to which the operator is bound.
[[nodiscard]] ops::Reads parameterReads(const ops::BoundOperator& op, std::span<const std::uint8_t> constants);

/// What a shape map brings back to operand `slot` of the relevance that arrived, signs not applied.
[[nodiscard]] Tensor carriedBack(const RuleContext& context, std::size_t slot);
/// What carriedBack() reads.
[[nodiscard]] ops::Reads carryReads(const ops::BoundOperator& op);

/// Jᵀ·R for operand `slot`: the gradient of Σ R·z with respect to it, in its shape. Defined for every structure that
/// passes relevance.
[[nodiscard]] Tensor gradientPart(const RuleContext& context, std::size_t slot);

} // namespace retro::lrp
