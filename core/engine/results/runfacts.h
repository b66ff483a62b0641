// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"
#include "core/trace/run.h"

#include <span>
#include <string>
#include <vector>

namespace retro::engine
{

/// What the facts of a recorded run are taken from.
struct FactSources
{
    const LoadedModel& model;
    const ExplainRequest& request;
    const ExplainResult& result;
    std::string save; ///< the saving policy of the forward pass, in words
};

/// What the graph, shapes and forward values of a recorded run are taken from.
struct ValueSources
{
    const execute::BoundModel& model;
    const execute::SavedValues* saved;  ///< what was kept goes into the run, too; null = inputs and outputs alone
    std::vector<tensor::Tensor> inputs; ///< in the precision of the run
    std::span<const tensor::Tensor> outputs;
};

/// Fills in the graph, the shape of every value, and forward values.
void fillValues(trace::Run& run, const ValueSources& from);

/// True when what flowed in a pass is a gradient, of which nothing is conserved.
[[nodiscard]] bool carriesGradient(const ExplainResult& result);

/// Fills in which model a run is of, and what its card says of it.
void fillModel(trace::RunFacts& facts, const LoadedModel& model);

/// Fills in what was explained, how, and what the model's card says of it.
void fillFacts(trace::RunFacts& facts, const FactSources& from);

/// What the inputs of a run came from, as --input says it, where all of it is still there: the same bytes, as far as
/// the run has their digest. Else nothing.
[[nodiscard]] std::vector<std::string> sourcesThatStay(const trace::Run& run);

} // namespace retro::engine
