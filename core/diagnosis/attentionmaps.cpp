// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/attentionmaps.h"

#include "core/diagnosis/openedforward.h"
#include "core/diagnosis/siblings.h"
#include "core/diagnosis/ways.h"
#include "core/ops/layerkind.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace retro::diagnosis
{

namespace
{

/// A key counts as masked where its score is below this; masks add −10⁴ and less.
constexpr double kMaskedBelow = -5000;
/// Rows with fewer keys say nothing about how sharp an attention is.
constexpr std::size_t kLeastKeys = 4;
/// From this weight on, one key has nearly all of it.
constexpr double kNearlyAllWeight = 0.999;

bool isSquare(const tensor::Shape& shape)
{
    return shape.size() >= 2 && shape.back() > 1 && shape.back() == shape[shape.size() - 2];
}

/// |weight| over the rows of a map so far.
struct WeightSums
{
    double all = 0;
    double above = 0; ///< of the diagonal
};

/// The row of `numbers` from `begin` on. `read` is what the softmax reads; empty: unknown, and rows are not counted.
void addRow(AttentionMap& map, std::size_t begin, std::size_t extent, const std::vector<double>& numbers,
            const std::vector<double>& read, WeightSums& sums)
{
    const std::size_t diagonal = begin + begin / extent % extent;
    double all = sums.all;
    double above = sums.above;
    double most = 0;
    std::size_t keys = 0;
    for (std::size_t i = begin; i < begin + extent; ++i) {
        const double size = std::abs(numbers[i]);
        all += size;
        above += i > diagonal ? size : 0;
        most = std::max(most, size);
        keys += i < read.size() && read[i] > kMaskedBelow ? 1 : 0;
        map.largestAbove = i > diagonal ? std::max(map.largestAbove, size) : map.largestAbove;
        map.mean[i % map.mean.size()] += size;
    }
    sums = {all, above};
    map.rows += keys >= kLeastKeys ? 1 : 0;
    map.rowsOfOneKey += keys >= kLeastKeys && most > kNearlyAllWeight ? 1 : 0;
}

/// `scores` is what the softmax reads; invalid: unknown, and rows are not counted.
AttentionMap attentionOf(std::string name, NodeId node, const Tensor& weights, const Tensor& scores)
{
    AttentionMap map;
    map.name = std::move(name);
    map.node = node;
    map.shape = weights.shape();
    const auto extent = static_cast<std::size_t>(weights.shape().back());
    const std::vector<double> numbers = numbersIn(weights);
    const std::vector<double> read = scores.isValid() ? numbersIn(scores) : std::vector<double>();
    map.mean.assign(extent * extent, 0);
    WeightSums sums;
    for (std::size_t begin = 0; begin < numbers.size(); begin += extent) {
        addRow(map, begin, extent, numbers, read, sums);
    }
    map.shareAbove = sums.all > 0 ? sums.above / sums.all : 0;
    return map;
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
            maps.push_back(attentionOf(isFused ? inside.name : facts.graph().node(id).name, id, weights,
                                       opened->value(inside.inputs.front())));
        }
    }
}

} // namespace

std::vector<AttentionMap> attentionMapsOf(const Facts& facts)
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
                maps.push_back(attentionOf(node.name, id, weights, facts.value(node.inputs.front())));
            }
        } else if (ops::isAttention(node)) {
            addInside(facts, id, maps);
        }
    }
    return maps;
}

std::vector<bool> AttentionMap::hiddenKeys() const
{
    std::vector<bool> isHidden(static_cast<std::size_t>(shape.back()), true);
    for (std::size_t i = 0; i < mean.size(); ++i) {
        isHidden[i % isHidden.size()] = isHidden[i % isHidden.size()] && mean[i] == 0;
    }
    return isHidden;
}

std::vector<std::vector<AttentionMap>> attentionStacks(const Facts& facts)
{
    std::map<std::string, std::vector<AttentionMap>> stacks;
    for (const AttentionMap& map : facts.attentionMaps()) {
        stacks[stackName(map.name) + " " + tensor::toText(map.shape)].push_back(map);
    }
    std::vector<std::vector<AttentionMap>> all;
    for (auto& [name, maps] : stacks) {
        all.push_back(std::move(maps));
    }
    return all;
}

} // namespace retro::diagnosis
