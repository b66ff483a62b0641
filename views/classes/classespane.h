// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/classes/classscores.h"

#include <QWidget>

#include <vector>

namespace retro::views
{

class Theme;

/// Where the parts of a row lie.
struct ClassRowLayout
{
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
};
[[nodiscard]] ClassesLayout layoutClasses(const ClassAnswer& answer, const QRectF& area);
void paintClasses(QPainter& painter, const ClassAnswer& answer, const ClassesLayout& layout, const Theme& theme);

/// Paints an answer.
class ClassesPane final : public QWidget
{
    Q_OBJECT

public:
    explicit ClassesPane(QWidget* parent = nullptr);
    void setAnswer(ClassAnswer answer);
    [[nodiscard]] const ClassAnswer& answer() const { return m_answer; }
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override { return {160, sizeHint().height()}; }

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    [[nodiscard]] QRectF area() const;
    ClassAnswer m_answer;
};

} // namespace retro::views
