// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explainer/relevancegraph.h"
#include "core/engine/model/symbolicshapes.h"

#include <stop_token>
#include <vector>

namespace retro::engine
{

/// Zeros of the types and shapes that a graph declares for its inputs; of free axes the first are kFreeSamples, others
/// `freeExtent`. Errors (Input): an input without a shape, or too large to be made.
[[nodiscard]] base::Result<std::vector<tensor::Tensor>> zerosFor(const graph::Graph& graph,
                                                                 std::int64_t freeExtent = kUsualSizes.base);

/// The relevance graph as its steps are written: constants and equal nodes as they came. `plain`: the model in steps;
/// `shapes`: of its values where inputs have free axes, else empty; `freeExtent`: as of zerosFor(). Errors: as
/// relevanceGraph().
[[nodiscard]] base::Result<RelevanceGraph>
unfinishedRelevanceGraph(const LoadedModel& plain, const ExplainRequest& request, const RelevanceGraphForm& form,
                         std::vector<SymbolicShape> shapes, std::int64_t freeExtent, const std::stop_token& stop);

} // namespace retro::engine
