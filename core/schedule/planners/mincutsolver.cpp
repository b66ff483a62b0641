// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/planners/mincutsolver.h"

#include "core/analysis/maxflow.h"
#include "core/schedule/replay.h"

#include <algorithm>

namespace retro::schedule
{

namespace
{

using analysis::kInfiniteFlow;
using analysis::MaxFlow;

bool isForwardValue(const OpGraph& joint, OpValueId id)
{
    const OpId producer = joint.value(id).producer;
    return producer != kNone && joint.op(producer).phase == analysis::Phase::Forward && !joint.value(id).isPinned;
}

/// Edges of a value: from the source when it may not be rebuilt, from its operands, to the sink when a gradient reads
/// it.
void addEdges(MaxFlow& flow, const OpGraph& joint, OpValueId id, const std::vector<bool>& isBanned)
{
    const auto source = static_cast<std::uint32_t>(2 * joint.values().size());
    const OpId producer = joint.value(id).producer;
    if (isBanned[producer] || !joint.op(producer).mayRepeat()) {
        flow.add(source, 2 * id, kInfiniteFlow);
    }
    for (const OpValueId input : joint.reads(producer)) {
        if (isForwardValue(joint, input)) {
            flow.add(2 * input + 1, 2 * id, kInfiniteFlow);
        }
    }
    if (joint.isReadByGradient(id)) {
        flow.add(2 * id + 1, source + 1, kInfiniteFlow);
    }
}

} // namespace

MinCut minimumCut(const OpGraph& joint, const std::vector<std::uint64_t>& price, const std::vector<bool>& isBanned)
{
    const auto count = static_cast<std::uint32_t>(joint.values().size());
    const std::uint32_t source = 2 * count;
    const std::uint32_t sink = source + 1;
    MaxFlow flow(2 * static_cast<std::size_t>(count) + 2);
    for (OpValueId id = 0; id < count; ++id) {
        if (isForwardValue(joint, id)) {
            flow.add(2 * id, 2 * id + 1, std::min(price[id], kInfiniteFlow));
            addEdges(flow, joint, id, isBanned);
        }
    }
    flow.run(source, sink);
    MinCut cut;
    for (OpValueId id = 0; id < count; ++id) {
        const bool isCut = isForwardValue(joint, id) && flow.isOfSource(2 * id) && !flow.isOfSource(2 * id + 1);
        if (isCut) {
            cut.saved.push_back(id);
            cut.bytes = std::min(cut.bytes + std::min(price[id], kInfiniteFlow), kInfiniteFlow);
        }
    }
    return cut;
}

std::vector<OpId> sequenceOfSaved(const OpGraph& joint, const std::vector<OpId>& base,
                                  const std::vector<OpValueId>& saved)
{
    std::vector<bool> isKept(joint.values().size(), false);
    for (const OpValueId id : saved) {
        isKept[id] = true;
    }
    return expandKept(joint, base, isKept, Rebuilt::UntilLastGradient);
}

} // namespace retro::schedule
