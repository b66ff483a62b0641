// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/runtime/jointprogram.h"
#include "core/runtime/reversehalf.h"
#include "core/runtime/tiers/storagetier.h"
#include "core/schedule/simulator.h"

#include <functional>
#include <stop_token>
#include <vector>

namespace retro::runtime
{

/// What a step needs, by the simulator or by a clock and the tensor store.
struct StepFigures
{
    std::uint64_t transient = 0; ///< bytes while it runs
    std::uint64_t after = 0;
    double seconds = 0; ///< of the computation; copies run beside
    double stall = 0;   ///< seconds that it waited for copies
    double flops = 0;   ///< multiply-add counted as two; of a gradient, its readers' operations once each
};

/// One step of a plan that was carried out.
struct StepRecord
{
    std::size_t index = 0; ///< in the plan
    schedule::Step step;
    bool isRecompute = false;
    StepFigures predicted;
    StepFigures measured;
    std::vector<OpValueId> left; ///< values whose way to a tier ended before it
};

/// Something that a plan made for the first time.
struct Made
{
    ValueId value;
    bool isGradient = false; ///< the gradient (relevance) of `value`, not itself
    const Tensor& tensor;
};

/// Beside the plan.
struct PlanRunOptions
{
    TierMap tiers = standardTiers(); ///< by the names that the plan uses
    double secondsPerCost = 1;       ///< of the graph's cost unit, for what is predicted
    std::stop_token stop;
    bool endsAtTurn = false; ///< carries out what comes before the first gradient (relevance) operator alone
    /// After every step, on the thread that runs.
    std::function<void(const StepRecord&)> onStep;
    /// Every tensor that is made, for the first time or again, before the onStep of its step.
    std::function<void(OpValueId, const Tensor&)> onTensor;
    /// Whoever wants a result takes it here: the plan frees it as it likes. What is kept is outside the plan's memory.
    std::function<void(const Made&)> onMade;
};

/// What carrying out a plan gave, predicted against measured.
struct PlanRun
{
    schedule::Simulation predicted;
    std::vector<StepRecord> steps;
    std::uint64_t peak = 0;       ///< of store and workspace, inputs and constants left out, as the simulator counts
    std::int64_t tensorsPeak = 0; ///< of all tensors of the process, and of workspace that operators state
    double seconds = 0;           ///< from the first step to the end of the last copy
    double computeSeconds = 0;    ///< of all computations
    double recomputeSeconds = 0;  ///< of those after an operator's first
    double stalls = 0;            ///< seconds that waited for copies
    double flops = 0;
    std::uint64_t movedBytes = 0;
};

/// Carries out a plan: forward operators by the model, gradients by `half`. `inputs` per graph input, of the model's
/// types and shapes. The simulator judges the plan first; memory then follows its rows: a value that is moved away
/// leaves at the step at which the simulator lets it go, its copy being waited for. Errors: Input (the plan fails, with
/// the simulator's text; a tier that is not there; data that an operator cannot work with), Output (a tier is full),
/// Cancelled.
[[nodiscard]] base::Result<PlanRun> runPlan(const JointProgram& program, const schedule::Plan& plan,
                                            std::span<const Tensor> inputs, const ReverseHalf& half,
                                            const PlanRunOptions& options = {});

} // namespace retro::runtime
