// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/cutchain.h"
#include "core/schedule/planners/blockends.h"
#include "core/schedule/planners/candidates.h"
#include "core/schedule/planners/knapsacksolver.h"
#include "core/schedule/planners/mincutsolver.h"
#include "core/schedule/planners/plannerlist.h"

#include <algorithm>
#include <array>
#include <limits>

namespace retro::schedule
{

namespace
{

constexpr std::uint64_t kSteps = 1000;
/// Items that the dynamic programme takes; more are chosen by saving per byte.
constexpr std::size_t kMostItems = 1500;

/// Saving per byte; what has no size goes first.
double ratioOf(const KeepItem& item)
{
    return item.bytes == 0 ? std::numeric_limits<double>::infinity() : item.saved / static_cast<double>(item.bytes);
}

std::vector<OpValueId> byRatio(std::vector<KeepItem> items, std::uint64_t room)
{
    std::stable_sort(items.begin(), items.end(),
                     [](const KeepItem& a, const KeepItem& b) { return ratioOf(a) > ratioOf(b); });
    std::vector<OpValueId> chosen;
    for (const KeepItem& item : items) {
        if (item.bytes <= room) {
            room -= item.bytes;
            chosen.push_back(item.value);
        }
    }
    std::sort(chosen.begin(), chosen.end());
    return chosen;
}

/// An item of weight `weight` joins the best of the rooms; `takes` notes where. `before` is room for a copy.
void join(const KeepItem& item, std::uint64_t weight, std::vector<double>& best, std::vector<double>& before,
          std::uint8_t* takes)
{
    const std::size_t count = best.size() - std::min<std::size_t>(best.size(), weight);
    std::copy_n(best.begin(), count, before.begin());
    double* behind = best.data() + (best.size() - count);
    takes += best.size() - count;
    for (std::size_t i = 0; i < count; ++i) {
        const double with = before[i] + item.saved;
        const bool isTaken = with > behind[i] || weight == 0;
        behind[i] = isTaken ? with : behind[i];
        takes[i] = isTaken ? 1 : 0;
    }
}

/// Rooms that are tried per number of blocks, in shares of the budget.
constexpr std::array<double, 12> kRooms{1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.0};

/// Per block: its share of the room, and what crosses its end always.
std::vector<OpValueId> keptPerBlock(const OpGraph& graph, const CutChain& chain, std::uint64_t room)
{
    std::vector<std::vector<KeepItem>> items(chain.size());
    std::uint64_t total = 0;
    for (const KeepItem& item : keepItems(graph)) {
        if (chain.stageOf(item.value) != kNone) {
            items[chain.stageOf(item.value)].push_back(item);
            total += item.bytes;
        }
    }
    std::vector<OpValueId> kept;
    for (std::size_t stage = 0; stage < chain.size(); ++stage) {
        std::uint64_t bytes = 0;
        for (const KeepItem& item : items[stage]) {
            bytes += item.bytes;
        }
        const double share = total == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(total);
        const auto own = chooseKept(items[stage], static_cast<std::uint64_t>(share * static_cast<double>(room)));
        kept.insert(kept.end(), own.begin(), own.end());
        kept.insert(kept.end(), chain.crossing(stage).begin(), chain.crossing(stage).end());
    }
    std::sort(kept.begin(), kept.end());
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
    return kept;
}

base::Result<Draft> knapsackDraft(const PlanRequest& request)
{
    const OpGraph& graph = *request.graph;
    const std::vector<OpId> base = request.baseSequence();
    const Halves halves = halvesOf(graph, base);
    if (halves.forward.empty()) {
        return base::engineError("the graph has no forward operators: there is nothing to rebuild");
    }
    const Deadline deadline(request);
    BestDraft best(request);
    const std::vector<std::size_t> counts =
        request.blocks.isAuto() ? std::vector<std::size_t>{1, 4, 12} : std::vector<std::size_t>{1};
    for (const std::size_t blocks : counts) {
        const CutChain chain(graph, halves, endsFor(request, halves.forward, blocks));
        for (const double share : kRooms) {
            if (best.hasAny() && deadline.isOver()) {
                break;
            }
            const auto room = static_cast<std::uint64_t>(share * static_cast<double>(request.budget));
            Draft draft;
            draft.annotations.blocks = chain.ends();
            draft.annotations.checkpoints = keptPerBlock(graph, chain, room);
            draft.sequence = sequenceOfSaved(graph, base, draft.annotations.checkpoints);
            best.offer(std::move(draft));
        }
    }
    return std::move(best).take();
}

} // namespace

std::vector<KeepItem> keepItems(const OpGraph& joint)
{
    std::vector<KeepItem> items;
    for (OpValueId id = 0; id < joint.values().size(); ++id) {
        const analysis::OpValue& value = joint.value(id);
        const bool isMade = value.producer != kNone && !value.isPinned && joint.op(value.producer).mayRepeat();
        const auto isGradient = [&](OpId reader) { return joint.op(reader).phase == analysis::Phase::Gradient; };
        if (isMade && std::ranges::any_of(joint.readers(id), isGradient)) {
            items.push_back({id, value.bytes, joint.op(value.producer).cost});
        }
    }
    return items;
}

std::vector<OpValueId> chooseKept(const std::vector<KeepItem>& items, std::uint64_t room)
{
    if (items.size() > kMostItems) {
        return byRatio(items, room);
    }
    const std::uint64_t unit = std::max<std::uint64_t>(1, (room + kSteps - 1) / kSteps);
    const std::size_t width = static_cast<std::size_t>(room / unit) + 1;
    std::vector<double> best(width, 0);
    std::vector<double> before(width, 0);
    std::vector<std::uint8_t> takes(items.size() * width, 0);
    for (std::size_t i = 0; i < items.size(); ++i) {
        join(items[i], (items[i].bytes + unit - 1) / unit, best, before, takes.data() + i * width);
    }
    std::vector<OpValueId> chosen;
    std::size_t memory = width - 1;
    for (std::size_t i = items.size(); i-- > 0;) {
        if (takes[i * width + memory] != 0) {
            chosen.push_back(items[i].value);
            memory -= static_cast<std::size_t>((items[i].bytes + unit - 1) / unit);
        }
    }
    std::sort(chosen.begin(), chosen.end());
    return chosen;
}

const Planner kKnapsack{"knapsack", "knapsack per block",
                        "per block, the values whose keeping saves most for their bytes", &knapsackDraft};

} // namespace retro::schedule
