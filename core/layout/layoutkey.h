// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/hash128.h"
#include "core/layout/layoutinput.h"

#include <cstdint>
#include <string_view>

namespace retro::layout
{

/// Hash of everything that decides how a drawing comes out: boxes and their sizes, edges, frames, pins, distances, and
/// `method`, which names who lays out, with its version. The same on every machine. O(nodes + edges + groups).
[[nodiscard]] base::Hash128 layoutKey(const LayoutInput& input, const LayoutOptions& options, std::string_view method);

/// Name of computeLayout() for layoutKey(). The number goes up whenever it draws anything differently.
inline constexpr std::string_view kOwnMethod = "layers 2";

} // namespace retro::layout
