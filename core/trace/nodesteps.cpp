// SPDX-License-Identifier: Apache-2.0
#include "core/trace/nodesteps.h"

#include <numeric>

namespace retro::trace
{

NodeSteps::NodeSteps(const Run& run)
    : m_landings(listsOf(run, event::EventKind::Land)), m_visits(listsOf(run, event::EventKind::Visit))
{}

std::span<const std::uint64_t> NodeSteps::Lists::of(NodeId node) const
{
    if (!node.isValid() || node.index() + 1 >= begin.size()) {
        return {};
    }
    return std::span(steps).subspan(begin[node.index()], begin[node.index() + 1] - begin[node.index()]);
}

NodeSteps::Lists NodeSteps::listsOf(const Run& run, event::EventKind kind)
{
    const std::size_t nodes = run.graph->runNodeCount();
    const auto isOne = [&](const event::Event& event) { return event.kind == kind && event.node < nodes; };
    Lists lists;
    lists.begin.assign(nodes + 1, 0);
    for (const event::Event& event : run.events) {
        if (isOne(event)) {
            ++lists.begin[event.node + std::size_t{1}];
        }
    }
    std::partial_sum(lists.begin.begin(), lists.begin.end(), lists.begin.begin());
    lists.steps.resize(lists.begin.back());
    std::vector<std::uint64_t> next(lists.begin.begin(), lists.begin.end() - 1);
    for (std::uint64_t step = 0; step < run.events.size(); ++step) {
        if (isOne(run.events[step])) {
            lists.steps[next[run.events[step].node]++] = step;
        }
    }
    return lists;
}

} // namespace retro::trace
