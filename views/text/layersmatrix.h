// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/paint/colormap.h"
#include "views/common/paint/plane.h"
#include "views/common/paint/theme.h"
#include "views/text/textstamps.h"

#include <QAbstractScrollArea>
#include <QString>

#include <vector>

class QPainter;

namespace retro::views
{

class TextFocus;
struct TokenColumns;

/// Tokens × layers, or tokens × heads of one layer, as cells with figures; the last layer at the top, what enters the
/// first at the bottom. Paints only what is in sight. GUI thread.
class LayersMatrix final : public QAbstractScrollArea
{
    Q_OBJECT

public:
    explicit LayersMatrix(TextFocus& focus, QWidget* parent = nullptr);

    /// Rows are the heads of the shown attention in place of the layers.
    void setByHead(bool isByHead);
    [[nodiscard]] bool isByHead() const { return m_isByHead; }
    /// Each row has the scale of its own largest value, else all have one.
    void setOwnScales(bool areOwn);
    /// Rows whose relevance has not arrived at the cursor stay empty: `arrived` per row of layers, the number 0 is what
    /// enters the first. Empty = all have.
    void setArrived(std::vector<bool> arrived, int current);
    /// Row that the cursor is at (a layer); −1 = none.
    [[nodiscard]] int currentRow() const { return m_current; }
    /// The step, the layer or the text is another one.
    void takeFocus();

    /// Draws all rows and the columns in sight of a picture of that size.
    void paintAll(QPainter& painter, const QSizeF& size, const Theme& theme);
    /// Height of all rows: as low as they can be read, and as high as they get where there is room.
    [[nodiscard]] double heightOfAll() const;
    [[nodiscard]] double mostHeight() const;
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override;

signals:
    /// A cell, or the name of a row (`token` −1), was pressed or dragged to. `row` counts from below.
    void chosen(int row, int token);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool viewportEvent(QEvent* event) override;
    void scrollContentsBy(int dx, int dy) override;

private:
    struct Row
    {
        double sum = 0;
        double largest = 0;
    };
    void makeRows();
    void fitBars();
    [[nodiscard]] int rowCount() const { return static_cast<int>(m_rows.size()); }
    [[nodiscard]] double rowHeight(double height) const;
    [[nodiscard]] double headHeight() const;
    /// Number of the row from below at a place from the top; −1 = none.
    [[nodiscard]] int rowAt(double y) const;
    [[nodiscard]] double valueAt(int row, int token) const;
    [[nodiscard]] QString nameOf(int row) const;
    [[nodiscard]] bool isCurrent(int row) const;
    void press(const QPointF& at);
    void bringIntoSight(int token);
    void paint(QPainter& painter, const TokenColumns& columns, double height, double top, double rowHeight,
               const Theme& theme) const;
    void paintHead(QPainter& painter, const TokenColumns& columns, const Theme& theme) const;
    /// The cells of a row; `isEmpty`: nothing has arrived there yet.
    void paintCells(QPainter& painter, const TokenColumns& columns, const QRectF& line, int row, bool isEmpty,
                    const Theme& theme) const;
    void paintRow(QPainter& painter, const TokenColumns& columns, const QRectF& line, int row,
                  const Theme& theme) const;

    TextFocus& m_focus;
    bool m_isByHead = false;
    bool m_areOwn = false;
    std::vector<Row> m_rows; ///< from below
    std::vector<bool> m_arrived;
    int m_current = -1;
    double m_largest = 0;
    ColorMap m_map;
    mutable TextStamps m_words; ///< of the line above
    mutable TextStamps m_names;
    mutable TextStamps m_figures;
};

} // namespace retro::views
