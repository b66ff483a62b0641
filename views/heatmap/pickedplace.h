// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/heatmap/heatmapsource.h"

#include <QPoint>
#include <QSize>

#include <cstdint>
#include <optional>
#include <vector>

namespace retro::views
{

/// The place in a value that a point of its heatmap stands for; −1 = all along the axis, since the heatmap adds these
/// up. `size` is that of the figure's plane, to which smaller layers are enlarged. None where there is no element.
[[nodiscard]] std::optional<std::vector<std::int64_t>> pickedPlace(const RunModel& model, const HeatmapContent& content,
                                                                   const QSize& size, const QPoint& point);

/// Which pixels or steps of a heatmap are marked: one entry per value of the figure's plane, not 0 = marked.
using Marks = std::vector<std::uint8_t>;

/// The input that marks on a heatmap are of: the value shown where that is an input, else the first one whose heatmap
/// lies under it pixel by pixel (step by step); invalid where there is none.
[[nodiscard]] base::ValueId markedInput(const RunModel& model, const HeatmapContent& content, const QSize& size);

/// The marks as a mask of that input, in its shape and in double: 1 where an element is marked. Invalid without input.
[[nodiscard]] tensor::Tensor markedMask(const RunModel& model, const HeatmapContent& content, const QSize& size,
                                        const Marks& marks);

/// The marks in words: "box 4:12,84:96", "steps 3-7", "41 pixels".
[[nodiscard]] QString markedText(const HeatmapContent& content, const QSize& size, const Marks& marks);

} // namespace retro::views
