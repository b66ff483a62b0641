// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/paint/theme.h"
#include "views/common/run/historyfacts.h"
#include "views/common/widgets/drawnpane.h"

#include <QStringList>

namespace retro::views
{

/// Where the parts of one row lie. Plain geometry.
struct HistoryRowLayout
{
    QRectF picture;
    QRectF name;
    QRectF shape;
    QRectF bar;
    QRectF shares; ///< percentages, below the segments of the bar
    QRectF sum;
    QRectF elements; ///< null where there is no room for them
};
[[nodiscard]] HistoryRowLayout layoutHistoryRow(const QRectF& row);

/// The values that an element's relevance came through, one row each from the class down to the element: where in the
/// value it was, who handed it on, and how much. Up, down and clicks choose a row.
class HistoryRows final : public DrawnPane
{
    Q_OBJECT

public:
    explicit HistoryRows(QWidget* parent = nullptr);

    /// `names` and `shapes` per layer.
    void setHistory(HistoryPointer history, const QStringList& names, const QStringList& shapes);
    [[nodiscard]] int chosen() const { return m_chosen; }
    /// Marks a row without telling.
    void mark(int row);
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] static int rowHeight();
    /// Draws all rows from (0, 0); for files.
    void paint(QPainter& painter, int width, const Theme& colors, int first, int last) const;
    [[nodiscard]] QString tipAt(const QPointF& at) const override;

signals:
    /// A row was clicked or reached with the keys.
    void rowChosen(int row);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    void choose(int row);
    void paintRow(QPainter& painter, const QRectF& area, int row, const Theme& colors) const;
    void paintBar(QPainter& painter, const HistoryRowLayout& layout, const HistoryLayer& layer,
                  const Theme& colors) const;
    [[nodiscard]] QString segmentName(const HistoryLayer& layer, std::int64_t index) const;

    HistoryPointer m_history;
    QStringList m_names;
    QStringList m_shapes;
    int m_chosen = -1;
};

} // namespace retro::views
