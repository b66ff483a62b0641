// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace retro::graph
{

/// Key of a node's metadata: the operand slot that the node may write over, as a decimal number.
inline constexpr std::string_view kOverwrites = "retrograde.overwrites";

} // namespace retro::graph
