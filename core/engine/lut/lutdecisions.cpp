// SPDX-License-Identifier: Apache-2.0
#include "core/engine/lut/lutdecisions.h"

#include "core/base/file.h"
#include "core/base/filebatch.h"
#include "core/ops/tablelookup.h"
#include "core/tensor/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace retro::engine
{

namespace
{

using tensor::Tensor;
using trace::ComparisonRow;
using trace::LutDetail;

std::string_view nameOf(ComparisonRow::Kind kind)
{
    switch (kind) {
    case ComparisonRow::Kind::Query:
        return "query";
    case ComparisonRow::Kind::Key:
        return "key";
    case ComparisonRow::Kind::Code:
        return "code";
    case ComparisonRow::Kind::Plain:
        break;
    }
    return "pair";
}

/// Place of the largest amount in a run of elements, from its start.
std::int64_t strongest(const Tensor& values, std::int64_t first, std::int64_t count)
{
    std::int64_t best = 0;
    for (std::int64_t i = 1; i < count; ++i) {
        best = std::abs(values.at(first + i)) > std::abs(values.at(first + best)) ? i : best;
    }
    return best;
}

double amountOf(const Tensor& values, std::int64_t first, std::int64_t count)
{
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        sum += std::abs(values.at(first + i));
    }
    return sum;
}

/// Leading axes of the layer's input: samples first, then places.
std::span<const std::int64_t> leadingAxes(const LutDetail& detail)
{
    const std::span<const std::int64_t> axes(detail.input.shape());
    return axes.first(axes.size() - (detail.shape.isSequence ? 2 : 1));
}

std::uint64_t samplesOf(const LutDetail& detail)
{
    const std::span<const std::int64_t> axes = leadingAxes(detail);
    return axes.empty() ? 1 : static_cast<std::uint64_t>(axes.front());
}

/// Along the axes behind that of the samples.
std::vector<std::int64_t> placeOf(const LutDetail& detail, std::int64_t number)
{
    std::vector<std::int64_t> place;
    const std::span<const std::int64_t> axes = leadingAxes(detail);
    for (std::size_t axis = axes.size(); axis > 1; --axis) {
        place.insert(place.begin(), number % axes[axis - 1]);
        number /= axes[axis - 1];
    }
    return place;
}

LutDecision decisionOf(const LutDetail& detail, const std::string& node, std::uint64_t sample)
{
    const lut::LayerShape& shape = detail.shape;
    const ops::TableRelevance& relevance = *detail.relevance;
    LutDecision decision;
    decision.node = node;
    decision.sample = sample;
    const auto places = static_cast<std::int64_t>(detail.batch / samplesOf(detail));
    const std::int64_t first = static_cast<std::int64_t>(sample) * places * shape.tables;
    const std::int64_t strong = first + strongest(relevance.tables, first, places * shape.tables);
    const std::int64_t at = strong / shape.tables;
    const std::int64_t table = strong % shape.tables;
    decision.place = placeOf(detail, at % places);
    decision.table = static_cast<std::uint32_t>(table);
    decision.relevance = relevance.tables.at(strong);
    const double all = amountOf(relevance.tables, first, places * shape.tables);
    decision.share = all != 0 ? std::abs(decision.relevance) / all : 0;
    trace::TableSite site{static_cast<std::uint64_t>(at), decision.table, 0, 0};
    if (shape.isSequence) {
        const std::int64_t pairs = std::int64_t{shape.length} * shape.length;
        const std::int64_t pair = strongest(relevance.pairs, at * pairs, pairs);
        site.later = std::max(static_cast<std::uint32_t>(pair / shape.length), 1U);
        site.earlier = std::min(static_cast<std::uint32_t>(pair % shape.length), site.later - 1);
        decision.pair = site;
        decision.pairRelevance = relevance.pairs.at(at * pairs + pair);
    }
    const std::int64_t bits = (at * shape.tables + table) * shape.rowBits();
    const auto bit = static_cast<std::uint32_t>(strongest(relevance.comparisons, bits, shape.rowBits()));
    decision.comparisonRelevance = relevance.comparisons.at(bits + bit);
    const trace::TableChoice choice = trace::tableChoice(detail, site);
    decision.row = choice.row;
    const auto row = std::ranges::find(choice.comparisons, bit, &ComparisonRow::bit);
    decision.comparison = row == choice.comparisons.end() ? ComparisonRow() : *row;
    return decision;
}

nlohmann::ordered_json decisionJson(const LutDecision& one)
{
    nlohmann::ordered_json entry{{"node", one.node},           {"sample", one.sample}, {"table", one.table},
                                 {"relevance", one.relevance}, {"share", one.share},   {"row", one.row}};
    if (!one.place.empty()) {
        entry["place"] = one.place;
    }
    if (one.pair) {
        entry["pair"] = {{"later", one.pair->later}, {"earlier", one.pair->earlier}, {"relevance", one.pairRelevance}};
    }
    nlohmann::ordered_json comparison{{"of", nameOf(one.comparison.kind)},
                                      {"number", one.comparison.number},
                                      {"relevance", one.comparisonRelevance},
                                      {"difference", one.comparison.difference}};
    if (one.comparison.kind != ComparisonRow::Kind::Code) {
        comparison["inputs"] = {one.comparison.anchor.a, one.comparison.anchor.b};
    }
    entry["comparison"] = std::move(comparison);
    return entry;
}

} // namespace

