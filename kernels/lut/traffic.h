// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/schedule.h"

namespace retro::lut
{

/// Bytes that a launch must move: all it reads and writes, each once; of weights, and of dense arrays that it does not
/// go over whole, only the rows that the pass visits.
[[nodiscard]] std::uint64_t bytesMoved(const Schedule& schedule, const Launch& launch);

} // namespace retro::lut
