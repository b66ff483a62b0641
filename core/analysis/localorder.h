// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/opgraph.h"

#include <stop_token>

namespace retro::analysis
{

/// Moves single operators inside their slack (between their last producer and their first reader) as long as the peak
/// falls, or stays with less live bytes summed over the positions. Never returns a worse order. Ends after a fixed
/// number of rounds, or when stopped.
[[nodiscard]] std::vector<OpId> improveOrder(const OpGraph& graph, std::vector<OpId> order,
                                             const std::stop_token& stop);

} // namespace retro::analysis
