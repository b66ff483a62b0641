// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace retro::formats
{

/// Most domains whose operator sets a model may import: every nested graph keeps a list of them.
inline constexpr std::size_t kMaxOpsets = 256;

} // namespace retro::formats
