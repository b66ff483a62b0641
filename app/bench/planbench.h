// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/bench/benchmarks.h"
#include "app/cli/context.h"

namespace retro::app
{

/// Plans at 90, 80, 70, 50 and 30 % of store-all for the graphs of samples/graphs and those of $RETROGRADE_PLAN_GRAPHS:
/// says a table of what each planner's plan costs beyond computing everything once, the portfolio's, and the lower
/// bound. Figures: seconds of the portfolio ("plans/resnet50/50"), of the analysis of 100,000 operators, and of a
/// greedy and a portfolio plan for 10,000. Names choose as for the other benchmarks. Errors: Input (a folder or graph).
[[nodiscard]] base::Result<std::vector<BenchmarkFigure>> runPlanBenchmarks(const BenchmarkRequest& request,
                                                                           const Context& context);

} // namespace retro::app
