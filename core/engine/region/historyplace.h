// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/region/history.h"

#include <span>

namespace retro::engine
{

/// The elements of a place (HistoryPlace::kAll = all along an axis) by their row-major position; none where there is no
/// such place.
[[nodiscard]] std::vector<std::int64_t> elementsAt(const tensor::Shape& shape, std::span<const std::int64_t> index);

} // namespace retro::engine
