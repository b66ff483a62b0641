// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/paint/colormap.h"
#include "views/common/paint/theme.h"
#include "views/text/textstamps.h"

#include <QAbstractScrollArea>

#include <vector>

class QPainter;

namespace retro::views
{

class TextFocus;

/// The text in reading order, each word tinted by its relevance; words that the text went on with stand behind it and
/// choose their own step. Paints only the lines in sight. GUI thread.
class WordStrip final : public QAbstractScrollArea
{
    Q_OBJECT

public:
    explicit WordStrip(TextFocus& focus, QWidget* parent = nullptr);

    /// Height of all lines at a width.
    [[nodiscard]] double heightFor(double width) const;
    /// Draws all lines.
    void paintAll(QPainter& painter, const QRectF& area, const Theme& theme) const;
    /// Where a token lies in the viewport; empty for one that is not in sight.
    [[nodiscard]] QRect boxOf(int token) const;
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override;

signals:
    /// A word was pressed; the one that a step explains shows that step.
    void chosen(int token);
    /// The menu of a word is wanted there.
    void menuWanted(int token, const QPoint& place);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool viewportEvent(QEvent* event) override;

private:
    struct Cell
    {
        double x = 0;
        double width = 0;
        int line = 0;
        bool isCut = false; ///< the word is wider than a line
    };
    [[nodiscard]] std::vector<Cell> cellsFor(double width) const;
    void takeFocus();
    void fit();
    [[nodiscard]] int tokenAt(const QPointF& place) const;
    void paint(QPainter& painter, const std::vector<Cell>& cells, const QRectF& area, double top,
               const Theme& theme) const;
    void paintCell(QPainter& painter, const QRectF& box, std::size_t token, bool isCut, bool isExplained,
                   const Theme& theme) const;

    TextFocus& m_focus;
    std::vector<Cell> m_cells; ///< for the present width
    double m_largest = 0;
    ColorMap m_map;
    mutable TextStamps m_words;
};

} // namespace retro::views
