// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/context.h"
#include "core/graph/graph.h"
#include "core/trace/profile.h"

#include <cstddef>

namespace retro::app
{

/// What a pass spent, a line per operator, the `most` most expensive ones; then what became of its values.
void sayProfile(const Context& context, const graph::Graph& graph, const trace::Profile& profile, std::size_t most);

} // namespace retro::app
