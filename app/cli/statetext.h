// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/timeline.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace retro::app
{

/// Everything that is known at the timeline's position: the three collections, every promise (arguments, relevance,
/// parents, children, chains; open, ready, complete), every node at which something has happened or is missing, and why
/// those that wait do so; the frontier.
[[nodiscard]] nlohmann::ordered_json stateJson(const trace::Timeline& timeline);

/// The same in lines for people.
[[nodiscard]] std::vector<std::string> stateLines(const trace::Timeline& timeline);

} // namespace retro::app
