// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/rewrite/quantised/dequantiser.h"

namespace retro::rewrite
{

/// A Transpose of the last axis to place 1, named after the node being rewritten.
[[nodiscard]] ValueId channelsFirst(Dequantiser& to, ValueId value, std::size_t rank);
/// The order of axes that brings axis 1 to the end.
[[nodiscard]] std::vector<std::int64_t> lastOrder(std::size_t rank);
/// The other way.
[[nodiscard]] ValueId channelsLast(Dequantiser& to, ValueId value, std::size_t rank);

} // namespace retro::rewrite
