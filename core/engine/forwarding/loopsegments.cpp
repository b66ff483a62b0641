// SPDX-License-Identifier: Apache-2.0
#include "core/engine/forwarding/loopsegments.h"

#include "core/ops/layerkind.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

namespace retro::engine
{

using base::NodeId;
using base::ValueId;

namespace
{

/// The iteration that a node was written out for: its name is `<loop>/<iteration>/…`.
std::optional<std::size_t> iterationOf(const std::string& node, const std::string& loop)
{
    if (!node.starts_with(loop) || node.size() <= loop.size() || node[loop.size()] != '/') {
        return std::nullopt;
    }
    std::size_t number = 0;
    const char* begin = node.data() + loop.size() + 1;
    const char* end = node.data() + node.size();
    const auto [at, error] = std::from_chars(begin, end, number);
    return error == std::errc() && at != end && *at == '/' ? std::optional(number) : std::nullopt;
}

void addLoops(const graph::Graph& graph, const std::string& prefix, std::vector<std::string>& loops);

/// Loops in the branches of an If.
void addLoopsOfBranches(const graph::Node& node, const std::string& prefix, std::vector<std::string>& loops)
{
    for (const auto& [name, attribute] : node.attributes) {
        if (const auto* inner = std::get_if<graph::Subgraph>(&attribute)) {
            addLoops(*inner->graph, prefix + node.name + "/", loops);
        }
    }
}

void addLoops(const graph::Graph& graph, const std::string& prefix, std::vector<std::string>& loops)
{
    for (const graph::Node& node : graph.nodes()) {
        const bool isStandard = node.domain.empty();
        if (isStandard && ops::isLoop(node)) {
            loops.push_back(prefix + node.name);
        } else if (isStandard && ops::isBranch(node)) {
            addLoopsOfBranches(node, prefix, loops);
        }
    }
}

} // namespace

std::vector<std::string> loopsOf(const graph::Graph& graph)
{
    std::vector<std::string> loops;
    addLoops(graph, "", loops);
    return loops;
}

LoopSegments::LoopSegments(const execute::BoundModel& model, std::span<const std::string> loops,
                           std::optional<std::size_t> every)
    : m_segmentOf(model.graph().nodeCount())
{
    for (const std::string& loop : loops) {
        addLoop(model, loop, every);
    }
}

void LoopSegments::addLoop(const execute::BoundModel& model, const std::string& loop, std::optional<std::size_t> every)
{
    std::map<std::size_t, std::vector<NodeId>> byIteration;
    for (std::size_t i = 0; i < model.graph().nodeCount(); ++i) {
        if (const auto iteration = iterationOf(model.graph().node(NodeId(i)).name, loop)) {
            byIteration[*iteration].push_back(NodeId(i));
        }
    }
    if (byIteration.empty()) {
        return;
    }
    LoopCheckpoints made{loop, byIteration.rbegin()->first + 1, every.value_or(0)};
    if (!every && made.iterations >= kShortLoop) {
        made.every = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(made.iterations))));
    }
    m_loops.push_back(made);
    if (made.every != 0) {
        addSegments(byIteration);
    }
}

void LoopSegments::addSegments(const std::map<std::size_t, std::vector<NodeId>>& byIteration)
{
    const std::size_t begin = m_segments.size();
    const std::size_t every = m_loops.back().every;
    for (const auto& [iteration, nodes] : byIteration) {
        const std::size_t first = iteration / every * every;
        if (m_segments.size() == begin || m_segments.back().first != first) {
            m_segments.push_back({m_loops.size() - 1, first, {}});
        }
        std::ranges::copy(nodes, std::back_inserter(m_segments.back().nodes));
    }
    for (std::size_t segment = begin; segment < m_segments.size(); ++segment) {
        std::vector<NodeId>& nodes = m_segments[segment].nodes;
        std::ranges::sort(nodes, [](NodeId a, NodeId b) { return a.index() < b.index(); });
        std::ranges::for_each(nodes, [&](NodeId node) { m_segmentOf[node.index()] = segment; });
    }
}

std::optional<std::size_t> LoopSegments::segmentOf(NodeId node) const
{
    return node.index() < m_segmentOf.size() ? m_segmentOf[node.index()] : std::nullopt;
}

std::string LoopSegments::whyKept(const execute::BoundModel& model, ValueId value) const
{
    const graph::Value& what = model.graph().value(value);
    if (m_segments.empty() || what.kind != graph::ValueKind::Result || model.isConstant(value)) {
        return {};
    }
    const std::optional<std::size_t> own = segmentOf(what.producer);
    for (const graph::Use& use : model.graph().uses(value)) {
        const std::optional<std::size_t> reader = segmentOf(use.node);
        if (!reader || reader == own) {
            continue;
        }
        const Segment& segment = m_segments[*reader];
        const std::string& loop = m_loops[segment.loop].loop;
        const bool isCarried = own && m_segments[*own].loop == segment.loop;
        return isCarried ? fmt::format("checkpoint before iteration {} of {}", segment.first, loop)
                         : fmt::format("read by {}, which is computed again", loop);
    }
    return {};
}

} // namespace retro::engine
