// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/paint/colormap.h"
#include "views/common/paint/plane.h"
#include "views/common/paint/theme.h"

#include <QRectF>
#include <QSizeF>
#include <QStringList>

#include <vector>

class QPainter;

namespace retro::views
{

/// One number per step of a series or per token of a text, shown in reading order: a cell per step with its word and
/// its value, coloured as a heatmap is.
struct StepStrip
{
    QStringList words; ///< per step; empty = numbers from 1
    std::vector<double> values;
    Scale scale;
    ColorMap map;

    [[nodiscard]] bool isEmpty() const { return values.empty(); }
    /// The word of a step, or its number.
    [[nodiscard]] QString word(std::size_t step) const;
};

/// Cells of a strip from (0, 0), line by line, none wider than `width`. Cells of words are as wide as they must be;
/// numbers stand in columns.
[[nodiscard]] std::vector<QRectF> layoutSteps(const StepStrip& strip, double width);
/// The smallest box around the cells.
[[nodiscard]] QSizeF sizeOfSteps(const std::vector<QRectF>& cells);
/// Number of the cell under a point; −1 when none.
[[nodiscard]] int stepAt(const std::vector<QRectF>& cells, const QPointF& point);
/// Draws the cells where they lie.
void paintSteps(QPainter& painter, const StepStrip& strip, const std::vector<QRectF>& cells, const Theme& theme);

/// Sum per step of a tensor of one sample: 1 × steps or 1 × steps × channels. Empty for other shapes.
[[nodiscard]] std::vector<double> stepSums(const tensor::Tensor& relevance);

} // namespace retro::views
