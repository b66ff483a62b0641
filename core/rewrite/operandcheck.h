// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"

#include <optional>
#include <string>

namespace retro::rewrite
{

/// The first node that has fewer operands than its operator cannot do without, in words: "product (MatMul) has 1 of 2
/// operands". The passes read these operands without asking, so such a graph is left as it is; binding it says what is
/// wrong.
[[nodiscard]] std::optional<std::string> lackingOperands(const graph::Graph& graph);

} // namespace retro::rewrite
