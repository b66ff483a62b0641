// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/viewcontext.h"

namespace retro::views
{

/// One row of numbers with a name for each (`names` says how many there are), or without any where they are few.
/// `layout` as a card says it.
[[nodiscard]] bool isTableRow(const tensor::Tensor& row, const QString& layout, std::int64_t names);
/// The input is one row of numbers, a table's features: relevance is then shown feature by feature.
[[nodiscard]] bool isTable(const RunModel& model);

/// The numbers of that row; empty where the input is none.
[[nodiscard]] std::vector<double> tableRow(const RunModel& model);
/// The names of its features; empty where nobody says them.
[[nodiscard]] QStringList featureNames(const RunModel& model);

} // namespace retro::views
