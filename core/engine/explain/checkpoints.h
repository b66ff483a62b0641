// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/event/event.h"
#include "core/execute/boundmodel.h"
#include "core/lrp/traversal/traversalgraph.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace retro::engine
{

/// The relevance of a value at which a checkpoint stood, when it was final.
struct TakenCheckpoint
{
    base::ValueId value;
    std::optional<std::uint32_t> visit; ///< of the traversal; none for engines that make no visits
    tensor::Tensor relevance;
};

/// Values that take a snapshot: those that are named, then the results of the checkpoint operators of the model that
/// relevance reaches; each once. Errors (Usage): no value of that name, or relevance does not reach it.
[[nodiscard]] base::Result<std::vector<base::ValueId>> checkpointValues(std::span<const std::string> names,
                                                                        const execute::BoundModel& model,
                                                                        const lrp::TraversalGraph& graph);

/// The outputs of nodes that these values are.
[[nodiscard]] std::vector<lrp::NodeOutput> outputsOf(std::span<const base::ValueId> values, const graph::Graph& graph);

/// The checkpoints of a pass that has ended, in the order of `values`. The visits are those of the snapshot events,
/// which come in another order; `relevance` by ValueId.
[[nodiscard]] std::vector<TakenCheckpoint> takenCheckpoints(std::span<const base::ValueId> values,
                                                            std::span<const event::Event> snapshots,
                                                            std::span<const tensor::Tensor> relevance,
                                                            const graph::Graph& graph);

} // namespace retro::engine
