// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/rules/balance.h"

namespace retro::lrp
{

/// What a self-normalisation gives beside its result: mean and 1/deviation of each group (outputs 1 and 2).
[[nodiscard]] bool hasStatistics(const ops::BoundOperator& op);

/// What rules have to read for what arrives at the statistics; nothing where there are none.
[[nodiscard]] ops::Reads statisticsReads(const ops::BoundOperator& op);

/// `part` (of operand 0; may be invalid) and what the statistics hand on of what arrived at them, by the form of the
/// rule norm: x ⊙ Jᵀ(R/stab(z)) for a mean, which grows with x, and the negative of it for 1/deviation, which grows
/// with 1/x. Books what the divisions keep back.
[[nodiscard]] Tensor withStatistics(const RuleContext& context, const ops::algebra::Stabiliser& stabiliser,
                                    Balance& balance, Tensor part);

} // namespace retro::lrp
