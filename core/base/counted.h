// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace retro::base
{

/// "1 node", "2 nodes".
[[nodiscard]] inline std::string counted(std::size_t number, std::string_view one)
{
    return fmt::format("{} {}{}", number, one, number == 1 ? "" : "s");
}

} // namespace retro::base
