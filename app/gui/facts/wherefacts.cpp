// SPDX-License-Identifier: Apache-2.0
#include "app/gui/facts/wherefacts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace retro::app
{

namespace
{

views::HistoryLayer layerOf(const engine::HistoryRow& row)
{
    views::HistoryLayer layer;
    layer.value = row.value;
    layer.node = row.node;
    layer.sum = row.sum;
    layer.isWhole = row.isWhole;
    layer.elements = row.elements;
    for (const engine::HistoryElement& one : row.largest) {
        layer.largest.push_back({one.index, one.relevance, one.way, one.part});
    }
    for (const engine::HistoryChannel& one : row.channels) {
        layer.channels.push_back({one.index, one.part});
    }
    if (row.where.isValid() && row.where.rank() == 2) {
        layer.where.width = static_cast<int>(row.where.shape()[1]);
        layer.where.height = static_cast<int>(row.where.shape()[0]);
        for (std::int64_t i = 0; i < row.where.size(); ++i) {
            layer.where.values.push_back(row.where.at(i));
        }
    }
    layer.rule = QString::fromStdString(row.rule);
    layer.formula = QString::fromStdString(row.formula);
    layer.position = row.step ? std::optional(*row.step + 1) : std::nullopt;
    return layer;
}

/// A row of the sums of each step of N × T or N × T × C.
views::Plane sumsOfSteps(const tensor::Tensor& mask)
{
    const tensor::Shape& shape = mask.shape();
    const std::int64_t inner = shape.size() == 3 ? shape[2] : 1;
    views::Plane plane{static_cast<int>(shape[1]), 1, {}};
    for (std::int64_t step = 0; step < shape[1]; ++step) {
        double sum = 0;
        for (std::int64_t i = 0; i < inner; ++i) {
            sum += mask.at(step * inner + i);
        }
        plane.values.push_back(sum);
    }
    return plane;
}

} // namespace

views::HistoryPointer historyFacts(const engine::History& history, const std::shared_ptr<const trace::Run>& run)
{
    auto facts = std::make_shared<views::HistoryFacts>();
    facts->run = run;
    facts->value = history.value;
    facts->index = history.index;
    facts->relevance = history.relevance;
    facts->start = history.start;
    for (const engine::HistoryRow& row : history.rows) {
        facts->layers.push_back(layerOf(row));
    }
    for (const engine::HistoryLastStep& last : history.last) {
        views::HistoryStep step{
            last.node, last.from, QString::fromStdString(last.rule), QString::fromStdString(last.formula), {},
            last.part, last.all};
        for (const engine::HistoryNumber& number : last.numbers) {
            step.numbers.emplace_back(QString::fromStdString(number.name), number.value);
        }
        facts->last.push_back(std::move(step));
    }
    facts->apart = history.apart;
    facts->seconds = history.seconds;
    return facts;
}

views::RegionPointer regionFacts(engine::RegionResult region, const std::vector<tensor::Tensor>& relevance,
                                 const std::shared_ptr<const trace::Run>& run, const QString& words)
{
    auto facts = std::make_shared<views::RegionFacts>();
    facts->run = run;
    facts->text = words;
    facts->total = region.total;
    facts->seconds = region.seconds;
    for (const engine::RegionShare& share : engine::regionShares(region, relevance, *run->graph)) {
        facts->parts.push_back(
            {share.value, share.total, share.relevance, share.arrives, share.axis, share.perChannel});
    }
    for (const base::ValueId input : run->graph->inputs()) {
        const tensor::Tensor& arrived = relevance[input.index()];
        for (std::int64_t i = 0; arrived.isValid() && i < arrived.size(); ++i) {
            facts->arrived += arrived.at(i);
        }
    }
    facts->weights = std::move(region.weights);
    facts->relevance = relevance;
    return facts;
}

views::Plane maskPlane(const tensor::Tensor& mask, bool isChannelsLast)
{
    views::Plane plane;
    if (!mask.isValid() || mask.rank() < 2) {
        return plane;
    }
    const tensor::Shape& shape = mask.shape();
    if (shape.size() == 4) {
        if (auto sums = views::channelSum(mask, 0, isChannelsLast); sums.ok()) {
            plane = std::move(sums).value();
        }
    } else if (shape.size() <= 3) {
        plane = sumsOfSteps(mask);
    }
    for (double& value : plane.values) {
        value = value != 0 ? 1 : 0;
    }
    return plane;
}

tensor::Tensor largestMask(const tensor::Tensor& relevance, double share)
{
    const tensor::Tensor plain = relevance.to(tensor::DType::Float64).contiguous();
    const auto values = plain.span<double>();
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order,
                             [&](std::size_t a, std::size_t b) { return std::abs(values[a]) > std::abs(values[b]); });
    double all = 0;
    for (const double value : values) {
        all += std::abs(value);
    }
    std::vector<double> mask(values.size(), 0);
    double held = 0;
    for (const std::size_t at : order) {
        if (held >= share * all) {
            break;
        }
        held += std::abs(values[at]);
        mask[at] = 1;
    }
    return tensor::Tensor::of<double>(relevance.shape(), mask);
}

} // namespace retro::app
