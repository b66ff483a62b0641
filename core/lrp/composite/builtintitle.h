// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace retro::lrp
{

/// What people call a built-in composite, "Epsilon + z-plus"; empty for what is none (builtinNames()).
[[nodiscard]] std::string_view builtinTitle(std::string_view name);

} // namespace retro::lrp
