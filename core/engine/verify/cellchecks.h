// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/verify/property.h"
#include "core/tape/model/modeltape.h"

#include <stop_token>

namespace retro::engine
{

/// What P4 says.
inline constexpr const char* kDirection = "parts go to earlier ids only";

/// True where a tape has the cells of its graph and every operand is earlier than its reader, so that cells can be
/// compared id by id and loops run: P1, and P4 as far as wiring tells.
[[nodiscard]] bool isSound(const tape::ModelTape& made);

/// P1 to P3: how many cells, what each may read and what each holds, against the graph and another forward pass over
/// the tape's inputs, bit for bit. Of a tape that is not sound P1, or P1 and P4, alone: nothing can be compared there.
/// A violated one names one cell and one element. Errors: what the forward pass refuses; Cancelled.
[[nodiscard]] base::Result<PropertyResults> checkCells(const tape::ModelTape& made, const std::stop_token& stop);

} // namespace retro::engine
