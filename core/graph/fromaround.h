// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace retro::graph
{

/// Stands before the name of a constant of a nested graph that a rewrite took from the graph around it. Written out,
/// such a constant has the name that it has there.
inline constexpr std::string_view kFromAround = "../";

} // namespace retro::graph
