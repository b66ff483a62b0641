// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/linearweight.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/outlier.h"
#include "core/diagnosis/replacement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <vector>

namespace retro::diagnosis
{

namespace
{

/// Heads of an attention and experts of a layer, of four and more: how far log ‖weights‖ of one lies from the median of
/// the others, in deviations of theirs (apartOf()): > 8; or one whose numbers are another's.
constexpr double kMostPartDeviations = 8;
constexpr std::int64_t kLeastParts = 4;
constexpr double kPartsEffect = 0.5;
constexpr double kPartsBase = 2.1;   // where it changes the answer
constexpr double kAlikeParts = 1e-4; // of the norm

/// A weight in equal parts along an axis.
struct Parted
{
    std::string_view kind; ///< "head", "expert"
    std::size_t slot = 1;
    Tensor weight;
    std::size_t axis = 0;
    std::int64_t count = 0;

    [[nodiscard]] std::int64_t channelsOfPart() const { return weight.shape()[axis] / count; }
    /// The part that a number belongs to, by its place in row-major order.
    [[nodiscard]] std::int64_t partAt(std::size_t i) const
    {
        const std::int64_t stride = tensor::rowMajorStrides(weight.shape())[axis];
        return static_cast<std::int64_t>(i) / stride % weight.shape()[axis] / channelsOfPart();
    }
};

/// Into how many heads the result of a node of the pass is split: where it goes, itself or with a bias added, into a
/// Reshape whose last two axes take its channels apart. 0: into none.
std::int64_t headsBehind(const Facts& facts, NodeId id, std::int64_t channels)
{
    const graph::Graph& graph = facts.graph();
    for (const graph::Use& use : graph.uses(graph.node(id).outputs.front())) {
        const graph::Node& reader = graph.node(use.node);
        const tensor::Shape shape = facts.shape(reader.outputs.front());
        const std::size_t rank = shape.size();
        if (reader.op == "Add" && rank > 0 && shape.back() == channels) {
            if (const std::int64_t heads = headsBehind(facts, use.node, channels); heads > 0) {
                return heads;
            }
        }
        if (reader.op == "Reshape" && rank > 3 && shape[rank - 2] * shape[rank - 1] == channels) {
            return shape[rank - 2];
        }
    }
    return 0;
}

/// The parts of a node's weight; nothing where it has none.
std::optional<Parted> partsOf(const Facts& facts, const graph::Node& node)
{
    const ModelFacts& model = *facts.model();
    const Tensor stacked = node.op == "MatMul" && node.inputs.size() > 1 ? model.constantOperand(node, 1) : Tensor();
    if (stacked.isValid() && stacked.rank() == 3) {
        return Parted{"expert", 1, stacked, 0, stacked.shape().front()};
    }
    const auto linear = linearWeightOf(model, node);
    const NodeId own = facts.pass() != nullptr ? facts.nodeOfPass(node.name) : NodeId();
    if (!linear || linear->weight.rank() != 2 || !own.isValid()) {
        return std::nullopt;
    }
    const std::int64_t channels = linear->weight.shape()[linear->outputAxis];
    return Parted{"head", linear->slot, linear->weight, linear->outputAxis, headsBehind(facts, own, channels)};
}

/// ‖·‖ of each part.
std::vector<double> normsOf(const ModelFacts& model, const Parted& parted)
{
    const std::vector<double>& channels = model.norms(parted.weight, parted.axis);
    std::vector<double> norms(static_cast<std::size_t>(parted.count), 0);
    for (std::size_t i = 0; i < channels.size(); ++i) {
        norms[i / static_cast<std::size_t>(parted.channelsOfPart())] += channels[i] * channels[i];
    }
    std::ranges::for_each(norms, [](double& norm) { norm = std::sqrt(norm); });
    return norms;
}

/// Numbers of one part, in row-major order.
std::vector<double> numbersOf(const Parted& parted, std::size_t part)
{
    const std::vector<double> all = numbersIn(parted.weight);
    std::vector<double> numbers;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (parted.partAt(i) == static_cast<std::int64_t>(part)) {
            numbers.push_back(all[i]);
        }
    }
    return numbers;
}

/// The first earlier part whose numbers are those of part `one`.
std::optional<std::size_t> alike(const Parted& parted, const std::vector<double>& norms, std::size_t one)
{
    for (std::size_t other = 0; other < one; ++other) {
        if (norms[one] == 0 || std::abs(norms[one] - norms[other]) > kAlikeParts * norms[one]) {
            continue;
        }
        const std::vector<double> own = numbersOf(parted, one);
        const std::vector<double> its = numbersOf(parted, other);
        double squares = 0;
        for (std::size_t i = 0; i < own.size(); ++i) {
            squares += std::pow(own[i] - its[i], 2);
        }
        if (squares <= std::pow(kAlikeParts * norms[one], 2)) {
            return other;
        }
    }
    return std::nullopt;
}

/// The weight with one part as large as the others.
Tensor withTypical(const Parted& parted, std::size_t part, double ratio)
{
    std::vector<double> numbers = numbersIn(parted.weight);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        numbers[i] /= parted.partAt(i) == static_cast<std::int64_t>(part) ? ratio : 1;
    }
    return Tensor::of<double>(parted.weight.shape(), numbers).to(parted.weight.dtype());
}

