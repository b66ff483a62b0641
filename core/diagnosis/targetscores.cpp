// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/targetscores.h"

#include "core/trace/targetplace.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::diagnosis
{

std::int64_t TargetScores::best() const
{
    return scores.empty() ? -1 : std::ranges::max_element(scores) - scores.begin();
}

std::size_t TargetScores::rank() const
{
    if (chosen < 0) {
        return 0;
    }
    const double own = scores[static_cast<std::size_t>(chosen)];
    return 1 + static_cast<std::size_t>(std::ranges::count_if(scores, [own](double score) { return score > own; }));
}

TargetScores scoresOf(const Facts& facts, const Tensor& forward)
{
    TargetScores row;
    const Pass& pass = *facts.pass();
    if (!forward.isValid() || forward.rank() == 0 || forward.size() == 0) {
        return row;
    }
    const tensor::Shape& shape = forward.shape();
    const std::vector<std::string> names = trace::axisNames(facts.graph(), pass.target, shape.size());
    const auto axis = std::ranges::find(names, std::string("class"));
    // Of scores per pixel the channels are the classes.
    const std::size_t usual = shape.size() > 3 ? 1 : shape.size() - 1;
    row.classAxis = axis == names.end() ? usual : static_cast<std::size_t>(axis - names.begin());
    const std::int64_t flat = pass.targetIndex.empty() ? -1 : pass.targetIndex.front();
    std::vector<std::int64_t> index(shape.size(), 0);
    if (flat >= 0) {
        const std::vector<std::int64_t> within = trace::indicesInSample(shape, flat);
        std::copy_backward(within.begin(), within.end(), index.end());
        row.chosen = index[row.classAxis];
    }
    const tensor::Shape strides = tensor::rowMajorStrides(shape);
    std::int64_t at = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        at += i == row.classAxis ? 0 : index[i] * strides[i];
    }
    for (std::int64_t i = 0; i < shape[row.classAxis]; ++i) {
        row.scores.push_back(forward.at(at + i * strides[row.classAxis]));
    }
    if (row.chosen >= static_cast<std::int64_t>(row.scores.size())) {
        row.chosen = -1;
    }
    return row;
}

std::string classText(const Facts& facts, std::int64_t index)
{
    const formats::ModelCard* card = facts.card();
    const bool hasLabel = card != nullptr && index >= 0 && index < static_cast<std::int64_t>(card->labels.size());
    return hasLabel ? fmt::format("{} ({})", index, card->labels[static_cast<std::size_t>(index)])
                    : std::to_string(index);
}

} // namespace retro::diagnosis
