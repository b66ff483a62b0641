// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace retro::engine
{

/// Hidden values that somebody wants of a forward pass, each as soon as it is there: none is held for that.
struct HiddenValues
{
    std::vector<std::string> patterns; ///< which ones (valuepatterns.h)
    /// Called once, before the pass, with those that were found and their bytes in the file.
    std::function<base::Result<void>(const graph::Graph& graph, std::span<const base::ValueId> found,
                                     std::uint64_t bytes)>
        begin;
    /// Called for each, in the type that it has in the model.
    std::function<base::Result<void>(base::ValueId value, const tensor::Tensor& tensor)> take;
};

/// The model with its values as the file names them: without the rewrites, which merge nodes.
[[nodiscard]] base::Result<LoadedModelPointer> asInFile(const LoadedModelPointer& model,
                                                        const std::stop_token& stop = {});

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
/// input, in order. Errors: Input, Cancelled; of `hidden`: a pattern that names nothing (Usage), and what it answers.
[[nodiscard]] base::Result<ForwardOutputs>
runForward(const LoadedModel& model, const std::vector<tensor::Tensor>& inputs, execute::Precision precision,
           std::stop_token stop = {}, const StageProgress& progress = {}, const HiddenValues& hidden = {});

} // namespace retro::engine
