// SPDX-License-Identifier: Apache-2.0
#include "core/engine/evaluate/channelaxis.h"

#include "core/graph/attributes.h"
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

/// What Squeeze and Unsqueeze name, from operand or attribute; nothing when it is computed.
std::optional<Axes> namedAxes(const Graph& graph, const Node& node)
{
    if (const auto* given = graph::attributeOf<Axes>(node, "axes")) {
        return *given;
    }
    if (node.inputs.size() < 2 || !node.inputs[1].isValid() || !graph.value(node.inputs[1]).constant.isValid()) {
        return std::nullopt;
    }
    return ops::integersOf(graph.value(node.inputs[1]).constant);
}

/// Counted from the first axis, in order; nothing when one of them is none of `rank`.
std::optional<Axes> fromFront(std::optional<Axes> axes, std::size_t rank)
{
    if (!axes) {
        return std::nullopt;
    }
    for (std::int64_t& axis : *axes) {
        axis += axis < 0 ? static_cast<std::int64_t>(rank) : 0;
        if (axis < 0 || static_cast<std::size_t>(axis) >= rank) {
            return std::nullopt;
        }
    }
    std::ranges::sort(*axes);
    return axes;
}

std::optional<Axes> transposed(const Node& node, const Axes& axes)
{
    std::vector<std::int64_t> order(axes.size());
    std::iota(order.rbegin(), order.rend(), std::int64_t{0}); // without a permutation: reversed
    if (const auto at = node.attributes.find("perm"); at != node.attributes.end()) {
        order = std::get<std::vector<std::int64_t>>(at->second);
    }
    Axes result;
    for (const std::int64_t from : order) {
        if (from < 0 || static_cast<std::size_t>(from) >= axes.size() || order.size() != axes.size()) {
            return std::nullopt;
        }
        result.push_back(axes[static_cast<std::size_t>(from)]);
    }
    return result;
}

std::optional<Axes> unsqueezed(const Graph& graph, const Node& node, Axes axes)
{
    const std::optional<Axes> named = namedAxes(graph, node);
    const std::optional<Axes> added = fromFront(named, axes.size() + (named ? named->size() : 0));
    for (const std::int64_t axis : added.value_or(Axes())) {
        axes.insert(axes.begin() + axis, kAdded);
    }
    return added ? std::optional(axes) : std::nullopt;
}

std::optional<Axes> squeezed(const Graph& graph, const Node& node, Axes axes)
{
    std::optional<Axes> gone = fromFront(namedAxes(graph, node), axes.size());
    if (!gone) {
        return std::nullopt;
    }
    for (auto axis = gone->rbegin(); axis != gone->rend(); ++axis) {
        axes.erase(axes.begin() + *axis);
    }
    return axes;
}

/// Axes of the node's first result; nothing when they lose their meaning there.
std::optional<Axes> axesBehind(const Graph& graph, const Node& node, const Axes& axes)
{
    if (node.op == "Transpose") {
        return transposed(node, axes);
    }
    if (node.op == "Unsqueeze") {
        return unsqueezed(graph, node, axes);
    }
    if (node.op == "Squeeze") {
        return squeezed(graph, node, axes);
    }
    return ops::operatorAxes(node.op).keepsAll ? std::optional(axes) : std::nullopt;
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
    const ops::OperatorAxes::Channels channels = ops::operatorAxes(node.op).channels;
    if (channels == First) {
        return 1;
    }
    return channels == Last ? std::optional(rank - 1) : std::nullopt;
}

/// The position of the samples in what a recurrent layer reads; nothing of other nodes.
std::optional<std::size_t> samplesOf(const Graph& graph, const graph::Use& use)
{
    const Node& node = graph.node(use.node);
    if (!ops::operatorAxes(node.op).hasTimeAndSample || use.slot != 0) {
        return std::nullopt;
    }
    return graph::intAttribute(node, "layout", 0) == 1 ? 0 : 1;
}

/// True where time and samples are in the result what they are in the first operand: a dense layer, a normalisation.
bool keepsAllButLast(const graph::Use& use, const Node& node)
{
    return use.slot == 0 && ops::operatorAxes(node.op).keepsAllButLast;
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
