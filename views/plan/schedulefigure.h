// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/plan/scheduleaxis.h"
#include "views/plan/shownplan.h"

#include <QRectF>
#include <QSizeF>

#include <optional>
#include <vector>

namespace retro::views
{

/// Where the parts of a schedule lie; tree, matrix and curve share axes. Plain values.
struct ScheduleLayout
{
    QRectF names;  ///< of the tensors
    QRectF tree;   ///< intervals of operators
    QRectF ruler;  ///< numbers of the steps
    QRectF matrix; ///< rows and columns
    QRectF curve;  ///< memory
    QRectF legend;
    double treeColumn = 0; ///< width of a level
};

/// The parts for a size; `levels` of the tree are drawn where there is room. `scale` = pixels of a design pixel.
[[nodiscard]] ScheduleLayout layoutSchedule(const QSizeF& size, std::uint32_t levels, double nameWidth, double scale);

/// What is drawn: a plan with the part of it that is in sight.
struct ScheduleFigure
{
    ShownPlanPointer plan;
    ShownPlanPointer planBefore;                          ///< may be null
    const std::vector<std::uint64_t>* measured = nullptr; ///< bytes per step of the plan; null or empty = none
    std::uint64_t budget = 0;
    ScheduleAxis columns; ///< items in sight; pixels are filled in by fitTo()
    ScheduleAxis rows;
    std::optional<std::uint32_t> row;     ///< that is selected
    std::optional<std::uint32_t> tried;   ///< that the search for a plan looks at
    bool isSearching = false;             ///< no step of the plan is carried out yet
    std::optional<std::uint32_t> promise; ///< that is selected: the rows that it brings are marked
    std::uint32_t step = 0;               ///< column that is looked at

    /// Gives the axes their pixels.
    void fitTo(const ScheduleLayout& layout);
    /// Largest figure of the axis of memory.
    [[nodiscard]] double mostBytes() const;
};

/// Cells are drawn one by one from this size on; below it, what lies under a pixel is summed up.
inline constexpr double kLeastCell = 3.5;

/// Largest (smallest) of the bytes at the columns under pixels; what a curve draws where many columns share one.
struct BytesAtPixel
{
    std::uint64_t least = 0;
    std::uint64_t most = 0;
};
[[nodiscard]] std::vector<BytesAtPixel> bytesPerPixel(const ScheduleMatrix& matrix, const ScheduleAxis& axis);

/// What share of the rows under a pixel of the matrix is in memory there, row of pixels by row of pixels; 0…1. Takes
/// O(visible spans + pixels), however many rows and columns there are.
[[nodiscard]] std::vector<float> heldShare(const ScheduleMatrix& matrix, const ScheduleAxis& columns,
                                           const ScheduleAxis& rows, int width, int height);

} // namespace retro::views
