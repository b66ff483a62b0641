// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/profile.h"

namespace retro::runtime
{

namespace
{

double ratio(double whole, double part) { return part > 0 ? whole / part : 1; }

} // namespace

Profile profileOf(const PlanRun& run)
{
    Profile profile;
    profile.predictedPeak = run.predicted.peak;
    profile.measuredPeak = run.peak;
    profile.predictedRatio = ratio(run.predicted.cost, run.predicted.cost - run.predicted.recomputeCost);
    profile.measuredRatio = ratio(run.computeSeconds, run.computeSeconds - run.recomputeSeconds);
    for (const StepRecord& row : run.steps) {
        profile.predictedFlops += row.predicted.flops;
    }
    profile.measuredFlops = run.flops;
    profile.secondsPerCost = run.predicted.cost > 0 ? run.computeSeconds / run.predicted.cost : 0;
    return profile;
}

void fitSeconds(PlanRun& run)
{
    double predicted = 0;
    for (const StepRecord& row : run.steps) {
        predicted += row.predicted.seconds;
    }
    const double rate = predicted > 0 ? run.computeSeconds / predicted : 0;
    for (StepRecord& row : run.steps) {
        row.predicted.seconds *= rate;
    }
}

} // namespace retro::runtime
