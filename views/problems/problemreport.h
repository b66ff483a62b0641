// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/viewcontext.h"
#include "views/problems/problemlist.h"

namespace retro::views
{

/// "error", "warning".
[[nodiscard]] QString wordOf(Severity severity);
/// Where a problem lies, in words: "layer1/conv1 (Conv)"; empty without a node of the present run.
[[nodiscard]] QString placeOf(const Problem& problem, const RunModel& model);

/// Everything that somebody else needs to understand the problem, as plain text: program, system, model, rules, node,
/// operator, shapes, step, what happened and what to do.
[[nodiscard]] QString problemReport(const Problem& problem, const RunModel& model);

} // namespace retro::views
