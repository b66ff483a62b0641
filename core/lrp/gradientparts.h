// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/rule.h"
#include "core/ops/structure.h"

#include <span>

namespace retro::lrp
{

/// What gradientPart() reads for a node of this structure.
[[nodiscard]] ops::Reads gradientReads(const ops::Structure& structure, std::span<const std::uint8_t> tracked);

/// Jᵀ·R for operand `slot`: the gradient of Σ R·z with respect to it, in its shape. Defined for every structure that
/// passes relevance.
[[nodiscard]] Tensor gradientPart(const RuleContext& context, std::size_t slot);

} // namespace retro::lrp
