// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/input/coversheet.h"

#include <QImage>
#include <QLineF>
#include <QString>
#include <QWidget>

#include <optional>

namespace retro::views
{

class Theme;

/// Where picture and sentence lie. Plain geometry.
struct InputLayout
{
    QRectF picture;
    QRectF sentence;
    double pixel = 1; ///< a whole number where it fits

    /// The pixel of the picture under a point, clamped to the picture's edge.
    [[nodiscard]] QPoint pixelAt(const QPointF& point, const QSize& picture) const;
};
[[nodiscard]] InputLayout layoutInput(const QSize& picture, const QRectF& area, double sentenceHeight);

/// The edges between covered pixels and the rest, in pixels of the picture.
[[nodiscard]] QList<QLineF> outlineOf(const CoverSheet& sheet);

/// Paints a picture in square pixels and a sentence below it. With the brush on, mouse or keys cover pixels: arrow keys
/// move the brush, Space covers, [ and ] change its size, Escape puts it away.
class InputPane final : public QWidget
{
    Q_OBJECT

public:
    explicit InputPane(QWidget* parent = nullptr);
    void setContent(const QImage& picture, const QString& sentence);
    [[nodiscard]] QSize sizeHint() const override { return {260, 300}; }

    [[nodiscard]] CoverSheet& sheet() { return m_sheet; }
    [[nodiscard]] const CoverSheet& sheet() const { return m_sheet; }
    /// The sheet was changed from outside.
    void takeSheet();
    /// The covered pixels that the picture on screen already shows.
    void setApplied(const CoverSheet::Pixels& applied);
    void setBrush(bool isOn);
    [[nodiscard]] bool hasBrush() const { return m_hasBrush; }
    [[nodiscard]] int brushSize() const { return m_brushSize; }
    void setBrushSize(int pixels);
    /// The widest brush for this picture.
    [[nodiscard]] int widestBrush() const;
    /// Where the picture lies at present.
    [[nodiscard]] InputLayout layoutNow() const;
    /// Tools below take some of the room: the sentence gives way before the picture does.
    void setTools(bool areShown);

signals:
    /// The user covered pixels.
    void covered();
    void brushSizeChanged(int pixels);
    /// Escape was pressed while the brush was on.
    void brushLeft();

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    void paintCover(QPainter& painter, const InputLayout& layout, const Theme& colors) const;
    void paintBrush(QPainter& painter, const InputLayout& layout, const Theme& colors) const;
    void moveBrush(const QPoint& to);
    void coverHere();

    bool m_hasTools = false;
    QImage m_picture;
    QString m_sentence;
    CoverSheet m_sheet;
    CoverSheet::Pixels m_applied;
    QList<QLineF> m_outline;
    std::optional<QPoint> m_brush; ///< pixel under the brush
    std::optional<QPoint> m_strokeFrom;
    std::optional<InputLayout> m_held; ///< while a stroke is painted, whatever comes or goes around the picture
    int m_brushSize = 1;
    bool m_hasBrush = false;
};

} // namespace retro::views
