// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/boundmodel.h"

#include <cstdint>

namespace retro::execute
{

/// Bytes of all constants as they are stored, memory that several of them share once.
[[nodiscard]] std::uint64_t weightBytes(const BoundModel& model);

} // namespace retro::execute
