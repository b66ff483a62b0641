// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/linearweight.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/outlier.h"
#include "core/diagnosis/replacement.h"
#include "core/diagnosis/siblings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace retro::diagnosis
{

namespace
{

/// Layers of one place and shape in several blocks, of four and more: how far log ‖weights‖ of one lies from the median
/// of the others, in deviations of theirs (apartOf()): > 8.
constexpr double kMostDeviations = 8;
constexpr std::size_t kLeastOthers = 3;
constexpr double kStackEffect = 0.5;
constexpr double kStackBase = 2; // where it changes the answer; behind what says which channel it is

/// A layer and the size of its weights.
struct Sized
{
    NodeId node;
    std::size_t slot = 1;
    Tensor weight;
    double logNorm = 0;
};

/// The layers of a stack that have weights of one shape, none of which is 0.
std::vector<Sized> sizedOf(const ModelFacts& model, const std::vector<NodeId>& stack)
{
    std::vector<Sized> layers;
    for (const NodeId id : stack) {
        const auto linear = linearWeightOf(model, model.graph().node(id));
        const bool isLike = linear && (layers.empty() || layers.front().weight.shape() == linear->weight.shape());
        double squares = 0;
        for (const double norm : isLike ? linear->outputNorms(model) : std::vector<double>()) {
            squares += norm * norm;
        }
        if (squares > 0) {
            layers.push_back({id, linear->slot, linear->weight, std::log(squares) / 2});
        }
    }
    return layers;
}

Tensor scaled(const Tensor& weight, double factor)
{
    std::vector<double> numbers = numbersIn(weight);
    std::ranges::for_each(numbers, [factor](double& number) { number *= factor; });
    return Tensor::of<double>(weight.shape(), numbers).to(weight.dtype());
}

void report(const Facts& facts, const std::vector<Sized>& layers, std::size_t one, const Apart& apart, Probe& probe)
{
    const Sized& layer = layers[one];
    const graph::Node& node = facts.model()->graph().node(layer.node);
    const double ratio = std::exp(layer.logNorm - apart.median);
    Finding& finding = probe.note(kStackEffect, {PlaceKind::Node, node.name, facts.nodeOfPass(node.name)});
    finding.what = fmt::format("its weights are {} times as large as those of the {} layers like it (median), {} of "
                               "their deviations away",
                               numberText(ratio), layers.size() - 1, numberText(apart.deviations));
    finding.means = "Layers of one stack are trained to weights of like sizes: this one may have been scaled, or "
                    "converted otherwise.";
    finding.remedy = "Compare it with the source of the model";
    finding.numbers = {{"deviations_apart", apart.deviations}, {"ratio", ratio}};
    finding.threshold = kMostDeviations;
    finding.action = {
        "go to weights", {{"node", node.name}, {"value", facts.model()->weightName(node, layer.slot)}}, {}};
    std::vector<double> norms;
    for (const Sized& other : layers) {
        norms.push_back(std::exp(other.logNorm));
    }
    finding.chart = barsOf("Norm of the weights of each layer of the stack", std::move(norms), {one});
    raiseByEffect(facts, {layer.node, node, {{layer.slot, scaled(layer.weight, 1 / ratio)}}}, kStackBase, finding);
}

void findApart(const Facts& facts, Probe& probe)
{
    for (const std::vector<NodeId>& stack : siblingsOf(facts.model()->graph())) {
        const std::vector<Sized> layers =
            stack.size() > kLeastOthers ? sizedOf(*facts.model(), stack) : std::vector<Sized>();
        std::vector<double> norms;
        std::ranges::transform(layers, std::back_inserter(norms), &Sized::logNorm);
        for (std::size_t i = 0; layers.size() > kLeastOthers && i < layers.size(); ++i) {
            const Apart apart = apartOf(norms, i);
            probe.measured(facts.model()->graph().node(layers[i].node).name, apart.deviations);
            if (apart.deviations > kMostDeviations) {
                report(facts, layers, i, apart, probe);
            }
        }
    }
}

} // namespace

const Check modelStack{"model.stack",
                       "deviations of its stack that the size of the weights of one layer lies from the others'",
                       kMostDeviations,
                       "up to 12, without an effect on the answer: a note",
                       Need::Model | Need::Weights,
                       true,
                       findApart};

} // namespace retro::diagnosis
