// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/jsontext.h"

namespace retro::lrp
{

using base::JsonText;

/// Largest composite text, and deepest nesting in it, that is read.
inline constexpr std::size_t kMaxCompositeBytes = 1U << 20;
inline constexpr std::size_t kMaxCompositeDepth = 16;

} // namespace retro::lrp
