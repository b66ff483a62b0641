// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/fromgraph.h"
#include "core/engine/model/loadmodel.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace retro::engine
{

/// Something that takes memory for the whole of a training step, beside the results of operators.
struct CountedBand
{
    std::string name; ///< as it was asked for
    std::uint64_t bytes = 0;
};

/// Parameters that a training step changes: floating initializers with an axis that some node reads, once each, the
/// statistics of BatchNormalization left out.
struct TrainedParameters
{
    std::uint64_t elements = 0;
    std::uint64_t bytes = 0; ///< in their own types
};

/// Of the model as its file says it.
[[nodiscard]] TrainedParameters trainedParameters(const graph::Graph& graph);

/// What counts beside results, by names: inputs, weights (as stored); of p trained elements gradients (in their type),
/// sgd (0), momentum (4p bytes), adam (8p), mixed (16p: half weights and gradients, master weights, Adam); workspace (0
/// here: what operators state is counted where they run). A name may stand behind a comma. `trains`: gradients of
/// parameters are planned for. Errors (Usage): another name, a name twice, mixed beside what it stands for, two
/// optimisers, gradients or an optimiser where nothing is trained.
[[nodiscard]] base::Result<std::vector<CountedBand>> countedBands(std::span<const std::string> names,
                                                                  const LoadedModel& model,
                                                                  const analysis::PlanningGraph& planning, bool trains);
/// Their sum.
[[nodiscard]] std::uint64_t totalOf(std::span<const CountedBand> bands);

} // namespace retro::engine
