// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/runtime/planrun.h"

namespace retro::runtime
{

/// A plan's run in a few numbers, predicted against measured.
struct Profile
{
    std::uint64_t predictedPeak = 0; ///< bytes
    std::uint64_t measuredPeak = 0;
    double predictedRatio = 1; ///< cost of the plan / cost of everything once
    double measuredRatio = 1;  ///< seconds of all computations / seconds of the first ones
    double predictedFlops = 0;
    double measuredFlops = 0;
    double secondsPerCost = 0; ///< of this run: seconds of all computations / cost of the plan
};

/// Sums a run up.
[[nodiscard]] Profile profileOf(const PlanRun& run);
/// The run with predicted seconds of the rate that it measured on the whole: what is left between predicted and
/// measured is between the steps.
void fitSeconds(PlanRun& run);

} // namespace retro::runtime
