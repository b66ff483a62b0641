// SPDX-License-Identifier: Apache-2.0
#include "views/plan/budgetslider.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/theme.h"

#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace retro::views
{

using fonts::px;

namespace
{
constexpr double kSide = 14; // room for the handle and half a figure, design pixels
constexpr double kGroove = 12;
constexpr double kHandle = 7;
} // namespace

BudgetSlider::BudgetSlider(QWidget* parent) : QSlider(Qt::Horizontal, parent)
{
    setRange(0, kSteps);
    setSingleStep(kSteps / 100);
    setPageStep(kSteps / 10);
    setFocusPolicy(Qt::StrongFocus);
}

void BudgetSlider::setUnknown(double share)
{
    if (m_unknown != share) {
        m_unknown = share;
        update();
    }
}

QSize BudgetSlider::sizeHint() const { return {px(240), px(42)}; }

QSize BudgetSlider::minimumSizeHint() const { return {px(140), px(42)}; }

double BudgetSlider::pixelOf(double share) const { return px(kSide) + share * (width() - 2.0 * px(kSide)); }

void BudgetSlider::goTo(double x)
{
    const double share = (x - px(kSide)) / std::max(1.0, width() - 2.0 * px(kSide));
    setValue(static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * kSteps)));
}

void BudgetSlider::mousePressEvent(QMouseEvent* event)
{
    if (event->button() == Qt::LeftButton) {
        setSliderDown(true);
        goTo(event->position().x());
    }
}

void BudgetSlider::mouseMoveEvent(QMouseEvent* event)
{
    if (isSliderDown()) {
        goTo(event->position().x());
    }
}

void BudgetSlider::mouseReleaseEvent(QMouseEvent* /*event*/) { setSliderDown(false); }

void BudgetSlider::paintEvent(QPaintEvent* /*event*/)
{
    const Theme& colors = theme(this);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const double middle = px(kGroove);
    const double share = static_cast<double>(value()) / kSteps;
    const auto line = [&](double from, double to, Role role, Qt::PenStyle style) {
        if (to > from) {
            painter.setPen(QPen(isEnabled() ? colors[role] : colors[Role::Ghost], px(3), style, Qt::FlatCap));
            painter.drawLine(QPointF(pixelOf(from), middle), QPointF(pixelOf(to), middle));
        }
    };
    line(std::max(share, m_unknown), 1, Role::Ghost, Qt::SolidLine);
    line(m_unknown, share, Role::Accent, Qt::SolidLine);
    line(0, m_unknown, Role::AlarmLine, Qt::DashLine); // a shape beside the colour
    painter.setFont(fonts::smallNumbers());
    painter.setPen(colors[Role::Text3]);
    for (int percent = 0; percent <= 100; percent += 20) {
        const double x = pixelOf(percent / 100.0);
        painter.drawLine(QPointF(x, middle + px(8)), QPointF(x, middle + px(11)));
        painter.drawText(QRectF(x - px(20), middle + px(12), px(40), px(16)), Qt::AlignHCenter | Qt::AlignTop,
                         QString::number(percent));
    }
    const QPointF handle(pixelOf(share), middle);
    painter.setPen(
        QPen(isEnabled() ? colors[share < m_unknown ? Role::AlarmLine : Role::Accent] : colors[Role::Ghost], px(2)));
    painter.setBrush(colors[Role::Base]);
    painter.drawEllipse(handle, px(kHandle), px(kHandle));
    if (hasFocus()) {
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(colors[Role::Accent], 1));
        painter.drawEllipse(handle, px(kHandle) + px(3), px(kHandle) + px(3));
    }
}

} // namespace retro::views

#include "moc_budgetslider.cpp"
