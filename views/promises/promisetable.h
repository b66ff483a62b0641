// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/viewcontext.h"
#include "views/common/widgets/tabletext.h"
#include "views/promises/promiseforest.h"

#include <string>

namespace retro::views
{

/// Every promise of the run as a row: what it is for, when it is opened and fulfilled (events and visits from 1), and
/// how it stands at the cursor: state, age, bytes that it keeps, operands found and missing. JSON also lists the
/// branches of each, with the nodes that their search has passed.
[[nodiscard]] std::string promiseTable(const RunModel& model, const PromiseForest& forest, TableFormat format);

} // namespace retro::views
