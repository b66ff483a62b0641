// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/bench/benchmarks.h"
#include "app/cli/context.h"

namespace retro::app
{

/// Gradients of networks by plans, on real tensors: at 80, 50 and 30 % of store-all, in turns with store-all, bound and
/// warmed before. Says how measured time compares with the plan's cost ("planrun/resnet50/50": goal 1.05 × that ratio ×
/// the time of store-all) and how the peak of the process compares with the tensor store's. Networks are made when they
/// are named. Errors: Usage (no such network).
[[nodiscard]] base::Result<std::vector<BenchmarkFigure>> runPlanRunBenchmarks(const BenchmarkRequest& request,
                                                                              const Context& context);

} // namespace retro::app
