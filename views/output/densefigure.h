// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/paint/colormap.h"
#include "views/common/paint/plane.h"
#include "views/common/run/segments.h"
#include "views/common/viewcontext.h"

#include <QImage>
#include <QSizeF>
#include <QString>
#include <QStringList>

#include <memory>
#include <optional>
#include <vector>

class QPainter;

namespace retro::views
{

class Theme;

/// How much of the relevance of the input lies on a segment.
struct SegmentShare
{
    std::int64_t index = 0; ///< class
    QString name;
    double area = 0;             ///< share of the places
    std::optional<double> share; ///< of the positive relevance; none before it has arrived, or where sizes differ
    bool isAsked = false;
};

/// An output with more than one row of classes, drawn so that one of its elements can be chosen: which class
/// wins at each pixel, or the numbers as a grid.
struct DenseFigure
{
    base::ValueId value;                      ///< the output
    QString prefix;                           ///< of places, where the output is not the explained one: "scores:"
    std::shared_ptr<const Segments> segments; ///< null or empty: none
    QStringList names;                        ///< of the classes that win somewhere, in the order of found()
    QImage picture;                           ///< what the model saw, as large as the mask; may be null
    SliceGrid grid;                           ///< of outputs without segments
    tensor::Shape shape;                      ///< of the output
    std::vector<std::string> axes;            ///< trace::axisNames()
    std::optional<QPoint> askedCell;          ///< of the grid: the element that is explained
    Scale scale;
    std::vector<SegmentShare> shares;

    [[nodiscard]] bool hasSegments() const { return segments && !segments->isEmpty(); }
    [[nodiscard]] bool isEmpty() const { return !hasSegments() && grid.plane.isEmpty(); }
    /// Rows of numbers, such as boxes and what is said of each: cells need not be square.
    [[nodiscard]] bool isTable() const;
    /// In pixels of the mask, or cells of the grid.
    [[nodiscard]] QSize size() const;
    /// The element at a cell of the grid, as --target takes it; at a pixel of a mask the class that wins there. Empty
    /// where there is none.
    [[nodiscard]] QString codeAt(const QPoint& cell) const;
    /// The segment at a pixel of the mask, as --target takes it.
    [[nodiscard]] QString segmentAt(const QPoint& cell) const;
};

/// The figure of the explained output, or of the one that has a mask (maskValue()); empty where there is but one row of
/// numbers, or it was not kept.
[[nodiscard]] DenseFigure denseFigure(const RunModel& model);

/// The box of the figure in the middle of a room: with its proportions, a table as wide as there is room.
[[nodiscard]] QRectF placeDense(const DenseFigure& figure, const QRectF& room);
/// One cell of what is drawn in a box.
[[nodiscard]] QSizeF cellSize(const DenseFigure& figure, const QRectF& box);
[[nodiscard]] QRectF cellBox(const DenseFigure& figure, const QRectF& box, const QPoint& cell);
void paintDense(QPainter& painter, const DenseFigure& figure, const QRectF& box, const Theme& theme);

/// The colour of a class in a mask.
[[nodiscard]] QColor colourOfClass(std::int64_t index);

} // namespace retro::views
