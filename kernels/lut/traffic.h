// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/schedule.h"

namespace retro::lut
{

/// Bytes that a launch must move: all it reads and writes, each once; of weights, and of dense arrays that it does not
/// go over whole, only the rows that the pass visits.
[[nodiscard]] std::uint64_t bytesMoved(const Schedule& schedule, const Launch& launch);

/// Bytes of the buffers of a pass that have this role. Of those that the pass has for itself, Kept are the chosen rows
/// with their weakest comparisons, and events; Scratch are firing statistics, scores and gradients before detectors.
[[nodiscard]] std::uint64_t bytesHeld(const Schedule& schedule, Role role);

} // namespace retro::lut
