// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/viewcontext.h"
#include "views/common/widgets/stepstrip.h"
#include "views/heatmap/attentionlinks.h"

#include <QRectF>

#include <vector>

class QPainter;

namespace retro::views
{

/// What lies below a strip of steps or words, step by step under each other: the signal that the model reads, the
/// relevance as bars, and the relevance of every step at the values on the way from the class.
struct StepsChart
{
    struct Channel
    {
        QString name;
        std::vector<double> values; ///< of the input
    };
    struct Row
    {
        QString name;
        std::vector<double> relevance; ///< per step; empty = has not arrived at the cursor
        bool isShown = false;          ///< the value that the strip shows
    };
    QStringList words; ///< per step; empty = numbers from 1
    std::vector<double> relevance;
    std::vector<Channel> signal;      ///< none of a text
    std::vector<Row> rows;            ///< from the class down to the input
    std::vector<AttentionLink> links; ///< of a text: what one word handed to another; may be empty
    QString linksName;                ///< of the attention
    std::vector<double> features;     ///< of a table: its numbers; the strip is then a line for each, without a chart
    Scale scale;                      ///< of the strip and the bars
    ColorMap map;

    [[nodiscard]] bool isEmpty() const { return relevance.empty(); }
};

/// The chart of a run whose heatmap shows `relevance` step by step, of the value `shown`.
[[nodiscard]] StepsChart stepsChart(const RunModel& model, base::ValueId shown, const std::vector<double>& relevance,
                                    const Scale& scale, const ColorMap& map);

/// Where its parts lie. Plain geometry.
struct StepsChartLayout
{
    QRectF steps;               ///< the columns: every step has the same width
    std::vector<QRectF> signal; ///< per channel
    QRectF bars;
    QRectF links; ///< empty without links
    std::vector<QRectF> rows;
    QRectF axis;
    std::size_t count = 0;

    [[nodiscard]] bool isEmpty() const { return steps.isEmpty(); }
    /// The step under a point; −1 when none.
    [[nodiscard]] int stepAt(const QPointF& point) const;
    /// The column of a step in one of the parts.
    [[nodiscard]] QRectF column(std::size_t step, const QRectF& part) const;
};
/// Empty where there is no room for anything to be read.
[[nodiscard]] StepsChartLayout layoutChart(const StepsChart& chart, const QRectF& area);

void paintChart(QPainter& painter, const StepsChart& chart, const StepsChartLayout& layout, const Theme& theme);

} // namespace retro::views
