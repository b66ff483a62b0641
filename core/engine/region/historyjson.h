// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/region/history.h"

#include <nlohmann/json_fwd.hpp>

namespace retro::engine
{

/// A history as programs read it (docs/history.md): names of values and nodes, and every number of the list.
[[nodiscard]] nlohmann::ordered_json historyJson(const trace::Run& run, const History& history);

} // namespace retro::engine
