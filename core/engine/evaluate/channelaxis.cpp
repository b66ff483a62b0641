// SPDX-License-Identifier: Apache-2.0
#include "core/engine/evaluate/channelaxis.h"

#include "core/graph/attributes.h"
#include "core/ops/axismap.h"
#include "core/ops/kernel/elementmap.h"
#include "core/ops/operatoraxes.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

namespace retro::engine
{

namespace
{

using base::ValueId;
using graph::Graph;
using graph::Node;

/// The axis of the input that each axis of a value is; kAdded or kMixed for those that are none.
using Axes = std::vector<std::int64_t>;
constexpr std::int64_t kAdded = -1;
constexpr std::int64_t kMixed = -2; ///< features that a layer made of the input's channels

/// Axes of the node's first result; nothing when they lose their meaning there.
std::optional<Axes> axesBehind(const Graph& graph, const Node& node, const Axes& axes)
{
    const auto numbers = [&](std::size_t slot) {
        const bool isKnown = slot < node.inputs.size() && graph.value(node.inputs[slot]).constant.isValid();
        return isKnown ? std::optional(ops::integersOf(graph.value(node.inputs[slot]).constant)) : std::nullopt;
    };
    const std::optional<ops::AxisMap> map = ops::axesOf({node, axes.size(), nullptr, nullptr, numbers});
    if (!map) {
        return ops::operatorAxes(node).keepsAll ? std::optional(axes) : std::nullopt;
    }
    Axes behind;
    std::ranges::transform(*map, std::back_inserter(behind),
                           [&](const auto& source) { return source ? axes[source->axis] : kAdded; });
    return behind;
}

/// The position of the channels in the operand `slot` of a node that gives axes a meaning.
std::optional<std::size_t> channelsOf(const Graph& graph, const graph::Use& use, std::size_t rank)
{
    const Node& node = graph.node(use.node);
    if (rank < 2) {
        return std::nullopt;
    }
    if (node.op == "MatMul") {
        const ValueId other = node.inputs[1 - use.slot];
        const bool isWeight = graph.value(other).kind == graph::ValueKind::Constant;
        return isWeight ? std::optional(use.slot == 0 ? rank - 1 : rank - 2) : std::nullopt;
    }
    if (use.slot != 0) {
        return std::nullopt;
    }
    using enum ops::OperatorAxes::Channels;
    const ops::OperatorAxes::Channels channels = ops::operatorAxes(node).channels;
    if (channels == First) {
        return 1;
    }
    return channels == Last ? std::optional(rank - 1) : std::nullopt;
}

/// The position of the samples in what a recurrent layer reads; nothing of other nodes.
std::optional<std::size_t> samplesOf(const Graph& graph, const graph::Use& use)
{
    const Node& node = graph.node(use.node);
    if (!ops::operatorAxes(node).hasTimeAndSample || use.slot != 0) {
        return std::nullopt;
    }
    return graph::intAttribute(node, "layout", 0) == 1 ? 0 : 1;
}

/// True where time and samples are in the result what they are in the first operand: a dense layer, a normalisation.
bool keepsAllButLast(const graph::Use& use, const Node& node)
{
    return use.slot == 0 && ops::operatorAxes(node).keepsAllButLast;
}

ChannelAxis nameOf(std::int64_t axis, std::size_t rank)
{
    if (axis == 1) {
        return ChannelAxis::First;
    }
    return axis >= 0 && static_cast<std::size_t>(axis) + 1 == rank ? ChannelAxis::Last : ChannelAxis::Unknown;
}

/// Follows the input from reader to reader.
class Search
{
public:
    Search(const Graph& graph, std::size_t rank) : m_graph(graph), m_rank(rank) {}

    void follow(ValueId value, const Axes& axes)
    {
        m_open = {{value, axes}};
        while (!m_open.empty()) {
            const auto [next, its] = m_open.back();
            m_open.pop_back();
            for (const graph::Use& use : m_graph.uses(next)) {
                visit(use, its);
            }
        }
    }

    [[nodiscard]] InputAxes found() const
    {
        const bool isOfOne = m_samples.size() == 1 && *m_samples.begin() >= 0;
        return {m_channels.size() == 1 ? *m_channels.begin() : ChannelAxis::Unknown,
                isOfOne ? static_cast<std::size_t>(*m_samples.begin()) : 0};
    }

private:
    void visit(const graph::Use& use, const Axes& axes)
    {
        const Node& node = m_graph.node(use.node);
        if (const auto at = samplesOf(m_graph, use); at && *at < axes.size()) {
            m_samples.insert(axes[*at]);
        }
        if (const auto at = channelsOf(m_graph, use, axes.size())) {
            if (axes[*at] != kMixed) { // a layer before this one has said it
                m_channels.insert(nameOf(axes[*at], m_rank));
            }
            if (keepsAllButLast(use, node)) {
                Axes behind = axes;
                behind.back() = kMixed;
                open(node, behind);
            }
            return;
        }
        if (const std::optional<Axes> behind = axesBehind(m_graph, node, axes)) {
            open(node, *behind);
        }
    }

    void open(const Node& node, const Axes& axes)
    {
        if (m_seen.insert(node.outputs.front()).second) {
            m_open.emplace_back(node.outputs.front(), axes);
        }
    }

    const Graph& m_graph;
    std::size_t m_rank;
    std::vector<std::pair<ValueId, Axes>> m_open;
    std::set<ValueId> m_seen;
    std::set<ChannelAxis> m_channels;
    std::set<std::int64_t> m_samples;
};

} // namespace

InputAxes inputAxesOf(const Graph& graph, ValueId input, std::size_t rank)
{
    Axes axes(rank);
    std::iota(axes.begin(), axes.end(), std::int64_t{0});
    Search search(graph, rank);
    search.follow(input, axes);
    return search.found();
}

} // namespace retro::engine
