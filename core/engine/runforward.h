// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain.h"

namespace retro::engine
{

/// Results of a forward pass alone.
struct ForwardOutputs
{
    std::vector<tensor::Tensor> outputs; ///< per output that could be computed
    std::vector<std::string> names;      ///< of those, as the graph names them
    std::vector<std::string> leftOut;    ///< what could not run, and why; empty = all outputs are there
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
