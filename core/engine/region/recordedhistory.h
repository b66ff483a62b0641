// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/region/history.h"

namespace retro::engine
{

/// What a run alone says of an element, without the weights of its model: its relevance, the event at which it was
/// known, and which nodes handed how much of it on. `rows` has the value itself, `last` a step per part that was
/// recorded. Errors: Usage (no such element), Input (the run did not keep its relevance).
[[nodiscard]] base::Result<History> recordedHistory(const trace::Run& run, const HistoryPlace& place);

} // namespace retro::engine
