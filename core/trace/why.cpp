// SPDX-License-Identifier: Apache-2.0
#include "core/trace/why.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <set>

namespace retro::trace
{

namespace
{

/// A chain of reasons longer than this says no more.
constexpr std::size_t kMostLines = 16;

/// What lands at a node in the whole run.
struct Landings
{
    std::vector<NodeId> consumers;   ///< by in-edge; invalid where nothing ever lands
    std::vector<std::uint8_t> empty; ///< by in-edge: nothing has landed before the position
};

Landings landingsAt(const Timeline& timeline, const NodeSteps& steps, NodeId node)
{
    Landings landings;
    const std::vector<Event>& events = timeline.run().events;
    for (const std::uint64_t step : steps.landings(node)) {
        const Event& event = events[step];
        landings.consumers.resize(static_cast<std::size_t>(event.extra));
        landings.empty.resize(static_cast<std::size_t>(event.extra), 1);
        landings.consumers[event.slot] = NodeId(event.other);
        landings.empty[event.slot] = step < timeline.position() ? 0 : 1;
    }
    return landings;
}

std::vector<MissingEdge> missingOf(const Landings& landings)
{
    std::vector<MissingEdge> missing;
    for (std::uint32_t slot = 0; slot < landings.empty.size(); ++slot) {
        if (landings.empty[slot] != 0) {
            missing.push_back({slot, landings.consumers[slot]});
        }
    }
    return missing;
}

std::optional<std::uint32_t> nextVisitOf(const Timeline& timeline, const NodeSteps& steps, NodeId node)
{
    const std::span<const std::uint64_t> visits = steps.visits(node);
    const auto next = std::lower_bound(visits.begin(), visits.end(), timeline.position());
    return next == visits.end() ? std::nullopt : std::optional(timeline.run().events[*next].visit);
}

/// Position of a node in a stack or queue.
std::optional<std::size_t> placeIn(const std::vector<NodeId>& nodes, NodeId node)
{
    const auto at = std::find(nodes.begin(), nodes.end(), node);
    return at == nodes.end() ? std::nullopt : std::optional(static_cast<std::size_t>(at - nodes.begin()));
}

std::string placeText(std::size_t above)
{
    return above == 0 ? "on top of the normal stack"
                      : fmt::format("on the normal stack under {} other{}", above, above == 1 ? "" : "s");
}

/// Follows the reasons from a node to the cause: nodes depend on nodes and promises, promises on both.
class Chain
{
public:
    Chain(const Timeline& timeline, const NodeSteps& steps, const NodeNames& names)
        : m_timeline(timeline), m_steps(steps), m_names(names), m_state(timeline.state())
    {}

    std::vector<std::string> from(NodeId node)
    {
        Link link{node, PromiseId()};
        while (link != Link() && m_lines.size() < kMostLines && m_met.insert(link).second) {
            link = link.node.isValid() ? explain(link.node) : explain(link.promise);
        }
        return std::move(m_lines);
    }

private:
    /// What comes next: a node, a promise, or nothing.
    struct Link
    {
        NodeId node;
        PromiseId promise;
        auto operator<=>(const Link&) const = default;
    };

    [[nodiscard]] std::string name(NodeId node) const
    {
        return m_names ? m_names(node) : nodeText(m_timeline.run(), node);
    }

    Link explain(NodeId node)
    {
        const BranchRef waitsFor = m_state.nodes[node.index()].waitsFor;
        if (waitsFor.promise.isValid()) {
            m_lines.push_back(
                fmt::format("{} waits for {}", name(node), branchText(waitsFor.promise, waitsFor.branch)));
            return {NodeId(), waitsFor.promise};
        }
        const Landings landings = landingsAt(m_timeline, m_steps, node);
        if (landings.empty.empty()) {
            m_lines.push_back(fmt::format("nothing lands at {} in this run: no relevance reaches it", name(node)));
            return {};
        }
        const std::vector<MissingEdge> missing = missingOf(landings);
        return missing.empty() ? explainPlace(node) : explainMissing(node, missing, landings.empty.size());
    }

    Link explainMissing(NodeId node, const std::vector<MissingEdge>& missing, std::size_t inEdges)
    {
        std::string text =
            fmt::format("{} misses {} of {} in-edge{}:", name(node), missing.size(), inEdges, inEdges == 1 ? "" : "s");
        for (const MissingEdge& edge : missing) {
            const std::string consumer =
                edge.consumer.isValid() ? "from " + name(edge.consumer) : std::string("which nobody fills in this run");
            text += fmt::format(" {} {},", edge.slot + 1, consumer);
        }
        text.pop_back();
        m_lines.push_back(std::move(text));
        return {missing.front().consumer, PromiseId()};
    }

