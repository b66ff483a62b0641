// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/viewcontext.h"

namespace retro::views
{

/// The input is one row of numbers, a table's features: relevance is then shown feature by feature.
[[nodiscard]] bool isTable(const RunModel& model);

} // namespace retro::views
