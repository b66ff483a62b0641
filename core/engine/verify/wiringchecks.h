// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/verify/property.h"
#include "core/tape/model/modeltape.h"

#include <cstdint>

namespace retro::engine
{

/// P7 and P10 to P14 on the wiring of a model's tape, exactly: every value is one integer modulo 2⁶¹ − 1 (or a flag)
/// and every node a linear map with coefficients that follow from `seed`. What operators compute plays no part; who
/// reads whom does. `target` is where the reverse passes start. Linear in the cells.
[[nodiscard]] PropertyResults checkWiring(const tape::ModelTape& made, tape::Id target, std::uint64_t seed);

} // namespace retro::engine