std::string LutDecision::text() const
{
    std::string where = place.empty() ? "" : fmt::format("place {}; ", fmt::join(place, ", "));
    if (pair) {
        where += fmt::format("position {} looks at {} ({:+.4g}); ", pair->later, pair->earlier, pairRelevance);
    }
    const bool isCode = comparison.kind == ComparisonRow::Kind::Code;
    const std::string what =
        isCode ? fmt::format("{:.4g}", comparison.difference)
               : fmt::format("x[{}] = {:.4g} {} x[{}] = {:.4g}", comparison.anchor.a, comparison.first,
                             comparison.sets ? ">" : "≤", comparison.anchor.b, comparison.second);
    return fmt::format("{}table {} ({:+.4g}, {:.1f} % of all amounts), row {}, by {} {}: {}", where, table, relevance,
                       100 * share, row, nameOf(comparison.kind), comparison.number, what);
}

bool hasLutLayer(const graph::Graph& graph) { return std::ranges::any_of(graph.nodes(), ops::isLut); }

LutLayer lutLayerOf(const graph::Graph& graph, const LutDetail& detail)
{
    LutLayer layer{detail.node, {}, *detail.relevance};
    layer.relevance.input = layer.relevance.codes = Tensor();
    for (std::uint64_t sample = 0; sample < std::min(samplesOf(detail), kMostLutSamples); ++sample) {
        layer.decisions.push_back(decisionOf(detail, graph.node(detail.node).name, sample));
    }
    return layer;
}

std::vector<LutLayer> lutLayers(const trace::Run& run)
{
    std::vector<LutLayer> layers;
    for (std::size_t i = 0; i < run.graph->nodeCount(); ++i) {
        if (!ops::isLut(run.graph->nodes()[i])) {
            continue;
        }
        if (const auto detail = trace::lutDetail(run, base::NodeId(i)); detail.ok() && detail->relevance) {
            layers.push_back(lutLayerOf(*run.graph, *detail));
        }
    }
    return layers;
}

base::Result<void> writeLutMaps(base::FileBatch& files, const std::filesystem::path& folder,
                                const std::vector<LutLayer>& layers, const graph::Graph& graph,
                                const std::vector<std::string>& names)
{
    for (const LutLayer& layer : layers) {
        RETRO_CHECK(base::makeFolder(folder));
        const std::string& name = names[graph.node(layer.node).outputs[0].index()];
        const auto write = [&](const Tensor& map, const char* what) {
            return map.isValid() ? files.add(folder / (name + what), tensor::toNpy(map)) : base::Result<void>();
        };
        RETRO_CHECK(write(layer.relevance.tables, ".tables.npy"));
        RETRO_CHECK(write(layer.relevance.comparisons, ".comparisons.npy"));
        RETRO_CHECK(write(layer.relevance.pairs, ".pairs.npy"));
    }
    return {};
}

nlohmann::ordered_json lutDecisionsJson(const std::vector<LutLayer>& layers)
{
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const LutLayer& layer : layers) {
        std::ranges::transform(layer.decisions, std::back_inserter(list), decisionJson);
    }
    return list;
}

} // namespace retro::engine
