// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/hash128.h"
#include "core/base/result.h"
#include "core/layout/layeredlayout.h"
#include "core/layout/layoutinput.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace retro::layout
{

/// Version of the bytes; files of another one are refused, since a layout is made again in no time.
inline constexpr std::uint32_t kLayoutFileVersion = 2;

/// A layout as bytes: head, version, key, counts, places of boxes, layers, edges and frames, checksum. In the byte
/// order of this machine: these files are a cache and never travel.
[[nodiscard]] std::vector<std::byte> writeLayout(const LayeredLayout& layout, base::Hash128 key);

/// Reads a layout back. Nothing in the bytes is trusted: errors (Input) are another head, version or key, a wrong
/// length or checksum, a number that is not finite, a layer, box or edge that is not in the input or out of order.
[[nodiscard]] base::Result<LayeredLayout> readLayout(std::span<const std::byte> bytes, base::Hash128 key,
                                                     const LayoutInput& input);

} // namespace retro::layout
