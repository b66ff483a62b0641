// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/linearweight.h"
#include "core/diagnosis/numbertext.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace retro::diagnosis
{

namespace
{

/// e of model.weight-nonfinite (section 4.1).
constexpr double kNonfiniteEffect = 0.95;
/// Constants of a smaller rank may hold infinities on purpose: bounds, starts of a maximum (section 4.1). NaN may none.
constexpr std::size_t kLeastWeightRank = 2;

/// Elements that no weight may have; −infinity is what a mask has.
std::int64_t wrongIn(const Statistics& statistics, std::size_t rank)
{
    return statistics.nan + (rank < kLeastWeightRank ? 0 : statistics.plusInfinity);
}

std::string wrongKinds(const Statistics& statistics, std::size_t rank)
{
    if (wrongIn(statistics, rank) == statistics.nan) {
        return "NaN";
    }
    return statistics.nan > 0 ? "NaN or infinite" : "infinite";
}

/// Of a linear node the norms of its channels tell that, which model.channel-outlier reads as well.
bool isFiniteWeight(const ModelFacts& model, const graph::Node& node, std::size_t slot, const Tensor& weight)
{
    const auto linear = linearWeightOf(model, node);
    return linear && linear->slot == slot
               ? std::ranges::all_of(linear->outputNorms(model), [](double norm) { return std::isfinite(norm); })
               : isAllFinite(weight);
}

/// How many elements are no numbers, by index along the first axis.
Chart nonfiniteChart(const Tensor& weight)
{
    const std::vector<double> numbers = numbersIn(weight);
    std::vector<double> counts(weight.rank() == 0 ? 1 : static_cast<std::size_t>(weight.shape().front()), 0);
    std::vector<std::size_t> marked;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const std::size_t at = i / (numbers.size() / counts.size());
        const bool isWrong = std::isnan(numbers[i]) || numbers[i] == std::numeric_limits<double>::infinity();
        counts[at] += isWrong ? 1 : 0;
        if (isWrong && (marked.empty() || marked.back() != at)) {
            marked.push_back(at);
        }
    }
    return barsOf("Elements that are no numbers, by index along the first axis", counts, marked);
}

void findNonfiniteWeights(const Facts& facts, Probe& probe)
{
    const ModelFacts& model = *facts.model();
    const graph::Graph& graph = model.graph();
    for (const graph::Node& node : graph.nodes()) {
        for (std::size_t slot = 0; slot < node.inputs.size() && !facts.stop().stop_requested(); ++slot) {
            const ValueId id = node.inputs[slot];
            const bool isWeight = id.isValid() && graph.value(id).constant.isValid() &&
                                  tensor::isFloating(graph.value(id).constant.dtype());
            if (!isWeight) {
                continue;
            }
            const Tensor& weight = graph.value(id).constant;
            const Statistics statistics =
                isFiniteWeight(model, node, slot, weight) ? Statistics() : model.statistics(id);
            const std::int64_t wrong = wrongIn(statistics, weight.rank());
            probe.measured(node.name, static_cast<double>(wrong));
            if (wrong == 0) {
                continue;
            }
            const auto index = indexAt(statistics.firstNotFinite, weight.shape());
            Finding& finding = probe.error(kNonfiniteEffect, {PlaceKind::Node, node.name, facts.nodeOfPass(node.name)});
            finding.what = fmt::format("its {} ({}) is {} in {} of {} elements, first at {}", roleOf(node, slot),
                                       graph.value(id).name, wrongKinds(statistics, weight.rank()), wrong,
                                       weight.size(), indexText(index));
            finding.means = "Everything that is computed from it is no number.";
            finding.remedy = "Export the model again from a checkpoint without it";
            finding.numbers = {{"not_finite", static_cast<double>(wrong)},
                               {"elements", static_cast<double>(weight.size())}};
            finding.action = {"go to weights", {{"node", node.name}, {"value", graph.value(id).name}}, {}};
            finding.evidence = {{node.name, index}};
            finding.chart = nonfiniteChart(weight);
        }
    }
}

} // namespace

const Check modelWeightNonfinite{"model.weight-nonfinite",
                                 "elements of a constant that are NaN, or +infinity where it has two axes and more",
                                 0,
                                 "0",
                                 Need::Model | Need::Weights,
                                 true,
                                 findNonfiniteWeights};

} // namespace retro::diagnosis
