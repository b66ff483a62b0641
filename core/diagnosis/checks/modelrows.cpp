// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/linearweight.h"
#include "core/diagnosis/numbertext.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>

namespace retro::diagnosis
{

namespace
{

/// Share of the output channels of a dense layer whose weights are, but for 1e-4 of their norm, those of another one.
/// Small rows may be alike by chance. Of the layer that gives the scores one pair is enough: two classes can never be
/// told apart.
constexpr double kMostAlike = 0.1;
constexpr double kAlike = 1e-4;
constexpr std::int64_t kLeastElements = 8;
constexpr std::int64_t kLeastRows = 3;
constexpr std::int64_t kMostRows = 4096; // more are a vocabulary, whose unused words are alike
constexpr double kRowsBase = 2.4;
constexpr double kRowsEffect = 0.6;

/// Rows that are alike have like norms: of the rows, sorted by their norms, each is compared with so many that follow.
constexpr std::size_t kNeighbours = 8;

/// True when two rows differ by at most kAlike of a norm. Rows that do not are told by their first numbers.
bool areAlike(const LinearWeight& linear, std::int64_t one, std::int64_t other, double norm)
{
    const std::int64_t rows = linear.weight.shape()[linear.outputAxis];
    const std::int64_t length = linear.weight.shape()[1 - linear.outputAxis];
    const auto at = [&](std::int64_t row, std::int64_t i) {
        return linear.weight.at(linear.outputAxis == 0 ? row * length + i : i * rows + row);
    };
    const double most = kAlike * kAlike * norm * norm;
    double distance = 0;
    for (std::int64_t i = 0; i < length && distance <= most; ++i) {
        distance += std::pow(at(one, i) - at(other, i), 2);
    }
    return distance <= most;
}

/// Rows of a weight that are like an earlier one: index of each, and of that one.
std::map<std::int64_t, std::int64_t> alikeIn(const ModelFacts& model, const LinearWeight& linear)
{
    const std::vector<double> norms = linear.outputNorms(model);
    const auto normOf = [&norms](std::int64_t row) { return norms[static_cast<std::size_t>(row)]; };
    std::vector<std::int64_t> order(norms.size());
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::ranges::stable_sort(order, {}, normOf);
    std::map<std::int64_t, std::int64_t> alike;
    for (std::size_t k = 0; k < order.size(); ++k) {
        const double norm = normOf(order[k]);
        const std::size_t end = std::min(order.size(), k + 1 + kNeighbours);
        for (std::size_t next = k + 1; next < end && norm > 0 && normOf(order[next]) <= norm * (1 + kAlike); ++next) {
            if (areAlike(linear, order[k], order[next], norm)) {
                alike.emplace(std::max(order[k], order[next]), std::min(order[k], order[next]));
                break;
            }
        }
    }
    return alike;
}

/// No other layer with weights lies behind it.
bool isLast(const ModelFacts& model, const graph::Node& layer)
{
    const graph::Graph& graph = model.graph();
    const std::vector<bool> behind = descendantsOf(graph, graph.nodeOf(layer.outputs.front()));
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        const graph::Node& node = graph.node(NodeId(i));
        if (behind[i] && &node != &layer && linearWeightOf(model, node)) {
            return false;
        }
    }
    return true;
}

void findRows(const Facts& facts, Probe& probe)
{
    const ModelFacts& model = *facts.model();
    const graph::Graph& graph = model.graph();
    for (const graph::Node& node : graph.nodes()) {
        const auto linear = linearWeightOf(model, node);
        const bool isDense = linear && linear->weight.rank() == 2 && linear->outputAxis < 2 &&
                             linear->weight.shape()[linear->outputAxis] >= kLeastRows &&
                             linear->weight.shape()[linear->outputAxis] <= kMostRows &&
                             linear->weight.shape()[1 - linear->outputAxis] >= kLeastElements;
        if (!isDense) {
            continue;
        }
        const auto alike = alikeIn(model, *linear);
        const auto rows = static_cast<double>(linear->weight.shape()[linear->outputAxis]);
        const double share = static_cast<double>(alike.size()) / rows;
        const bool isHead = !alike.empty() && isLast(model, node);
        probe.measured(node.name, share);
        if (alike.empty() || (!isHead && !(share > kMostAlike))) {
            continue;
        }
        const auto [later, first] = *alike.begin();
        const Place place{PlaceKind::Node, node.name, facts.nodeOfPass(node.name)};
        Finding& finding = isHead ? probe.warning(kRowsBase, kRowsEffect, place) : probe.note(share, place);
        finding.what =
            fmt::format("the weights of its outputs {} and {} are the same{}", first, later,
                        alike.size() > 1 ? fmt::format("; so are {} more of {}", alike.size() - 1, rows) : "");
        finding.means = isHead ? "These classes can never be told apart: relevance for one is that for the other."
                               : "What two outputs say twice takes twice its part of the relevance.";
        finding.remedy = "Compare these rows with the source of the model";
        finding.numbers = {
            {"share_alike", share}, {"first", static_cast<double>(first)}, {"second", static_cast<double>(later)}};
        finding.threshold = kMostAlike;
        finding.action = {"go to weights", {{"node", node.name}, {"value", model.weightName(node, linear->slot)}}, {}};
    }
}

} // namespace

const Check modelRows{"model.rows",
                      "share of the outputs of a dense layer whose weights are those of another one; of the layer that "
                      "gives the scores any",
                      kMostAlike,
                      "0",
                      Need::Model | Need::Weights,
                      true,
                      findRows};

} // namespace retro::diagnosis
