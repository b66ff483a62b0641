// SPDX-License-Identifier: Apache-2.0
#include "core/engine/recalibrated.h"

#include "core/diagnosis/linearweight.h"
#include "core/engine/model/changedgraph.h"
#include "core/rewrite/rewrite.h"

#include <algorithm>

namespace retro::engine
{

using base::Result;
using diagnosis::Watched;
using diagnosis::WatchedAs;
using tensor::Tensor;

namespace
{

/// Each index along `axis` times its factor, plus its shift.
Tensor scaledAlong(const Tensor& tensor, std::size_t axis, const std::vector<double>& factors,
                   const std::vector<double>& shifts)
{
    std::vector<double> numbers = diagnosis::numbersIn(tensor);
    const std::int64_t stride = tensor::rowMajorStrides(tensor.shape())[axis];
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto at = static_cast<std::size_t>(static_cast<std::int64_t>(i) / stride % tensor.shape()[axis]);
        numbers[i] = numbers[i] * factors[at] + shifts[at];
    }
    return Tensor::of<double>(tensor.shape(), numbers).to(tensor.dtype());
}

/// The constant that operand `slot` is, where nothing else reads it; invalid else.
base::ValueId ownConstant(const graph::Graph& graph, const graph::Node& node, std::size_t slot)
{
    const base::ValueId value = slot < node.inputs.size() ? node.inputs[slot] : base::ValueId();
    const bool isOwn = value.isValid() && graph.value(value).constant.isValid() && graph.uses(value).size() == 1;
    return isOwn ? value : base::ValueId();
}

} // namespace

std::optional<UsualStatistics> usualBeside(const std::vector<Watched>& watched, const Watched& one)
{
    std::vector<double> means;
    std::vector<double> deviations;
    for (const Watched& other : watched) {
        if (other.as != WatchedAs::Linear || &other == &one || other.channels.empty()) {
            continue;
        }
        std::vector<double> ofChannels;
        std::vector<double> spreads;
        for (const diagnosis::ChannelSums& channel : other.channels) {
            ofChannels.push_back(channel.mean());
            spreads.push_back(channel.deviation());
        }
        means.push_back(diagnosis::median(ofChannels));
        deviations.push_back(diagnosis::median(spreads));
    }
    constexpr std::size_t kLeastOthers = 2;
    const UsualStatistics usual{diagnosis::median(means), diagnosis::median(deviations)};
    return means.size() >= kLeastOthers && usual.deviation > 0 ? std::optional(usual) : std::nullopt;
}

Result<std::optional<LoadedModelPointer>> recalibrated(const LoadedModelPointer& model,
                                                       const diagnosis::ModelFacts& facts, const Watched& layer,
                                                       const UsualStatistics& usual, const std::stop_token& stop)
{
    const graph::Graph& graph = facts.graph();
    const auto node = std::ranges::find(graph.nodes(), layer.node, &graph::Node::name);
    const auto linear = node == graph.nodes().end() ? std::nullopt : diagnosis::linearWeightOf(facts, *node);
    const base::ValueId weight = linear ? ownConstant(graph, *node, linear->slot) : base::ValueId();
    const base::ValueId bias = linear ? ownConstant(graph, *node, 2) : base::ValueId();
    const auto channels = static_cast<std::int64_t>(layer.channels.size());
    const bool fits = weight.isValid() && bias.isValid() && linear->weight.shape()[linear->outputAxis] == channels &&
                      graph.value(bias).constant.size() == channels;
    if (!fits) {
        return std::optional<LoadedModelPointer>();
    }
    std::vector<double> factors;
    std::vector<double> shifts;
    for (const diagnosis::ChannelSums& channel : layer.channels) {
        const double factor = channel.deviation() > 0 ? usual.deviation / channel.deviation() : 1;
        factors.push_back(factor);
        shifts.push_back(usual.mean - channel.mean() * factor);
    }
    const std::vector<double> none(layer.channels.size(), 0);
    const Tensor& biases = graph.value(bias).constant;
    GraphChanges changes;
    changes.constants[weight] = scaledAlong(graph.value(weight).constant, linear->outputAxis, factors, none);
    changes.constants[bias] = scaledAlong(biases, biases.rank() - 1, factors, shifts);
    auto other = std::make_shared<LoadedModel>(*model);
    RETRO_TRY(other->read, changedGraph(graph, changes, stop));
    RETRO_TRY(other->rewritten, rewrite::rewrite(other->read, rewrite::noRewrites(), stop));
    return std::optional(LoadedModelPointer(std::move(other)));
}

} // namespace retro::engine
