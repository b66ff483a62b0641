// SPDX-License-Identifier: Apache-2.0
#include "views/common/run/runindex.h"

#include <algorithm>

namespace retro::views
{

namespace
{

std::uint64_t keyOf(std::uint32_t node, std::uint32_t output)
{
    return (static_cast<std::uint64_t>(node) << 32) | output;
}

} // namespace

RunIndex::RunIndex(const trace::Run& run)
{
    for (std::size_t step = 0; step < run.events.size(); ++step) {
        const trace::Event& e = run.events[step];
        if (e.kind == event::EventKind::Relevance) {
            m_relevanceSteps.emplace_back(keyOf(e.node, e.slot), step + 1);
            const bool isEmpty = e.handle < run.handles.size() && run.handles[e.handle].bytes == 0;
            if (!isEmpty) { // a past without tokens: there is nothing to see
                m_arrivals.emplace_back(step + 1, run.graph->outputsOf(base::NodeId(e.node))[e.slot]);
            }
        }
    }
    std::sort(m_relevanceSteps.begin(), m_relevanceSteps.end());
}

std::optional<std::uint64_t> RunIndex::relevanceStep(base::NodeId node, std::uint32_t output) const
{
    const std::uint64_t key = keyOf(node.value, output);
    const auto found =
        std::lower_bound(m_relevanceSteps.begin(), m_relevanceSteps.end(), std::pair(key, std::uint64_t{0}));
    if (found == m_relevanceSteps.end() || found->first != key) {
        return std::nullopt;
    }
    return found->second;
}

base::ValueId RunIndex::lastArrived(std::uint64_t position) const
{
    const auto after = std::upper_bound(m_arrivals.begin(), m_arrivals.end(), position,
                                        [](std::uint64_t at, const auto& arrival) { return at < arrival.first; });
    return after == m_arrivals.begin() ? base::ValueId() : std::prev(after)->second;
}

} // namespace retro::views
