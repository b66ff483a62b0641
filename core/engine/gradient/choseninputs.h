// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"

#include <span>
#include <string>
#include <vector>

namespace retro::engine
{

/// The floating graph inputs of these names, in the order of the graph; every floating one for no names. Errors
/// (Usage): a name that no floating input has, with those that there are.
[[nodiscard]] base::Result<std::vector<base::ValueId>> chosenInputs(const graph::Graph& graph,
                                                                    std::span<const std::string> names);

} // namespace retro::engine
