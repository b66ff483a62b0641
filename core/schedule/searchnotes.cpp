// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/searchnotes.h"

#include "core/schedule/lifetimes.h"
#include "core/schedule/replay.h"

#include <algorithm>
#include <array>
#include <utility>

namespace retro::schedule
{

using event::PlanReason;

namespace
{

constexpr std::array kReasons{std::pair{std::string_view("chen_sqrt"), PlanReason::Block},
                              std::pair{std::string_view("interval"), PlanReason::Block},
                              std::pair{std::string_view("revolve"), PlanReason::Block},
                              std::pair{std::string_view("rotor"), PlanReason::Block},
                              std::pair{std::string_view("min_cut"), PlanReason::Cut},
                              std::pair{std::string_view("torch_memory_budget"), PlanReason::Cut},
                              std::pair{std::string_view("torch_every_2nd_mm"), PlanReason::Capacity},
                              std::pair{std::string_view("knapsack"), PlanReason::Capacity},
                              std::pair{std::string_view("checkmate"), PlanReason::Programme},
                              std::pair{std::string_view("user"), PlanReason::User},
                              std::pair{std::string_view("recompute_all"), PlanReason::Everything},
                              std::pair{std::string_view("dtr"), PlanReason::Eviction},
                              std::pair{std::string_view("dtr_online"), PlanReason::Eviction},
                              std::pair{std::string_view("shave"), PlanReason::Peak}};

void tellSplits(const PlanRequest& request, const Draft& draft)
{
    const std::vector<OpId> forward = halvesOf(*request.graph, request.baseSequence()).forward;
    for (const std::uint32_t end : draft.annotations.blocks) {
        if (end > 0 && end < forward.size()) {
            request.listener->onSplit({forward[end - 1], end - 1});
        }
    }
}

/// First operator from `at` on that reads the value; kNone when nobody does.
OpId readerFrom(const OpGraph& graph, const std::vector<OpId>& sequence, std::uint32_t at, std::uint32_t until,
                OpValueId value)
{
    for (std::uint32_t i = at; i <= until && i < sequence.size(); ++i) {
        const auto reads = graph.reads(sequence[i]);
        if (std::ranges::find(reads, value) != reads.end()) {
            return sequence[i];
        }
    }
    return kNone;
}

void tellDrops(const PlanRequest& request, const std::vector<OpId>& sequence, PlanReason reason)
{
    const OpGraph& graph = *request.graph;
    std::vector<Instance> before(graph.values().size(), {kNone, 0, 0, true});
    for (const Instance& one : instancesOf(graph, sequence)) {
        Instance& last = before[one.value];
        if (last.value != kNone) {
            const double cost = graph.op(graph.value(one.value).producer).cost;
            const double away = one.start - last.end;
            request.listener->onDrop(
                {one.value, reason, static_cast<double>(graph.value(one.value).bytes) * away, cost});
            request.listener->onRebuild(
                {one.value, readerFrom(graph, sequence, one.start + 1, one.end, one.value), cost});
        }
        last = one;
    }
}

} // namespace

PlanReason reasonOf(std::string_view planner)
{
    const auto found = std::ranges::find_if(kReasons, [&](const auto& one) { return one.first == planner; });
    return found == kReasons.end() ? PlanReason::Search : found->second;
}

void reportDraft(const PlanRequest& request, const Draft& draft, PlanReason reason, bool tellsDrops)
{
    if (request.listener == nullptr) {
        return;
    }
    tellSplits(request, draft);
    if (tellsDrops) {
        tellDrops(request, draft.sequence, reason);
    }
}

void reportCandidate(const PlanRequest& request, std::string_view planner, const std::vector<OpId>& sequence,
                     double cost, bool isBest)
{
    if (request.listener == nullptr || sequence.empty()) {
        return;
    }
    const std::vector<std::uint64_t> memory = memoryOf(*request.graph, sequence);
    const auto peak = std::max_element(memory.begin(), memory.end());
    const OpId at = sequence[static_cast<std::size_t>(peak - memory.begin())];
    request.listener->onCandidate({planner, at, *peak, cost, *peak <= request.budget, isBest, false});
}

} // namespace retro::schedule
