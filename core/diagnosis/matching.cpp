// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/matching.h"

#include <algorithm>
#include <string>

namespace retro::diagnosis
{

using graph::Graph;
using graph::Node;

bool isNoNode(const Node& node) { return node.domain.empty() && (node.op == "Constant" || node.op == "Identity"); }

ValueId behindIdentities(const Graph& graph, ValueId value)
{
    for (std::size_t i = 0; i < graph.nodeCount() && value.isValid(); ++i) {
        const NodeId producer = graph.value(value).producer;
        const bool isIdentity =
            producer.isValid() && graph.node(producer).op == "Identity" && !graph.node(producer).inputs.empty();
        if (!isIdentity) {
            break;
        }
        value = graph.node(producer).inputs.front();
    }
    return value;
}

namespace
{

/// From which share of names on, names count (section 4.8).
constexpr double kLeastNamed = 0.8;
/// Largest table of the longest common subsequence: beyond it, what has no partner by name has none.
constexpr std::size_t kMostCells = 16'000'000;

/// What makes nodes alike: type and shapes of constants.
std::string signatureOf(const ModelFacts& model, const Node& node)
{
    std::string text = node.domain + ":" + node.op;
    for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
        const Tensor constant = model.constantOperand(node, slot);
        text += '/';
        text += constant.isValid() ? tensor::toText(constant.shape()) : std::string();
    }
    return text;
}

struct Candidate
{
    NodeId node;
    std::string signature;
};

std::vector<Candidate> candidatesOf(const ModelFacts& model, const std::vector<NodeId>& partners)
{
    std::vector<Candidate> candidates;
    for (std::size_t i = 0; i < model.graph().nodeCount(); ++i) {
        const Node& node = model.graph().node(NodeId(i));
        if (!isNoNode(node) && !partners[i].isValid()) {
            candidates.push_back({NodeId(i), signatureOf(model, node)});
        }
    }
    return candidates;
}

void pair(GraphMatch& match, NodeId one, NodeId other)
{
    match.toOther[one.index()] = other;
    match.toOne[other.index()] = one;
    ++match.matched;
}

/// Pairs what is alike from both ends, and takes it off.
void pairEnds(GraphMatch& match, std::span<const Candidate>& one, std::span<const Candidate>& other)
{
    while (!one.empty() && !other.empty() && one.front().signature == other.front().signature) {
        pair(match, one.front().node, other.front().node);
        one = one.subspan(1);
        other = other.subspan(1);
    }
    while (!one.empty() && !other.empty() && one.back().signature == other.back().signature) {
        pair(match, one.back().node, other.back().node);
        one = one.first(one.size() - 1);
        other = other.first(other.size() - 1);
    }
}

/// The length of the longest common subsequence from each place of the two on: a row per place of `one`.
std::vector<std::uint32_t> longestFrom(std::span<const Candidate> one, std::span<const Candidate> other)
{
    const std::size_t width = other.size() + 1;
    std::vector<std::uint32_t> longest((one.size() + 1) * width, 0);
    for (std::size_t i = one.size(); i-- > 0;) {
        for (std::size_t k = other.size(); k-- > 0;) {
            longest[i * width + k] = one[i].signature == other[k].signature
                                         ? longest[(i + 1) * width + k + 1] + 1
                                         : std::max(longest[(i + 1) * width + k], longest[i * width + k + 1]);
        }
    }
    return longest;
}

/// Pairs of the longest common subsequence.
void alignInOrder(GraphMatch& match, std::span<const Candidate> one, std::span<const Candidate> other)
{
    pairEnds(match, one, other);
    const std::size_t width = other.size() + 1;
    if (one.empty() || other.empty() || (one.size() + 1) * width > kMostCells) {
        return;
    }
    const std::vector<std::uint32_t> longest = longestFrom(one, other);
    for (std::size_t i = 0, k = 0; i < one.size() && k < other.size();) {
        if (one[i].signature == other[k].signature) {
            pair(match, one[i++].node, other[k++].node);
        } else if (longest[(i + 1) * width + k] >= longest[i * width + k + 1]) {
            ++i;
        } else {
            ++k;
        }
    }
}

std::size_t realNodes(const Graph& graph)
{
    return static_cast<std::size_t>(
        std::ranges::count_if(graph.nodes(), [](const Node& node) { return !isNoNode(node); }));
}

void matchNames(GraphMatch& match, const Graph& one, const Graph& other)
{
    for (std::size_t i = 0; i < one.nodeCount(); ++i) {
        const Node& node = one.node(NodeId(i));
        const auto found = isNoNode(node) ? std::nullopt : other.findNode(node.name);
        if (found && other.node(*found).op == node.op && other.node(*found).domain == node.domain) {
            pair(match, NodeId(i), *found);
        }
    }
}

void matchValues(GraphMatch& match, const Graph& one, const Graph& other)
{
    match.valueToOther.resize(one.valueCount());
    for (std::size_t i = 0; i < one.inputs().size(); ++i) {
        const auto named = other.findValue(one.value(one.inputs()[i]).name);
        const bool isInput = named && other.value(*named).kind == graph::ValueKind::Input;
        ValueId partner = isInput ? *named : ValueId();
        if (!isInput && i < other.inputs().size()) {
            partner = other.inputs()[i];
        }
        match.valueToOther[one.inputs()[i].index()] = partner;
    }
    for (std::size_t i = 0; i < one.nodeCount(); ++i) {
        const NodeId partner = match.toOther[i];
        const std::vector<ValueId>& results = one.node(NodeId(i)).outputs;
        for (std::size_t k = 0; partner.isValid() && k < results.size(); ++k) {
            const std::vector<ValueId>& theirs = other.node(partner).outputs;
            if (results[k].isValid() && k < theirs.size()) {
                match.valueToOther[results[k].index()] = theirs[k];
            }
        }
    }
}

} // namespace

GraphMatch matchGraphs(const ModelFacts& one, const ModelFacts& other)
{
    GraphMatch match;
    match.toOther.resize(one.graph().nodeCount());
    match.toOne.resize(other.graph().nodeCount());
    match.nodes = std::min(realNodes(one.graph()), realNodes(other.graph()));
    matchNames(match, one.graph(), other.graph());
    match.isByName = static_cast<double>(match.matched) >= kLeastNamed * static_cast<double>(match.nodes);
    if (!match.isByName) {
        match.toOther.assign(match.toOther.size(), NodeId());
        match.toOne.assign(match.toOne.size(), NodeId());
        match.matched = 0;
    }
    alignInOrder(match, candidatesOf(one, match.toOther), candidatesOf(other, match.toOne));
    matchValues(match, one.graph(), other.graph());
    return match;
}

} // namespace retro::diagnosis
