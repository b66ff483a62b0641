// SPDX-License-Identifier: Apache-2.0
#include "app/gui/facts/storageproblem.h"

#include "core/engine/forwarding/forwardedstorage.h"
#include "core/engine/forwarding/gradientneeds.h"

#include <fmt/format.h>

namespace retro::app
{

using base::Result;

namespace
{

/// `storage` is taken over by the curve.
views::StorageFacts factsOf(engine::ForwardedStorage storage, const graph::Graph& graph)
{
    views::StorageFacts facts{{}, QStringLiteral("FLOP"), {}};
    for (const std::uint32_t number : analysis::storageCandidates(storage.problem)) {
        const base::ValueId value = storage.values[number];
        facts.tensors.push_back({number, QString::fromStdString(graph.value(value).name), graph.nodeOf(value), value,
                                 storage.problem.sizeOf(number), storage.problem.node(number).cost});
    }
    facts.follow = [problem = std::move(storage.problem)](const std::set<std::uint32_t>& rebuilt) {
        const analysis::Liveness lives = analysis::liveness(problem, rebuilt);
        return views::StorageTrack{lives.resident, problem.nodes.size(), lives.peak, lives.extraCost};
    };
    return facts;
}

} // namespace

Result<views::StorageFacts> storageFacts(const std::shared_ptr<const execute::BoundModel>& model, base::ValueId target)
{
    const graph::Graph& graph = model->graph();
    if (graph.valueCount() > kMostStorageValues) {
        return base::usageError(fmt::format("the graph has {} values; choices are followed here for up to {}. "
                                            "`retrograde-cli grad --forward` takes larger graphs",
                                            graph.valueCount(), kMostStorageValues));
    }
    if (!target.isValid() || !model->isTracked(target)) {
        return base::usageError("what is explained carries no gradient; choose another target");
    }
    return factsOf(engine::forwardedStorage(engine::GradientNeeds(model, target), 0), graph);
}

} // namespace retro::app
