// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/planners/candidates.h"
#include "core/schedule/planners/knapsacksolver.h"
#include "core/schedule/planners/mincutsolver.h"
#include "core/schedule/planners/plannerlist.h"

namespace retro::schedule
{

namespace
{

/// What the selective checkpointing recipe of PyTorch does: results of convolutions and matrix products stay, but for
/// every second matrix product; everything else is computed again.
base::Result<Draft> everySecondProduct(const PlanRequest& request)
{
    const OpGraph& graph = *request.graph;
    const std::vector<OpId> base = request.baseSequence();
    Draft draft;
    std::size_t seen = 0;
    for (const OpId op : base) {
        if (graph.op(op).phase != analysis::Phase::Forward || !graph.op(op).isProduct) {
            continue;
        }
        if (seen++ % 2 == 0) {
            const auto& outputs = graph.op(op).outputs;
            draft.annotations.checkpoints.insert(draft.annotations.checkpoints.end(), outputs.begin(), outputs.end());
        }
    }
    if (seen == 0) {
        return base::engineError("the graph has no convolution or matrix product whose result could stay");
    }
    draft.sequence = sequenceOfSaved(graph, base, draft.annotations.checkpoints);
    return draft;
}

std::vector<bool> bansOfPyTorch(const OpGraph& graph)
{
    std::vector<bool> isBanned(graph.size(), false);
    for (OpId op = 0; op < graph.size(); ++op) {
        isBanned[op] = graph.op(op).phase == analysis::Phase::Forward && graph.op(op).isProduct;
    }
    return isBanned;
}

std::uint64_t bytesOf(const OpGraph& graph, const std::vector<OpValueId>& values)
{
    std::uint64_t bytes = 0;
    for (const OpValueId id : values) {
        bytes += graph.value(id).bytes;
    }
    return bytes;
}

/// The values of a cut as things that can be kept.
std::vector<KeepItem> itemsOf(const OpGraph& graph, const std::vector<OpValueId>& saved)
{
    std::vector<KeepItem> items;
    for (const OpValueId id : saved) {
        items.push_back({id, graph.value(id).bytes, graph.op(graph.value(id).producer).cost});
    }
    return items;
}

/// Those that make these values may not run again.
std::vector<bool> bansOf(const OpGraph& graph, const std::vector<OpValueId>& kept)
{
    std::vector<bool> isBanned(graph.size(), false);
    for (const OpValueId id : kept) {
        isBanned[graph.value(id).producer] = true;
    }
    return isBanned;
}

/// What PyTorch's activation memory budget does: the default cut; below it a knapsack over the values of that cut, and
/// a last cut with those that do not stay allowed to run again. The knob is a share of the saved bytes, not a peak: the
/// largest share whose plan fits is taken.
base::Result<Draft> memoryBudget(const PlanRequest& request)
{
    const OpGraph& graph = *request.graph;
    const std::vector<OpId> base = request.baseSequence();
    std::vector<std::uint64_t> price;
    for (const analysis::OpValue& value : graph.values()) {
        price.push_back(value.bytes);
    }
    const MinCut cut = minimumCut(graph, price, bansOfPyTorch(graph));
    const std::vector<KeepItem> items = itemsOf(graph, cut.saved);
    const Deadline deadline(request);
    BestDraft best(request);
    for (int percent = 100; percent >= 0 && !(best.hasAny() && deadline.isOver()); percent -= 5) {
        const auto room = static_cast<std::uint64_t>(static_cast<double>(bytesOf(graph, cut.saved)) * percent / 100);
        const std::vector<OpValueId> kept = percent == 100 ? cut.saved : chooseKept(items, room);
        Draft draft;
        draft.annotations.checkpoints = minimumCut(graph, price, bansOf(graph, kept)).saved;
        draft.sequence = sequenceOfSaved(graph, base, draft.annotations.checkpoints);
        best.offer(std::move(draft));
        if (best.fits()) {
            break;
        }
    }
    return std::move(best).take();
}

} // namespace

const Planner kTorchSecondProduct{"torch_every_2nd_mm", "every second matmul",
                                  "baseline: PyTorch's selective recipe, every second product stays",
                                  &everySecondProduct};
const Planner kTorchMemoryBudget{"torch_memory_budget", "PyTorch's memory budget",
                                 "baseline: PyTorch's activation memory budget, cut and knapsack", &memoryBudget};

} // namespace retro::schedule
