// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/viewcontext.h"

namespace retro::views
{

/// The input is one row of numbers, a table's features: relevance is then shown feature by feature.
[[nodiscard]] bool isTable(const RunModel& model);

/// The numbers of that row; empty where the input is none.
[[nodiscard]] std::vector<double> tableRow(const RunModel& model);
/// The names of its features; empty where nobody says them.
[[nodiscard]] QStringList featureNames(const RunModel& model);

} // namespace retro::views
