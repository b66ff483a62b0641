// SPDX-License-Identifier: Apache-2.0
#include "views/graph/graphcards.h"

#include "core/trace/meantrelevance.h"

#include <algorithm>

namespace retro::views
{

using layout::Index;
using layout::kNone;

namespace
{

base::HandleId wholeOf(const trace::NodeState& node)
{
    const auto known = std::ranges::find_if(node.relevance, &base::HandleId::isValid);
    return known != node.relevance.end() ? *known : base::HandleId();
}

/// The relevance of a part: its own, else that of its branch of a promise, for which the card then is asked.
base::HandleId handleOf(const trace::RunState& state, const trace::Part& part, CardStatus& card)
{
    base::HandleId handle = part.handle;
    const base::PromiseId promise = part.branch.promise;
    if (!handle.isValid() && promise.isValid() && promise.index() < state.promises.size()) {
        const auto& branches = state.promises[promise.index()].branches;
        card.isAsked = true;
        if (part.branch.branch < branches.size()) {
            handle = branches[part.branch.branch].relevance;
        }
    }
    return handle;
}

void readNode(const trace::RunState& state, base::NodeId id, const trace::Run& run, CardStatus& card)
{
    if (!id.isValid() || id.index() >= state.nodes.size()) {
        return;
    }
    const trace::NodeState& node = state.nodes[id.index()];
    card.whole = wholeOf(node);
    card.isAsked = node.waitsFor.promise.isValid();
    const auto add = [&](base::HandleId handle) {
        if (handle.isValid() && handle.index() < run.handles.size()) {
            card.sum += run.handles[handle.index()].sum;
            card.hasSum = true;
        }
    };
    if (card.whole.isValid()) {
        card.sum = trace::meantSum(run, run.graph->firstOutput(id), card.whole);
        card.hasSum = card.whole.index() < run.handles.size();
        return;
    }
    for (const trace::Part& part : node.parts) {
        const base::HandleId handle = handleOf(state, part, card);
        if (handle.isValid() && !card.part.isValid()) {
            card.part = handle;
        }
        add(handle);
    }
}

} // namespace

GroupVisits groupVisitsOf(const GraphScene& scene)
{
    GroupVisits out;
    out.boxes.resize(scene.visible.nodes.size());
    out.isReached.resize(scene.visible.nodes.size());
    for (const VisitMark& visit : scene.book->flow.visits()) {
        const Index box = scene.boxOf(visit.node);
        if (box == kNone) {
            continue;
        }
        out.isReached[static_cast<std::size_t>(box)] = true;
        if (scene.visible.nodes[static_cast<std::size_t>(box)].isGroup()) {
            out.boxes[static_cast<std::size_t>(box)].push_back({visit.step, visit.mode});
        }
    }
    return out;
}

std::vector<CardStatus> cardsOf(const GraphScene& scene, const GroupVisits& visits, const trace::RunState& state,
                                std::uint64_t position)
{
    std::vector<CardStatus> cards(scene.visible.nodes.size());
    const trace::Run& run = *scene.book->run;
    for (Index box = 0; box < scene.boxCount(); ++box) {
        CardStatus& card = cards[static_cast<std::size_t>(box)];
        card.isOver = position >= run.eventCount() || !visits.isReached[static_cast<std::size_t>(box)];
        const layout::VisibleNode& node = scene.visible.nodes[static_cast<std::size_t>(box)];
        if (!node.isGroup()) {
            readNode(state, base::NodeId(static_cast<std::uint32_t>(node.node)), run, card);
            continue;
        }
        const auto members = scene.visible.members[box];
        const std::array<std::size_t, 3> places{0, members.size() / 2, members.size() - 1};
        for (std::size_t i = 0; i < places.size(); ++i) {
            card.memberNodes[i] = base::NodeId(static_cast<std::uint32_t>(members[places[i]]));
            if (card.memberNodes[i].index() < state.nodes.size()) {
                card.members[i] = wholeOf(state.nodes[card.memberNodes[i].index()]);
            }
        }
        const auto& all = visits.boxes[static_cast<std::size_t>(box)];
        card.visits = static_cast<Index>(
            std::partition_point(all.begin(), all.end(), [&](const auto& each) { return each.step < position; }) -
            all.begin());
    }
    for (const trace::PromiseState& promise : state.promises) {
        const Index box = promise.isComplete ? kNone : scene.boxOf(promise.start);
        if (box != kNone && std::ranges::any_of(promise.relevance, &base::HandleId::isValid)) {
            cards[static_cast<std::size_t>(box)].isHeld = true;
        }
    }
    return cards;
}

} // namespace retro::views
