// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/linearweight.h"
#include "core/diagnosis/numbertext.h"
#include "core/ops/elements.h"
#include "core/ops/layerkind.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace retro::diagnosis
{

namespace
{

/// Columns of a table that are not 0, and how far they reach into the sums of the first layer: |x|·‖weights‖. Of
/// columns of one scale log10 of that has a deviation of 0.5 (a normal variable); three decades apart it is 0.9 and
/// more.
constexpr std::size_t kLeastColumns = 5;
constexpr double kMostDeviation = 0.85;
/// A column of a table on one scale hardly ever lies so many of its deviations from 0.
constexpr double kLargestStandardised = 20;
constexpr double kColumnsEffect = 0.5;

/// The linear layer that reads a table first, through what only moves it.
std::optional<LinearWeight> firstLayer(const ModelFacts& model, ValueId input)
{
    constexpr int kMostMoves = 8;
    for (int i = 0; i < kMostMoves; ++i) {
        const auto uses = model.graph().uses(input);
        if (std::ssize(uses) != 1 || uses.front().slot != 0) {
            return std::nullopt;
        }
        const graph::Node& node = model.graph().node(uses.front().node);
        if (ops::isProduct(node)) {
            return linearWeightOf(model, node);
        }
        if (!ops::keepsElements(node)) {
            return std::nullopt;
        }
        input = node.outputs.front();
    }
    return std::nullopt;
}

double deviationOfLogarithms(const std::vector<double>& sizes)
{
    std::vector<double> logarithms;
    for (const double size : sizes) {
        if (size > 0) {
            logarithms.push_back(std::log10(size));
        }
    }
    return logarithms.size() < kLeastColumns
               ? 0
               : std::sqrt(statisticsOf(Tensor::of<double>({std::ssize(logarithms)}, logarithms)).variance);
}

std::string columnText(const Facts& facts, std::size_t column)
{
    const bool hasName = facts.card() != nullptr && column < facts.card()->vocabulary.size();
    return hasName ? fmt::format("{} ({})", column, facts.card()->vocabulary[column]) : std::to_string(column);
}

void findColumns(const Facts& facts, Probe& probe)
{
    const graph::Graph& graph = facts.model()->graph();
    for (std::size_t i = 0; i < graph.inputs().size() && i < facts.inputs().size(); ++i) {
        const std::optional<LinearWeight> layer = firstLayer(*facts.model(), graph.inputs()[i]);
        const std::vector<double> row = layer ? numbersIn(facts.inputs()[i]) : std::vector<double>();
        const std::vector<double> norms = layer ? facts.model()->norms(layer->weight, layer->inputAxis) : row;
        if (row.size() < kLeastColumns || norms.empty() || row.size() % norms.size() != 0) {
            continue;
        }
        std::vector<double> reach(norms.size(), 0);
        double largest = 0;
        for (std::size_t k = 0; k < row.size(); ++k) {
            const double size = std::abs(row[k]);
            reach[k % norms.size()] = std::max(reach[k % norms.size()], size * norms[k % norms.size()]);
            largest = std::max(largest, size);
        }
        const double deviation = deviationOfLogarithms(reach);
        const std::string& name = graph.value(graph.inputs()[i]).name;
        probe.measured(name, deviation);
        if (!(deviation > kMostDeviation && largest > kLargestStandardised)) {
            continue;
        }
        const auto most = static_cast<std::size_t>(std::ranges::max_element(reach) - reach.begin());
        const double middle = median(reach);
        Finding& finding = probe.warning(2, kColumnsEffect, {PlaceKind::Input, name, {}, {}});
        finding.what = fmt::format("its columns are on different scales, and the first layer does not make up for it: "
                                   "column {} reaches {} times as far into its sums as the median column",
                                   columnText(facts, most), numberText(middle > 0 ? reach[most] / middle : 0));
        finding.means = "Columns of large numbers dominate the sums and take the relevance; the others hardly count.";
        finding.remedy = "Give the table standardised, by the means and deviations of the training data";
        finding.numbers = {{"deviation_of_log10_reach", deviation}, {"largest_value", largest}};
        finding.threshold = kMostDeviation;
        finding.chart = logarithmicBarsOf("|x|·‖weights‖ of each column", reach, {most});
        finding.evidence = {{name, {0, static_cast<std::int64_t>(most)}}};
    }
}

} // namespace

const Check inputColumns{"input.columns",
                         "deviation of log10 of |x|·‖weights of the first layer‖ over the columns of a table",
                         kMostDeviation,
                         "up to 0.65 (standardised tables)",
                         Need::Model | Need::Inputs,
                         true,
                         findColumns};

} // namespace retro::diagnosis
