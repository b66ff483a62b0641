// SPDX-License-Identifier: Apache-2.0
#include "views/graph/relevanceflow.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace retro::views
{

using layout::Index;

namespace
{

constexpr double kLeakShare = 1e-6; // of the magnitude that arrived

/// Σ of a handle, if it exists.
std::optional<double> sumOf(const trace::Run& run, base::HandleId handle)
{
    const bool isKnown = handle.isValid() && handle.index() < run.handles.size();
    return isKnown ? std::optional<double>(run.handles[handle.index()].sum) : std::nullopt;
}

} // namespace

/// A Land event: from `producer`'s side, over which consumer it came.
struct RelevanceFlow::LandRecord
{
    Index producer = layout::kNone;
    Index consumer = layout::kNone;
    std::uint32_t slot = 0; // in-edge of the producer
    Landing landing;

    [[nodiscard]] auto key() const { return std::tuple(producer, consumer, slot, landing.step); }
    [[nodiscard]] bool isSameEdge(const LandRecord& o) const
    {
        return producer == o.producer && consumer == o.consumer && slot == o.slot;
    }
};

RelevanceFlow::RelevanceFlow(const layout::DrawnGraph& drawn, const trace::Run& run)
{
    const auto nodeCount = static_cast<std::size_t>(drawn.graph.nodeCount);
    std::vector<LandRecord> records;
    readEvents(run, nodeCount, records);
    std::sort(records.begin(), records.end(),
              [](const LandRecord& a, const LandRecord& b) { return a.key() < b.key(); });
    assign(drawn, records);
    readLedger(run, nodeCount);
}

void RelevanceFlow::readEvents(const trace::Run& run, std::size_t nodeCount, std::vector<LandRecord>& records)
{
    for (std::size_t step = 0; step < run.events.size(); ++step) {
        const event::Event& e = run.events[step];
        if (e.node >= nodeCount) {
            continue;
        }
        if (e.kind == event::EventKind::Visit) {
            m_visits.push_back({step, base::NodeId(e.node), e.mode});
        } else if (e.kind == event::EventKind::Land && e.other < nodeCount) {
            records.push_back({static_cast<Index>(e.node),
                               static_cast<Index>(e.other),
                               e.slot,
                               {step, base::HandleId(e.handle), base::PromiseId(e.promise), e.branch}});
        }
    }
}

// Parallel edges between two nodes: in-edges are numbered in the order of the consumer's operands, so the k-th in-edge
// that comes from a consumer is the k-th edge to it.
std::vector<Index> RelevanceFlow::edgesOf(const layout::DrawnGraph& drawn, const std::vector<LandRecord>& records)
{
    const std::vector<layout::LayoutEdge>& edges = drawn.graph.edges;
    std::vector<Index> byPair(edges.size());
    std::iota(byPair.begin(), byPair.end(), 0);
    const auto pairOf = [&](Index e) { return std::pair(edges[e].from, edges[e].to); };
    std::stable_sort(byPair.begin(), byPair.end(), [&](Index a, Index b) { return pairOf(a) < pairOf(b); });
    std::vector<Index> edgeOf(records.size(), layout::kNone);
    auto next = byPair.begin();
    for (std::size_t i = 0; i < records.size(); ++i) {
        if (i > 0 && records[i].isSameEdge(records[i - 1])) {
            edgeOf[i] = edgeOf[i - 1];
            continue;
        }
        const auto pair = std::pair(records[i].producer, records[i].consumer);
        next = std::find_if(next, byPair.end(), [&](Index e) { return pairOf(e) >= pair; });
        if (next != byPair.end() && pairOf(*next) == pair) {
            edgeOf[i] = *next++;
        }
    }
    return edgeOf;
}

void RelevanceFlow::assign(const layout::DrawnGraph& drawn, const std::vector<LandRecord>& records)
{
    const std::vector<Index> edgeOf = edgesOf(drawn, records);
    const layout::Buckets byEdge =
        layout::groupBy(static_cast<Index>(records.size()), static_cast<Index>(drawn.graph.edges.size()),
                        [&](Index record) { return edgeOf[static_cast<std::size_t>(record)]; });
    m_offsets = byEdge.offsets;
    m_landings.reserve(byEdge.items.size());
    for (const Index record : byEdge.items) {
        m_landings.push_back(records[static_cast<std::size_t>(record)].landing);
    }
}

void RelevanceFlow::readLedger(const trace::Run& run, std::size_t nodeCount)
{
    for (std::size_t row = 0; row < run.ledger.size(); ++row) {
        const event::LedgerEntry& entry = run.ledger[row];
        const bool addsUp = std::abs(entry.unexplained()) <= kLeakShare * entry.magnitude;
        if (!addsUp && entry.node < nodeCount) {
            m_leaks.push_back({static_cast<std::uint32_t>(row), base::NodeId(entry.node)});
        }
    }
}

std::optional<double> RelevanceFlow::at(Index edge, std::uint64_t position, const trace::Run& run,
                                        const trace::RunState& state) const
{
    const auto first = m_landings.begin() + m_offsets[static_cast<std::size_t>(edge)];
    const auto last = m_landings.begin() + m_offsets[static_cast<std::size_t>(edge) + 1];
    const auto after =
        std::partition_point(first, last, [&](const Landing& landing) { return landing.step < position; });
    if (after == first) {
        return std::nullopt;
    }
    const Landing& latest = *(after - 1);
    if (!latest.promise.isValid()) {
        return sumOf(run, latest.handle);
    }
    if (latest.promise.index() >= state.promises.size()) {
        return std::nullopt;
    }
    const auto& branches = state.promises[latest.promise.index()].branches;
    return latest.branch < branches.size() ? sumOf(run, branches[latest.branch].relevance) : std::nullopt;
}

std::uint64_t positionOf(const trace::Run& run, const trace::RunState& state)
{
    if (state.isFinished) {
        return run.eventCount();
    }
    return state.current.isValid() && run.visitCount() > 0 ? run.endOfVisit(state.visit) : 0;
}

} // namespace retro::views
