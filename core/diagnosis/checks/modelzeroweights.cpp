// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/linearweight.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/windows.h"
#include "core/graph/attributes.h"
#include "core/ops/elements.h"
#include "core/ops/layerkind.h"

#include <fmt/format.h>

namespace retro::diagnosis
{

namespace
{

/// Share of input channels whose weights are all 0 (section 4.1, model.zero-weights: ≥ 0.2), and of how many at least.
constexpr double kMostZeroChannels = 0.2;
constexpr std::size_t kLeastInputChannels = 4;

/// The operand of a Concat that holds exactly these channels.
struct ConcatPart
{
    std::string concat;  ///< node
    std::string operand; ///< value
    std::size_t slot = 0;
};

/// Of the Concat that makes `value` along `axis`; nothing where there is none, or the channels are of several operands.
std::optional<ConcatPart> partOf(const Facts& facts, ValueId value, std::int64_t axis,
                                 const std::vector<std::int64_t>& channels)
{
    const graph::Graph& graph = facts.model()->graph();
    const NodeId producer = graph.value(value).producer;
    if (!producer.isValid() || !ops::areElements(graph.node(producer), {ops::Elements::Joined})) {
        return std::nullopt;
    }
    const graph::Node& concat = graph.node(producer);
    std::int64_t begin = 0;
    for (std::size_t slot = 0; slot < concat.inputs.size(); ++slot) {
        const tensor::Shape shape = shapeInFile(facts, concat.inputs[slot]);
        const auto rank = static_cast<std::int64_t>(shape.size());
        const std::int64_t written = graph::intAttribute(concat, "axis", 0);
        const std::int64_t along = written < 0 ? written + rank : written;
        const bool isKnown = along >= 0 && along < rank && (along == axis || along == rank + axis);
        if (!isKnown) {
            return std::nullopt;
        }
        const std::int64_t end = begin + shape[static_cast<std::size_t>(along)];
        if (channels.front() >= begin && channels.back() < end) {
            return ConcatPart{concat.name, graph.value(concat.inputs[slot]).name, slot};
        }
        begin = end;
    }
    return std::nullopt;
}

void findZeroWeights(const Facts& facts, Probe& probe)
{
    const ModelFacts& model = *facts.model();
    for (const graph::Node& node : model.graph().nodes()) {
        const auto linear = linearWeightOf(model, node);
        if (!linear || linear->group > 1 || facts.stop().stop_requested()) {
            continue;
        }
        const auto channels = static_cast<std::size_t>(linear->weight.shape()[linear->inputAxis]);
        if (channels < kLeastInputChannels) {
            continue;
        }
        const std::vector<std::int64_t> zeros = zerosAlong(linear->weight, linear->inputAxis);
        const double share = static_cast<double>(zeros.size()) / static_cast<double>(channels);
        probe.measured(node.name, share);
        if (!(share >= kMostZeroChannels)) {
            continue;
        }
        const bool isPicture = ops::isConvolution(node);
        const auto part = partOf(facts, node.inputs[1 - linear->slot], isPicture ? 1 : -1, zeros);
        Finding& finding =
            probe.warning(2, 0.5 + 0.4 * share, {PlaceKind::Node, node.name, facts.nodeOfPass(node.name)});
        const std::string which =
            part ? fmt::format(" (they are of operand {} of {}, {})", part->slot, part->concat, part->operand)
                 : fmt::format(" (the first is {})", zeros.front());
        finding.what =
            fmt::format("its weights for {} of {} input channels are all exactly 0{}", zeros.size(), channels, which);
        finding.means = "What these channels hold never reaches the prediction.";
        finding.remedy = fmt::format("Look whether a part of {} was never loaded, or cut away",
                                     model.weightName(node, linear->slot));
        finding.numbers = {{"share_of_input_channels", share}};
        finding.threshold = kMostZeroChannels;
        finding.action = {
            "select both nodes", {{"node", node.name}, {"other", part ? part->concat : std::string()}}, {}};
        finding.evidence = {{node.name, {zeros.front()}}};
        finding.chart = barsOf("‖weights‖ for each input channel", normsAlong(linear->weight, linear->inputAxis),
                               {zeros.begin(), zeros.end()});
    }
}

} // namespace

const Check modelZeroWeights{"model.zero-weights",
                             "share of input channels of a layer whose weights are all exactly 0",
                             kMostZeroChannels,
                             "0",
                             Need::Model | Need::Weights,
                             true,
                             findZeroWeights};

} // namespace retro::diagnosis