Finding& report(const Facts& facts, const graph::Node& node, const Parted& parted, Probe& probe)
{
    Finding& finding = probe.note(kPartsEffect, {PlaceKind::Node, node.name, facts.nodeOfPass(node.name)});
    finding.means = fmt::format("The {}s of one layer are trained to weights of like sizes, and no two to the same: "
                                "this one may have been scaled, cut or copied.",
                                parted.kind);
    finding.remedy = "Compare it with the source of the model";
    finding.action = {
        "go to weights", {{"node", node.name}, {"value", facts.model()->weightName(node, parted.slot)}}, {}};
    return finding;
}

void lookAt(const Facts& facts, NodeId id, const Parted& parted, Probe& probe)
{
    const graph::Node& node = facts.model()->graph().node(id);
    const std::vector<double> norms = normsOf(*facts.model(), parted);
    std::vector<double> logarithms;
    std::ranges::transform(norms, std::back_inserter(logarithms),
                           [](double norm) { return std::log(std::max(norm, 1e-30)); });
    for (std::size_t one = 0; one < norms.size(); ++one) {
        const Apart apart = apartOf(logarithms, one);
        probe.measured(node.name, apart.deviations);
        if (const auto other = alike(parted, norms, one)) {
            Finding& finding = report(facts, node, parted, probe);
            finding.what = fmt::format("{} {} of {} has the weights of {} {}", parted.kind, one, norms.size(),
                                       parted.kind, *other);
            finding.level = Level::Warning;
            finding.base = kPartsBase;
            finding.numbers = {{"part", static_cast<double>(one)}, {"like", static_cast<double>(*other)}};
        }
        if (!(apart.deviations > kMostPartDeviations)) {
            continue;
        }
        const double ratio = std::exp(logarithms[one] - apart.median);
        Finding& finding = report(facts, node, parted, probe);
        finding.what = fmt::format("the weights of {} {} are {} times as large as those of the {} others (median), {} "
                                   "of their deviations away",
                                   parted.kind, one, numberText(ratio), norms.size() - 1, numberText(apart.deviations));
        finding.numbers = {{"deviations_apart", apart.deviations}, {"ratio", ratio}};
        finding.threshold = kMostPartDeviations;
        finding.chart = barsOf(fmt::format("Norm of the weights of each {}", parted.kind), norms, {one});
        const Tensor changed = withTypical(parted, one, norms[one] > 0 ? ratio : 1);
        raiseByEffect(facts, {id, node, {{parted.slot, changed}}}, kPartsBase, finding);
    }
}

void findParts(const Facts& facts, Probe& probe)
{
    const graph::Graph& graph = facts.model()->graph();
    for (std::size_t i = 0; i < graph.nodeCount() && !facts.stop().stop_requested(); ++i) {
        const graph::Node& node = graph.node(NodeId(i));
        const auto parted = partsOf(facts, node);
        if (parted && parted->count >= kLeastParts && parted->weight.shape()[parted->axis] % parted->count == 0) {
            lookAt(facts, NodeId(i), *parted, probe);
        }
    }
}

} // namespace

const Check modelParts{"model.parts",
                       "deviations of the others that the size of the weights of one head or expert lies from theirs; "
                       "heads and experts with the weights of another one",
                       kMostPartDeviations,
                       "up to 1.8",
                       Need::Model | Need::Weights | Need::Pass,
                       true,
                       findParts};

} // namespace retro::diagnosis
