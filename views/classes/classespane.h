// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/classes/classscores.h"
#include "views/common/widgets/drawnpane.h"

#include <vector>

namespace retro::views
{

class Theme;

/// Where the parts of a row lie.
struct ClassRowLayout
{
    QRectF row; ///< all of it
    QRectF name;
    QRectF probability;
    QRectF score;
    QRectF bar;
};

/// Table of classes with a bar below each row. Plain geometry.
struct ClassesLayout
{
    QRectF probabilityTitle;
    QRectF scoreTitle;
    std::vector<ClassRowLayout> rows;
    QRectF rule; ///< hairline above the sentence
    QRectF sentence;
    double height = 0;

    /// The row under a point; −1 = none.
    [[nodiscard]] int rowAt(const QPointF& point) const;
};
[[nodiscard]] ClassesLayout layoutClasses(const ClassAnswer& answer, const QRectF& area);
void paintClasses(QPainter& painter, const ClassAnswer& answer, const ClassesLayout& layout, const Theme& theme);

/// Paints an answer; a class can be chosen with the mouse or the keys.
class ClassesPane final : public DrawnPane
{
    Q_OBJECT

public:
    explicit ClassesPane(QWidget* parent = nullptr);
    void setAnswer(ClassAnswer answer);
    [[nodiscard]] const ClassAnswer& answer() const { return m_answer; }
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override;
    /// The row that the keys act on; −1 = none.
    [[nodiscard]] int current() const { return m_current; }
    [[nodiscard]] ClassesLayout layoutNow() const { return layoutClasses(m_answer, area()); }
    [[nodiscard]] QString tipAt(const QPointF& at) const override;

signals:
    /// A class that is not explained yet was clicked, or chosen with Enter.
    void chosen(std::int64_t index);
    /// The keys moved to another row, which lies here.
    void currentMoved(const QRect& row);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;

private:
    [[nodiscard]] QRectF area() const;
    [[nodiscard]] QString tipOf(int row) const;
    [[nodiscard]] bool canChoose(int row) const;
    void choose(int row);
    void moveTo(int row);

    ClassAnswer m_answer;
    int m_current = -1;
};

} // namespace retro::views
