// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/openedforward.h"
#include "core/diagnosis/ways.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

namespace retro::diagnosis
{

namespace
{

/// Section 4.5, attention.leak: weight above the diagonal of a causal attention: ≤ 1e-6; base and e = .5 + x.
constexpr double kMostAboveOfCausal = 1e-6;
constexpr double kLeakBase = 2.6;
constexpr double kLeakEffect = 0.5;
constexpr std::size_t kLeastOfStack = 2;

/// A square softmax over keys.
struct AttentionMap
{
    std::string name; ///< of the softmax, or of the operator that it is inside of
    NodeId node;      ///< of the pass
    tensor::Shape shape;
    double largestAbove = 0;  ///< weight above the diagonal
    double shareAbove = 0;    ///< of all weight
    std::vector<double> mean; ///< of all heads and samples, row by row
};

bool isSquare(const tensor::Shape& shape)
{
    return shape.size() >= 2 && shape.back() > 1 && shape.back() == shape[shape.size() - 2];
}

AttentionMap attentionOf(std::string name, NodeId node, const Tensor& weights)
{
    AttentionMap map;
    map.name = std::move(name);
    map.node = node;
    map.shape = weights.shape();
    const auto extent = static_cast<std::size_t>(weights.shape().back());
    const std::vector<double> numbers = numbersIn(weights);
    map.mean.assign(extent * extent, 0);
    double all = 0;
    double above = 0;
    for (std::size_t begin = 0; begin < numbers.size(); begin += extent) {
        const std::size_t diagonal = begin + begin / extent % extent;
        for (std::size_t i = begin; i < begin + extent; ++i) {
            const double size = std::abs(numbers[i]);
            all += size;
            above += i > diagonal ? size : 0;
            map.largestAbove = i > diagonal ? std::max(map.largestAbove, size) : map.largestAbove;
            map.mean[i % map.mean.size()] += size;
        }
    }
    map.shareAbove = all > 0 ? above / all : 0;
    return map;
}

/// Names that differ in nothing but numbers: "/block#/attn/Softmax".
std::string stackName(const std::string& name)
{
    std::string stack;
    for (const char letter : name) {
        if (std::isdigit(static_cast<unsigned char>(letter)) == 0) {
            stack += letter;
        }
    }
    while (stack.ends_with('_') || stack.ends_with('.')) { // "Softmax_3" beside "Softmax"
        stack.pop_back();
    }
    return stack;
}

void addInside(const Facts& facts, NodeId id, std::vector<AttentionMap>& maps)
{
    const auto opened = openedForward(facts, id);
    if (!opened) {
        return;
    }
    const bool isFused = std::ranges::find(facts.sources().fused, facts.graph().node(id).name,
                                           &rewrite::FusedNode::node) != facts.sources().fused.end();
    for (const graph::Node& inside : opened->graph().nodes()) {
        const Tensor weights = inside.op == "Softmax" ? opened->value(inside.outputs.front()) : Tensor();
        if (weights.isValid() && isSquare(weights.shape())) {
            maps.push_back(attentionOf(isFused ? inside.name : facts.graph().node(id).name, id, weights));
        }
    }
}

/// By stack: names and shapes that belong together.
std::map<std::string, std::vector<AttentionMap>> stacksOf(const Facts& facts)
{
    const graph::Graph& graph = facts.graph();
    std::vector<AttentionMap> maps;
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        const NodeId id(i);
        const graph::Node& node = graph.node(id);
        if (!reachesTarget(facts, id)) {
            continue;
        }
        if (node.op == "Softmax" && isSquare(facts.shape(node.outputs.front()))) {
            if (const Tensor weights = facts.value(node.outputs.front()); weights.isValid()) {
                maps.push_back(attentionOf(node.name, id, weights));
            }
        } else if (node.op == "Attention") {
            addInside(facts, id, maps);
        }
    }
    std::map<std::string, std::vector<AttentionMap>> stacks;
    for (AttentionMap& map : maps) {
        stacks[stackName(map.name) + " " + tensor::toText(map.shape)].push_back(std::move(map));
    }
    return stacks;
}

void reportLeak(const Facts& facts, const AttentionMap& map, std::size_t causal, std::size_t all, Probe& probe)
{
    Place place = facts.place(map.node);
    place.name = map.name;
    Finding& finding = probe.warning(kLeakBase, kLeakEffect + map.shareAbove, std::move(place));
    finding.what = fmt::format("attends to later positions: {} of its weight lies above the diagonal; {} of {} like it "
                               "have none there",
                               percentText(map.shareAbove), causal, all);
    finding.means = "Its causal mask is missing: relevance reaches positions that the model must not see.";
    finding.remedy = "Compare the mask with that of the others";
    finding.numbers = {{"share_above_diagonal", map.shareAbove}, {"largest_above_diagonal", map.largestAbove}};
    finding.threshold = kMostAboveOfCausal;
    finding.chart = mapOf("Weight of each position (row) on the others, all heads: behind the diagonal is later",
                          map.mean, static_cast<std::size_t>(map.shape.back()), true);
    finding.action = {"go to node", {{"node", facts.graph().labelOf(map.node)}}, {}};
}

void findLeaks(const Facts& facts, Probe& probe)
{
    for (const auto& [name, maps] : stacksOf(facts)) {
        const auto causal = static_cast<std::size_t>(std::ranges::count_if(
            maps, [](const AttentionMap& map) { return map.largestAbove <= kMostAboveOfCausal; }));
        // At least one, and at least half of them (section 4.5).
        const bool isCausal = maps.size() >= kLeastOfStack && causal > 0 && 2 * causal >= maps.size();
        for (const AttentionMap& map : maps) {
            probe.measured(map.name, isCausal ? map.shareAbove : 0);
            if (isCausal && map.largestAbove > kMostAboveOfCausal) {
                reportLeak(facts, map, causal, maps.size(), probe);
            }
        }
    }
}

} // namespace

const Check attentionLeak{"attention.leak",   "weight above the diagonal of an attention whose stack is causal",
                          kMostAboveOfCausal, "0",
                          Need::Forward,      true,
                          findLeaks};

} // namespace retro::diagnosis
