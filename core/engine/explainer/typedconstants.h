// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"

#include <memory>
#include <stop_token>

namespace retro::engine
{

/// The graph with each constant in the type of its value: what was computed may hold more digits than other runtimes
/// take. Errors: Cancelled.
[[nodiscard]] base::Result<std::shared_ptr<const graph::Graph>> withTypedConstants(const graph::Graph& graph,
                                                                                   const std::stop_token& stop = {});

} // namespace retro::engine
