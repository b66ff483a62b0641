// SPDX-License-Identifier: Apache-2.0
#include "core/engine/evaluate/randomisation.h"

#include "core/engine/evaluate/draws.h"
#include "core/engine/model/changedgraph.h"
#include "core/rewrite/rewrite.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace retro::engine
{

using base::Result;
using base::ValueId;
using tensor::Tensor;

namespace
{

using Values = std::vector<double>;

Values valuesOf(const tensor::Tensor& tensor)
{
    Values values;
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
        values.push_back(tensor.at(i));
    }
    return values;
}

double cosineOf(const Values& a, const Values& b)
{
    const auto product = [](const Values& x, const Values& y) {
        return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
    };
    const double lengths = std::sqrt(product(a, a)) * std::sqrt(product(b, b));
    return lengths == 0 ? 0 : product(a, b) / lengths;
}

// Ranks less their mean.
Values centredRanks(const Values& values)
{
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
    Values ranks(values.size());
    for (std::size_t i = 0; i < order.size();) {
        std::size_t end = i;
        while (end < order.size() && values[order[end]] == values[order[i]]) {
            ++end;
        }
        const double rank = (static_cast<double>(i) + static_cast<double>(end - 1)) / 2;
        for (; i < end; ++i) {
            ranks[order[i]] = rank - (static_cast<double>(values.size()) - 1) / 2;
        }
    }
    return ranks;
}

/// A node and the weights that it reads first.
struct Layer
{
    std::string name;
    std::vector<ValueId> weights;
};

bool isWeight(const graph::Value& value)
{
    return value.kind == graph::ValueKind::Constant && value.constant.isValid() && value.constant.rank() > 1 &&
           value.constant.size() > 1 && tensor::isFloating(value.constant.dtype());
}

// From the output to the input; a weight that several nodes read belongs to the last of them.
std::vector<Layer> layersOf(const graph::Graph& graph)
{
    std::vector<Layer> layers;
    std::set<ValueId> taken;
    for (std::size_t i = graph.nodeCount(); i-- > 0;) {
        Layer layer{graph.node(base::NodeId(i)).name, {}};
        for (const ValueId input : graph.node(base::NodeId(i)).inputs) {
            if (input.isValid() && isWeight(graph.value(input)) && taken.insert(input).second) {
                layer.weights.push_back(input);
            }
        }
        if (!layer.weights.empty()) {
            layers.push_back(std::move(layer));
        }
    }
    return layers;
}

Tensor shuffled(const Tensor& weight, std::uint64_t seed)
{
    std::vector<double> values;
    for (std::int64_t i = 0; i < weight.size(); ++i) {
        values.push_back(weight.at(i));
    }
    Draws(seed).shuffle(std::span(values));
    return Tensor::of<double>(weight.shape(), values).to(weight.dtype());
}

} // namespace

Similarity similarity(const tensor::Tensor& a, const tensor::Tensor& b)
{
    const Values first = valuesOf(a);
    const Values second = valuesOf(b);
    return {cosineOf(first, second), cosineOf(centredRanks(first), centredRanks(second))};
}

std::vector<std::string> shufflableLayers(const LoadedModel& model)
{
    std::vector<std::string> names;
    for (const Layer& layer : layersOf(*model.rewritten.before)) {
        names.push_back(layer.name);
    }
    return names;
}

Result<LoadedModelPointer> withShuffledLayers(const LoadedModel& model, std::size_t layers, std::uint64_t seed)
{
    const graph::Graph& graph = *model.rewritten.before;
    GraphChanges changes;
    const std::vector<Layer> all = layersOf(graph);
    for (std::size_t i = 0; i < std::min(layers, all.size()); ++i) {
        for (const ValueId weight : all[i].weights) {
            changes.constants[weight] = shuffled(graph.value(weight).constant, seed + weight.index());
        }
    }
    RETRO_TRY(const auto changed, changedGraph(graph, changes));
    auto result = std::make_shared<LoadedModel>(model);
    RETRO_TRY(result->rewritten, rewrite::rewrite(changed, model.rewritten.options));
    return LoadedModelPointer(std::move(result));
}

Result<std::vector<RandomisationStage>> randomiseTopDown(const LoadedModel& model, const Subject& subject,
                                                         const Units& units, const Attribution& method,
                                                         const Tensor& original, std::size_t most, std::uint64_t seed,
                                                         const EvaluationProgress& progress)
{
    const std::vector<std::string> names = shufflableLayers(model);
    const std::size_t count = std::min(most, names.size());
    std::vector<RandomisationStage> stages;
    for (std::size_t i = 1; i <= count; ++i) {
        const std::size_t layers = i * names.size() / count;
        RETRO_TRY(const LoadedModelPointer changed, withShuffledLayers(model, layers, seed));
        RETRO_TRY(const Subject other, subject.withModel(changed));
        RETRO_TRY(const Attributed changedOne, method.attribute(other, units));
        stages.push_back({names[layers - 1], layers, similarity(original, changedOne.values)});
        report(progress, i, count);
    }
    return stages;
}

} // namespace retro::engine
