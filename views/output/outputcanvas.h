// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/output/densefigure.h"

#include <QWidget>

namespace retro::views
{

/// Paints an output with several rows of classes, and below a mask on which segments relevance lies. Clicks and keys
/// (arrows, then Enter) choose a place.
class OutputCanvas final : public QWidget
{
    Q_OBJECT

public:
    explicit OutputCanvas(QWidget* parent = nullptr);

    void setFigure(DenseFigure figure);
    [[nodiscard]] const DenseFigure& figure() const { return m_figure; }
    /// Draws all of it into a room.
    void paint(QPainter& painter, const QRectF& room, const Theme& theme) const;
    [[nodiscard]] QSize sizeHint() const override { return {260, 320}; }

signals:
    /// A pixel of the mask or a cell of the grid was clicked.
    void chosen(QPoint cell);
    /// (−1, −1) where there is none.
    void probed(QPoint cell);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    [[nodiscard]] QRectF boxIn(const QRectF& room) const;
    [[nodiscard]] QPoint cellAt(const QPointF& point) const;
    [[nodiscard]] QRectF room() const;
    void probe(const QPoint& cell);

    DenseFigure m_figure;
    QPoint m_probed{-1, -1};
};

} // namespace retro::views
