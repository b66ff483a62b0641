// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/watched.h"

#include "core/diagnosis/linearweight.h"
#include "core/diagnosis/quantisedvalue.h"
#include "core/graph/attributes.h"
#include "core/ops/elements.h"
#include "core/ops/layerkind.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

namespace retro::diagnosis
{

namespace
{

/// A quantiser with one scale; nothing for others.
std::optional<Watched> watchedQuantiser(const ModelFacts& model, const graph::Node& node)
{
    const bool isQuantiser = node.op == "QuantizeLinear" && node.domain.empty() && node.inputs.size() > 1 &&
                             model.graph().value(node.inputs[0]).producer.isValid();
    const Tensor scale = isQuantiser ? model.constantOperand(node, 1) : Tensor();
    const Tensor zero = isQuantiser ? model.constantOperand(node, 2) : Tensor();
    const auto levels = zero.isValid() ? levelsOf(zero.dtype()) : std::nullopt;
    if (!levels || !scale.isValid() || scale.size() != 1 || zero.size() != 1) {
        return std::nullopt;
    }
    const double step = scale.at(0);
    const double origin = zero.at(0);
    const bool countsLeast = levels->first < 0 && origin > levels->first; // else a rectifier put it there
    Watched watched{WatchedAs::Quantised, node.name, model.graph().value(node.inputs[0]).name};
    watched.least = countsLeast ? (levels->first - 1 - origin) * step : -std::numeric_limits<double>::infinity();
    watched.most = (levels->second + 1 - origin) * step;
    return watched;
}

/// The lower bound of a Clip that is an operand; invalid where there is none, or it is computed.
Tensor lowerBound(const ModelFacts& model, const graph::Node& node)
{
    return ops::areElements(node, {ops::Elements::Bounded}) && node.inputs.size() > 1 ? model.constantOperand(node, 1)
                                                                                      : Tensor();
}

} // namespace

double ChannelSums::deviation() const
{
    return count > 0 ? std::sqrt(std::max(0.0, squares / static_cast<double>(count) - mean() * mean())) : 0;
}

void Watched::add(const Tensor& numbers)
{
    const tensor::Shape& shape = numbers.shape();
    const std::int64_t extent = shape.size() > 1 ? shape[1] : 1;
    if (channels.empty()) {
        channels.resize(static_cast<std::size_t>(extent));
    }
    if (numbers.size() == 0 || std::ssize(channels) != extent) {
        return;
    }
    std::int64_t inner = 1;
    for (std::size_t i = 2; i < shape.size(); ++i) {
        inner *= shape[i];
    }
    const std::vector<double> all = numbersIn(numbers);
    for (std::size_t i = 0; i < all.size(); ++i) {
        ChannelSums& channel = channels[i / static_cast<std::size_t>(inner) % channels.size()];
        if (!std::isfinite(all[i])) {
            continue;
        }
        ++channel.count;
        channel.fired += all[i] != 0 ? 1 : 0;
        channel.beyond += all[i] < least || all[i] > most ? 1 : 0;
        channel.sum += all[i];
        channel.squares += all[i] * all[i];
    }
}

NormalisedDistance distanceOf(const Watched& read, const graph::Node& node, const Tensor& means,
                              const Tensor& variances)
{
    const std::vector<double> mean = numbersIn(means);
    const std::vector<double> variance = numbersIn(variances);
    if (read.channels.empty() || read.channels.size() != mean.size() || mean.size() != variance.size()) {
        return {};
    }
    const double epsilon = graph::floatAttribute(node, "epsilon", 1e-5); // of ONNX
    NormalisedDistance distance;
    for (std::size_t i = 0; i < mean.size(); ++i) {
        const double stored = std::sqrt(std::max(0.0, variance[i]) + epsilon);
        distance.drifts.push_back(std::abs(read.channels[i].mean() - mean[i]) / stored);
        distance.spreads.push_back(std::hypot(read.channels[i].deviation(), std::sqrt(epsilon)) / stored);
    }
    distance.drift = median(distance.drifts);
    distance.spread = median(distance.spreads);
    return distance;
}

std::vector<Watched> watchedIn(const ModelFacts& model)
{
    const graph::Graph& graph = model.graph();
    std::vector<Watched> all;
    for (const graph::Node& node : graph.nodes()) {
        if (isTrainedNormalisation(node)) {
            all.push_back({WatchedAs::Normalised, node.name, graph.value(node.inputs[0]).name});
        } else if (isRectifier(node, lowerBound(model, node))) {
            all.push_back({WatchedAs::Rectified, node.name, graph.value(node.outputs[0]).name});
        } else if (linearWeightOf(model, node) && model.constantOperand(node, 2).isValid()) {
            all.push_back({WatchedAs::Linear, node.name, graph.value(node.outputs[0]).name});
        } else if (auto quantiser = watchedQuantiser(model, node)) {
            all.push_back(std::move(*quantiser));
        }
    }
    return all;
}

bool isTrainedNormalisation(const graph::Node& node)
{
    return ops::isBatchNormalisation(node) && node.inputs.size() >= 5 &&
           graph::intAttribute(node, "training_mode", 0) == 0;
}

bool isRectifier(const graph::Node& node, const Tensor& lower)
{
    static constexpr std::array<std::string_view, 4> kNames{"Relu", "ThresholdedRelu", "HardSwish", "HardSigmoid"};
    if (ops::areElements(node, {ops::Elements::Bounded})) { // Relu6
        const bool hasLower = node.inputs.size() > 1 && node.inputs[1].isValid();
        return hasLower ? lower.isValid() && lower.size() == 1 && lower.at(0) == 0
                        : graph::floatAttribute(node, "min", -1) == 0;
    }
    return std::ranges::find(kNames, std::string_view(node.op)) != kNames.end();
}

} // namespace retro::diagnosis
