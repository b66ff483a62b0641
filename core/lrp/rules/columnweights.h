// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/rules/linearrule.h"

namespace retro::lrp
{

/// Whether an operator has so few results that a rule can be asked about each by itself: at most 1024 elements.
[[nodiscard]] bool hasFewResults(const ops::BoundOperator& op);

/// LinearRule::weigh() of any linear rule of which only the way back is known: it is applied to one unit of relevance
/// at each element of the results, and w of the element is what reaches the weights of the operands.
[[nodiscard]] std::vector<Tensor> weighByColumns(const Rule& rule, const WeighContext& context);

} // namespace retro::lrp
