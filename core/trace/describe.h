// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/labels.h"
#include "core/trace/run.h"

#include <string>

namespace retro::trace
{

/// One line for people about the event at `step`: "search reaches Conv conv2", "P0.1 finds its argument at Relu r".
/// Empty when there is no such event. Never fails: ids that do not exist become "?".
[[nodiscard]] std::string describe(const Run& run, std::uint64_t step);

} // namespace retro::trace
