// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"

#include <nlohmann/json.hpp>

namespace retro::engine
{

/// What became of the forward values of a pass over this graph: stored_bytes, kept_bytes, rebuilds, loops, values (each
/// with form, bytes, kept, reason, fallback), and of the strategy `optimal` modelled_peak and proven.
[[nodiscard]] nlohmann::ordered_json forwardingJson(const ForwardingDone& done, const graph::Graph& graph);

} // namespace retro::engine
