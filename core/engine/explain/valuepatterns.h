// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/graph/modulename.h"

#include <span>
#include <string>
#include <vector>

namespace retro::engine
{

/// Values that are computed, or given as inputs, and that one of the patterns names, in the order of their ids. A
/// pattern is a name in which `*` stands for any letters, `?` for one and [ab] for one of these. It is compared with
/// the names of values, of nodes (all that they make) and of modules (what a module makes and others read). Errors
/// (Usage): a pattern that names nothing, with the names that are nearest to it.
[[nodiscard]] base::Result<std::vector<base::ValueId>> valuesMatching(const graph::Graph& graph,
                                                                      std::span<const std::string> patterns);

} // namespace retro::engine
