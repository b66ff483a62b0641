// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/context.h"
#include "core/engine/forwarding/forwardedgradient.h"

#include <cstddef>

namespace retro::app
{

/// Decisions with their reasons, for people; `most` of those that are not as they were wished for.
void sayForwarding(const Context& context, const engine::ForwardingDone& done, const graph::Graph& graph,
                   std::size_t most);
/// The same of a gradient pass, in full.
[[nodiscard]] nlohmann::ordered_json forwardingJson(const engine::ForwardedGradient& made);

} // namespace retro::app
