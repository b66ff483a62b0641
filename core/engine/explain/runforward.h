// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"

namespace retro::engine
{

/// Results of a forward pass alone.
struct ForwardOutputs
{
    /// Per output that could be computed, in the type that it has in the model.
    std::vector<tensor::Tensor> outputs;
    std::vector<std::string> names;    ///< of those, as the graph names them
    std::vector<std::string> leftOut;  ///< what could not run, and why; empty = all outputs are there
    std::vector<std::string> warnings; ///< for people: a value that its type in the model could not hold
    double seconds = 0;
    std::int64_t peakBytes = 0;
};

/// Binds and runs the model, or the part of it that can run; keeps nothing but the outputs' needs. `inputs` per graph
/// input, in order. Errors: Input, Cancelled.
[[nodiscard]] base::Result<ForwardOutputs> runForward(const LoadedModel& model,
                                                      const std::vector<tensor::Tensor>& inputs,
                                                      execute::Precision precision, std::stop_token stop = {},
                                                      const StageProgress& progress = {});

} // namespace retro::engine
