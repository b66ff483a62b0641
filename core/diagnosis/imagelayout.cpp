// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/imagelayout.h"

#include <algorithm>
#include <numeric>

namespace retro::diagnosis
{

std::optional<ImageAxes> imageAxesOf(const tensor::Shape& shape, const formats::ModelCard* card)
{
    const bool isPicture = card == nullptr || card->inputKind == "image" || card->layout.starts_with("NC");
    if (shape.size() != 4 || !isPicture || (card != nullptr && card->layout.starts_with("NT"))) {
        return std::nullopt;
    }
    const bool isChannelsLast = card != nullptr && card->layout == "NHWC";
    return isChannelsLast ? ImageAxes{3, 1, 2} : ImageAxes{1, 2, 3};
}

std::size_t inputOfCard(const graph::Graph& graph, const formats::ModelCard& card)
{
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
        if (graph.value(graph.inputs()[i]).name == card.inputName) {
            return i;
        }
    }
    return 0;
}

namespace
{

double meanOf(const std::vector<double>& numbers, double fallback)
{
    return numbers.empty() ? fallback
                           : std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size());
}

} // namespace

std::optional<CardRange> cardRangeOf(const formats::ModelCard& card)
{
    if (card.inputKind != "image" || !card.describesInput) {
        return std::nullopt;
    }
    CardRange range;
    range.black = std::min(card.scale[0], card.scale[1]);
    range.white = std::max(card.scale[0], card.scale[1]);
    range.mean = meanOf(card.mean, 0);
    range.deviation = meanOf(card.deviation, 1);
    const std::size_t channels = std::max({card.mean.size(), card.deviation.size(), std::size_t{1}});
    for (std::size_t i = 0; i < channels; ++i) {
        const double mean = card.mean.empty() ? 0 : card.mean[std::min(i, card.mean.size() - 1)];
        const double deviation = card.deviation.empty() ? 1 : card.deviation[std::min(i, card.deviation.size() - 1)];
        const double low = (range.black - mean) / deviation;
        const double high = (range.white - mean) / deviation;
        range.least = i == 0 ? low : std::min(range.least, low);
        range.largest = i == 0 ? high : std::max(range.largest, high);
    }
    return range;
}

} // namespace retro::diagnosis
