// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"

#include <QString>

namespace retro::views
{

/// What happened at an event in a few words, for a row whose columns name the node and the kind: "part 1 of 3 from
/// attn.Q", "epsilon: 0.3902 in, 0.3887 out". Empty when there is no such event.
[[nodiscard]] QString eventWords(const trace::Run& run, std::uint64_t step);

} // namespace retro::views
