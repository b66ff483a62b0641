// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/beforeafter/runpair.h"
#include "views/common/widgets/drawnpane.h"

#include <array>

namespace retro::views
{

class Theme;

/// Where the three pictures of a pair lie: before, after, difference. Plain geometry.
struct PairLayout
{
    struct Cell
    {
        QRectF title;
        QRectF picture;
        QRectF sum;
    };
    std::array<Cell, 3> cells;
};
/// `aspect` is width by height of a picture; `isStacked` puts them below each other, as rows of steps are.
[[nodiscard]] PairLayout layoutPair(const QRectF& area, double aspect, bool isStacked);

/// Paints before, after and the difference with one scale.
class PairCanvas final : public DrawnPane
{
    Q_OBJECT

public:
    explicit PairCanvas(QWidget* parent = nullptr);

    void setPair(RunPair pair);
    [[nodiscard]] const RunPair& pair() const { return m_pair; }
    void paint(QPainter& painter, const QRectF& area, const Theme& colors) const;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    void paintTitle(QPainter& painter, const QRectF& title, std::size_t which, const Theme& colors) const;
    void paintCell(QPainter& painter, const PairLayout::Cell& cell, std::size_t which, const Theme& colors) const;
    void paintBars(QPainter& painter, const QRectF& box, const Plane& plane, const QStringList& words,
                   const Theme& colors) const;

    RunPair m_pair;
    std::array<QImage, 3> m_images;
};

} // namespace retro::views
