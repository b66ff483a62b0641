// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/linearweight.h"
#include "core/diagnosis/siblings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

namespace retro::diagnosis
{

namespace
{

/// Layers of one operator and shape that hold the same numbers: > 0, where another one of them does not.
constexpr double kMostTwins = 0;
constexpr double kTwinsBase = 2.5;
constexpr double kTwinsEffect = 0.6;
/// Smaller weights may be equal by chance, or by a pattern.
constexpr std::int64_t kLeastTwinElements = 16;

/// A layer with a weight: an operand of its own, even where the exporter kept equal numbers once.
struct Weighted
{
    NodeId node;
    ValueId operand;
    Tensor weight;
};

std::string_view bytesOf(const Tensor& weight, std::int64_t elements)
{
    const auto* const begin = reinterpret_cast<const char*>(weight.rawData());
    return {begin, static_cast<std::size_t>(elements) * tensor::sizeOf(weight.dtype())};
}

/// The layers of a model, those of one operator and shape together.
std::vector<std::vector<Weighted>> layersOf(const ModelFacts& model)
{
    std::map<std::string, std::vector<Weighted>> groups;
    for (std::size_t i = 0; i < model.graph().nodeCount(); ++i) {
        const graph::Node& node = model.graph().node(NodeId(i));
        const std::optional<LinearWeight> linear = linearWeightOf(model, node);
        if (linear && linear->weight.size() >= kLeastTwinElements && linear->weight.isContiguous()) {
            groups[node.op + tensor::toText(linear->weight.shape())].push_back(
                {NodeId(i), node.inputs[linear->slot], linear->weight});
        }
    }
    std::vector<std::vector<Weighted>> layers;
    for (auto& [name, group] : groups) {
        layers.push_back(std::move(group));
    }
    return layers;
}

bool areTwins(const Weighted& a, const Weighted& b)
{
    return a.operand != b.operand && a.weight.shape() == b.weight.shape() && a.weight.dtype() == b.weight.dtype() &&
           bytesOf(a.weight, a.weight.size()) == bytesOf(b.weight, b.weight.size());
}

/// Two weights whose difference is at most a thousandth of one: what a conversion or a few steps of training leave.
bool areNearly(const ModelFacts& model, const Weighted& a, const Weighted& b)
{
    constexpr double kNearly = 1e-3;
    const auto normOf = [&model](const Weighted& layer) {
        double squares = 0;
        for (const double norm : model.norms(layer.weight, 0)) {
            squares += norm * norm;
        }
        return std::sqrt(squares);
    };
    const double norm = normOf(a);
    if (a.operand == b.operand || a.weight.shape() != b.weight.shape() ||
        !(std::abs(norm - normOf(b)) <= kNearly * norm)) {
        return false;
    }
    double squares = 0;
    for (std::int64_t i = 0; i < a.weight.size() && squares <= kNearly * kNearly * norm * norm; ++i) {
        squares += std::pow(a.weight.at(i) - b.weight.at(i), 2);
    }
    return squares <= kNearly * kNearly * norm * norm;
}

/// Of each layer the first one before it that has the same weight, or nearly; its own index where there is none.
/// Patterns (one number everywhere) are no weights.
std::vector<std::size_t> firstOfEach(const ModelFacts& model, const std::vector<Weighted>& layers)
{
    std::vector<std::size_t> first(layers.size());
    std::multimap<std::string_view, std::size_t> byBeginning;
    for (std::size_t i = 0; i < layers.size(); ++i) {
        first[i] = i;
        const std::string_view beginning = bytesOf(layers[i].weight, kLeastTwinElements);
        const auto [from, to] = byBeginning.equal_range(beginning);
        const auto same =
            std::find_if(from, to, [&](const auto& at) { return areTwins(layers[at.second], layers[i]); });
        if (same == to) {
            byBeginning.emplace(beginning, i);
            const auto near = std::find_if(layers.begin(), layers.begin() + static_cast<std::ptrdiff_t>(i),
                                           [&](const Weighted& before) { return areNearly(model, before, layers[i]); });
            first[i] = first[static_cast<std::size_t>(near - layers.begin())];
        } else if (const Statistics of = statisticsOf(layers[i].weight); of.least < of.largest) {
            first[i] = same->second;
        }
    }
    return first;
}

/// The modules of a node's name, without the numbers that exporters give to modules that are called again ("query_1").
std::string modulesOf(const std::string& name, bool withNumbers)
{
    const std::string path = name.substr(0, name.rfind('/'));
    std::string modules;
    for (std::size_t i = 0; i < path.size(); ++i) {
        const std::size_t end = std::min(path.find_first_not_of("0123456789", i + 1), path.size());
        const bool isNumber = path[i] == '_' && end > i + 1 && (end == path.size() || path[end] == '/');
        modules += isNumber && !withNumbers ? std::string() : path.substr(i, isNumber ? end - i : 1);
        i = isNumber ? end - 1 : i;
    }
    return modules;
}

/// True where the second layer is the module of the first one, called again: its weights are shared on purpose.
bool isCalledAgain(const std::string& first, const std::string& second)
{
    const std::string path = modulesOf(first, true);
    return path != modulesOf(second, true) && path == modulesOf(second, false);
}

/// Two blocks that share weights, or two nodes where names tell no block.
struct Twins
{
    NodeId first;
    NodeId second;
    std::vector<std::string> weights; ///< of the second
};
using TwinsByBlocks = std::map<std::pair<std::string, std::string>, Twins>;

void addTwins(const ModelFacts& model, const std::vector<Weighted>& layers, TwinsByBlocks& found, Probe& probe)
{
    std::vector<std::size_t> first = firstOfEach(model, layers);
    const auto nameOf = [&](std::size_t i) -> const std::string& { return model.graph().node(layers[i].node).name; };
    for (std::size_t i = 0; i < layers.size(); ++i) {
        first[i] = isCalledAgain(nameOf(first[i]), nameOf(i)) ? i : first[i];
    }
    std::size_t twins = 0;
    for (std::size_t i = 0; i < layers.size(); ++i) {
        probe.measured(nameOf(i), first[i] < i ? 1 : 0);
        twins += first[i] < i ? 1 : 0;
    }
    for (std::size_t i = 0; i < layers.size() && twins + 1 < layers.size(); ++i) { // all the same: made so
        if (first[i] < i) {
            const NodeId original = layers[first[i]].node;
            const NodeId copy = layers[i].node;
            Twins& pair = found[blocksOf(model.graph().node(original).name, model.graph().node(copy).name)];
            pair.first = pair.weights.empty() ? original : pair.first;
            pair.second = pair.weights.empty() ? copy : pair.second;
            pair.weights.push_back(model.graph().value(layers[i].operand).name);
        }
    }
}

void reportTwins(const Facts& facts, const std::pair<std::string, std::string>& blocks, const Twins& twins,
                 Probe& probe)
{
    const graph::Graph& graph = facts.model()->graph();
    const std::string& first = graph.node(twins.first).name;
    const std::string& second = graph.node(twins.second).name;
    const auto weightOf = [&](NodeId id) { return linearWeightOf(*facts.model(), graph.node(id))->weight; };
    const bool isExact = bytesOf(weightOf(twins.first), weightOf(twins.first).size()) ==
                         bytesOf(weightOf(twins.second), weightOf(twins.second).size());
    const char* const how = isExact ? "number for number" : "but for a thousandth";
    Finding& finding = probe.warning(kTwinsBase, kTwinsEffect, {PlaceKind::Node, second, facts.nodeOfPass(second)});
    finding.what = twins.weights.size() == 1 ? fmt::format("has the same weights as {}, {}", first, how)
                                             : fmt::format("has the same weights as {}, {}; so {} {} more of {} and {}",
                                                           first, how, twins.weights.size() == 2 ? "has" : "have",
                                                           twins.weights.size() - 1, blocks.first, blocks.second);
    finding.means = "No two layers are trained to the same numbers: one of the two was loaded with the other's.";
    finding.remedy = "Load the checkpoint again, and look how its names are matched";
    finding.numbers = {{"weights_that_are_the_same", static_cast<double>(twins.weights.size())}};
    finding.threshold = kMostTwins;
    finding.action = {"go to weights", {{"node", second}, {"value", twins.weights.front()}}, {}};
}

void findTwins(const Facts& facts, Probe& probe)
{
    TwinsByBlocks found;
    for (const std::vector<Weighted>& layers : layersOf(*facts.model())) {
        addTwins(*facts.model(), layers, found, probe);
    }
    for (const auto& [blocks, twins] : found) {
        reportTwins(facts, blocks, twins, probe);
    }
}

} // namespace

const Check modelTwins{"model.twins",
                       "layers whose weights are those of another one of their kind, but for a thousandth",
                       kMostTwins,
                       "0",
                       Need::Model | Need::Weights,
                       true,
                       findTwins};

} // namespace retro::diagnosis