    /// All inputs have landed: the node lies somewhere, or is done.
    Link explainPlace(NodeId node)
    {
        const NodeState& at = m_state.nodes[node.index()];
        if (const auto place = placeIn(m_state.queue, node)) {
            m_lines.push_back(fmt::format("{} stands in the promise queue at place {} of {}", name(node), *place + 1,
                                          m_state.queue.size()));
        } else if (const auto height = placeIn(m_state.normalStack, node)) {
            m_lines.push_back(
                fmt::format("{} lies {}", name(node), placeText(m_state.normalStack.size() - 1 - *height)));
        } else if (at.visits > 0) {
            m_lines.push_back(fmt::format("{} was visited {} time{}; nothing is missing", name(node), at.visits,
                                          at.visits == 1 ? "" : "s"));
        } else {
            m_lines.push_back(fmt::format("all in-edges of {} have just landed; it is picked next", name(node)));
        }
        return {};
    }

    Link explain(PromiseId id)
    {
        const PromiseState& promise = m_state.promises[id.index()];
        const std::string who =
            fmt::format("{} ({} at {})", promiseText(id), nameOf(promise.kind), name(promise.start));
        if (promise.isComplete) {
            m_lines.push_back(who + " is complete: whoever waits for it can go on");
            return {};
        }
        if (!promise.isReady) {
            return explainArguments(id, promise, who);
        }
        if (!promise.isOpen) {
            m_lines.push_back(who +
                              " has its arguments and waits until relevance has arrived at all inputs of its node");
            return {promise.start, PromiseId()};
        }
        return explainParents(promise, who);
    }

    Link explainArguments(PromiseId id, const PromiseState& promise, const std::string& who)
    {
        for (std::uint32_t b = 0; b < promise.branches.size(); ++b) {
            if (!promise.branches[b].argument.isValid()) {
                m_lines.push_back(fmt::format("{} lacks the argument of {}", who, branchText(id, b)));
                return placeOf({id, b}, promise.branches[b]);
            }
        }
        return {};
    }

    /// Where a search stands: at the node where its branch lies, or in the promise that was raised where it ended.
    [[nodiscard]] Link placeOf(BranchRef branch, const BranchState& state) const
    {
        if (!state.children.empty()) {
            return {NodeId(), state.children.front()};
        }
        for (std::size_t i = 0; i < m_state.nodes.size(); ++i) {
            const std::vector<Part>& parts = m_state.nodes[i].parts;
            const bool isHere =
                std::any_of(parts.begin(), parts.end(), [&](const Part& part) { return part.branch == branch; });
            if (isHere) {
                return {NodeId(i), PromiseId()};
            }
        }
        return {};
    }

    Link explainParents(const PromiseState& promise, const std::string& who)
    {
        for (const ParentState& parent : promise.parents) {
            const PromiseState& above = m_state.promises[parent.branch.promise.index()];
            if (!above.branches[parent.branch.branch].relevance.isValid()) {
                m_lines.push_back(fmt::format("{} is ready and waits for the relevance of {}", who,
                                              branchText(parent.branch.promise, parent.branch.branch)));
                return {NodeId(), parent.branch.promise};
            }
        }
        m_lines.push_back(who + " has everything and completes next");
        return {};
    }

    const Timeline& m_timeline;
    const NodeSteps& m_steps;
    const NodeNames& m_names;
    const RunState& m_state;
    std::vector<std::string> m_lines;
    std::set<Link> m_met;
};

} // namespace

Why whyNotVisited(const Timeline& timeline, const NodeSteps& steps, NodeId node, const NodeNames& names)
{
    const NodeState& state = timeline.state().nodes[node.index()];
    const Landings landings = landingsAt(timeline, steps, node);
    Why why;
    why.visits = state.visits;
    why.nextVisit = nextVisitOf(timeline, steps, node);
    why.inEdges = static_cast<std::uint32_t>(landings.empty.size());
    why.missing = missingOf(landings);
    why.waitsFor = state.waitsFor;
    why.lines = Chain(timeline, steps, names).from(node);
    if (why.nextVisit) {
        why.lines.push_back(fmt::format("visit {} picks {} next", *why.nextVisit,
                                        names ? names(node) : nodeText(timeline.run(), node)));
    }
    return why;
}

Why whyNotVisited(const Timeline& timeline, NodeId node)
{
    return whyNotVisited(timeline, NodeSteps(timeline.run()), node);
}

} // namespace retro::trace
