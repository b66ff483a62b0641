// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"

#include <cstdint>
#include <vector>

namespace retro::app
{

/// Positions at which stepping over stops, ascending: the end of the first visit of every stretch of visits that stays
/// in one group. The group of a node is the innermost scope around it that holds more than one node; a node without
/// such a scope is a group of its own. A stretch goes on in groups inside its group.
[[nodiscard]] std::vector<std::uint64_t> groupStops(const trace::Run& run);

} // namespace retro::app
