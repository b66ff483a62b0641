// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/opgraph.h"

#include <stop_token>

namespace retro::analysis
{

/// Partial orders that are kept side by side, and next operators that are tried for each.
inline constexpr std::size_t kBeamWidth = 32;
inline constexpr std::size_t kBeamChoices = 8;

/// The order with the least peak that a beam search finds: partial orders are compared by (peak, live), and of those
/// that ran the same set of operators one is kept. Empty when stopped. O(operators · (width · choices + operators)).
[[nodiscard]] std::vector<OpId> beamOrder(const OpGraph& graph, const std::stop_token& stop);

} // namespace retro::analysis
