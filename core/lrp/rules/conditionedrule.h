// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/rules/rule.h"

namespace retro::lrp
{

/// A rule that sees only that part of what arrived at output `output` which a condition keeps: `mask`, of the output's
/// shape, times the complete relevance there (concept relevance propagation; Achtibat et al. 2023). What is left out is
/// booked as filtered.
[[nodiscard]] RulePointer conditionedRule(RulePointer rule, std::size_t output, Tensor mask);

} // namespace retro::lrp
