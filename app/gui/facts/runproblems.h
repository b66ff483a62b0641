// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/model/loadmodel.h"
#include "core/trace/run.h"
#include "views/problems/problemlist.h"

#include <vector>

namespace retro::app
{

/// What may mislead in a model that was read: operators that cannot be run, one problem each up to a limit.
[[nodiscard]] std::vector<views::Problem> problemsOf(const engine::LoadedModel& model);
/// What may mislead in a run: where relevance stopped being finite, with rule, value and number, and the nodes that it
/// passed; nodes where relevance is unexplained, worst first; promises that were not fulfilled.
[[nodiscard]] std::vector<views::Problem> problemsOf(const trace::Run& run);

/// The same as something that follows from a run (see views::RunDerived).
struct RunProblems
{
    explicit RunProblems(const trace::Run& run) : all(problemsOf(run)) {}
    std::vector<views::Problem> all;
};

} // namespace retro::app
