// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/timeline.h"

#include <QStringList>

namespace retro::views
{

/// Who is in the frontier at a state, the largest first: "block1/conv2, 4×24×24, Σ 5.08, 9.0 kB", "…, held by a
/// promise". At most `most` lines, then how many more there are.
[[nodiscard]] QStringList frontierWords(const trace::Run& run, const trace::RunState& state, std::size_t most = 8);

} // namespace retro::views
