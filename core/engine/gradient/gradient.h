// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"
#include "core/tape/model/modeltape.h"

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace retro::engine
{

/// A gradient to compute.
struct GradientRequest
{
    std::vector<tensor::Tensor> inputs; ///< per graph input, in order
    TargetRequest target;
    execute::Precision precision = execute::Precision::Float;
    /// Names of the floating inputs that get gradients (with openParameters(), also initializers); none: every one.
    std::vector<std::string> from = {};
};

/// What a gradient pass gives.
struct GradientResult
{
    std::shared_ptr<const execute::BoundModel> model;
    std::vector<tensor::Tensor> outputs; ///< per graph output
    std::vector<std::string> warnings;   ///< for people: a value that its type in the model could not hold
    ResolvedTarget target;
    /// Per graph input; invalid for those that are not floating, or not asked for.
    std::vector<tensor::Tensor> gradients;
    std::size_t cells = 0;   ///< of the tape
    std::size_t visited = 0; ///< rules that ran
    double secondsBind = 0;
    double secondsForward = 0;
    double secondsReverse = 0;
    std::int64_t peakBytes = 0;
};

/// Gradient of the target (the chosen element, per sample; the sum of a whole value) with respect to every floating
/// graph input: the model is compiled to a tape and the skipping loop runs over it. An input that the target does not
/// depend on gets zeros. Rules of operators that no input that is asked for reaches do not run. Errors: Input, Usage
/// (target, from), Cancelled.
[[nodiscard]] base::Result<GradientResult> gradient(const LoadedModel& model, const GradientRequest& request,
                                                    std::stop_token stop = {}, const StageProgress& progress = {});

/// Where a tape holds the target. Errors (Usage): a target that no gradient leaves, because no floating input reaches
/// it by operators that pass one.
[[nodiscard]] base::Result<tape::Id> targetCell(const tape::ModelTape& made, base::ValueId target);

/// The same over a model that is bound already; `model` must fit the inputs.
[[nodiscard]] base::Result<GradientResult> gradient(std::shared_ptr<const execute::BoundModel> model,
                                                    const GradientRequest& request, std::stop_token stop = {},
                                                    const StageProgress& progress = {});

} // namespace retro::engine
