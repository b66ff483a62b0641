// SPDX-License-Identifier: Apache-2.0
#include "views/compare/comparepane.h"

#include "views/common/fonts.h"
#include "views/common/marks.h"
#include "views/common/numbertext.h"
#include "views/common/theme.h"

#include <QPainter>

#include <algorithm>
#include <array>
#include <cmath>

namespace retro::views
{

namespace
{

struct Row
{
    QString name;
    double here = 0;
    double control = 0;
};

double margin() { return fonts::px(12); }

} // namespace

ComparePane::ComparePane(QWidget* parent) : QWidget(parent) { setAccessibleName(tr("Compare with the control model")); }

void ComparePane::setFigure(CompareFigure figure)
{
    m_figure = std::move(figure);
    setAccessibleDescription(m_figure.verdict + QLatin1Char(' ') + m_figure.meaning);
    update();
}

QSize ComparePane::sizeHint() const { return {fonts::px(280), fonts::px(520)}; }

QSize ComparePane::minimumSizeHint() const { return {fonts::px(200), fonts::px(240)}; }

void ComparePane::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    paint(painter, QSizeF(size()), theme(this));
}

void ComparePane::paint(QPainter& painter, const QSizeF& size, const Theme& theme) const
{
    painter.fillRect(QRectF(QPointF(0, 0), size), theme[Role::Base]);
    double y = paintPicture(painter, size, theme);
    if (m_figure.here && m_figure.control) {
        y = paintShares(painter, y, size.width(), theme);
    }
    paintMeaning(painter, y, size, theme);
}

double ComparePane::paintPicture(QPainter& painter, const QSizeF& size, const Theme& theme) const
{
    const double inner = size.width() - 2 * margin();
    const double below = m_figure.here ? fonts::px(300) : fonts::px(60);
    const double room = std::max<double>(fonts::px(60), std::min(inner, size.height() - below));
    const QImage& image = m_figure.picture;
    const double longer = std::max(1, std::max(image.width(), image.height()));
    const double whole = std::floor(room / longer);
    const double pixel = whole >= 1 ? whole : room / longer;
    const QRectF area((size.width() - image.width() * pixel) / 2, fonts::px(6), image.width() * pixel,
                      image.height() * pixel);
    painter.drawImage(area, image);
    if (m_figure.box) {
        const QRectF box(area.left() + m_figure.box->x() * pixel, area.top() + m_figure.box->y() * pixel,
                         m_figure.box->width() * pixel, m_figure.box->height() * pixel);
        painter.setPen(QPen(theme[Role::Accent], 2));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(box.adjusted(-1.5, -1.5, 1.5, 1.5));
    }
    double y = area.bottom() + fonts::px(8);
    const QRectF line(margin(), y, inner, fonts::px(20));
    painter.setFont(fonts::content(QFont::Medium));
    painter.setPen(theme[Role::Text]);
    painter.drawText(line, Qt::AlignLeft | Qt::AlignVCenter, m_figure.verdict);
    painter.setFont(fonts::numbers());
    painter.drawText(line, Qt::AlignRight | Qt::AlignVCenter, m_figure.verdictFigure);
    return line.bottom() + fonts::px(8);
}

double ComparePane::paintShares(QPainter& painter, double y, double width, const Theme& theme) const
{
    const double right = width - margin();
    const double column = fonts::px(84);
    paintHairline(painter, {0, std::round(y) + 0.5}, {width, std::round(y) + 0.5}, theme[Role::Line]);
    y += fonts::px(8);
    painter.setFont(fonts::label(QFont::DemiBold));
    painter.setPen(theme[Role::Text]);
    painter.drawText(QRectF(margin(), y, width, fonts::px(20)), Qt::AlignLeft | Qt::AlignVCenter,
                     tr("Where the positive relevance is"));
    y += fonts::px(20);
    painter.setFont(fonts::label());
    painter.setPen(theme[Role::Text2]);
    painter.drawText(QRectF(right - 2 * column, y, column, fonts::px(20)), Qt::AlignRight | Qt::AlignVCenter,
                     tr("this model"));
    painter.drawText(QRectF(right - column, y, column, fonts::px(20)), Qt::AlignRight | Qt::AlignVCenter,
                     tr("control"));
    y += fonts::px(20);
    const std::array rows{Row{tr("On the %1").arg(m_figure.boxName), m_figure.here->inBox, m_figure.control->inBox},
                          Row{tr("Elsewhere"), m_figure.here->outside, m_figure.control->outside}};
    for (const Row& row : rows) {
        const QRectF line(margin(), y, right - margin(), fonts::px(20));
        painter.setFont(fonts::label());
        painter.setPen(theme[Role::Text]);
        painter.drawText(line, Qt::AlignLeft | Qt::AlignVCenter, row.name);
        painter.setFont(fonts::numbers());
        painter.drawText(line, Qt::AlignRight | Qt::AlignVCenter, percentText(row.control));
        painter.drawText(line.adjusted(0, 0, -column, 0), Qt::AlignRight | Qt::AlignVCenter, percentText(row.here));
        y += fonts::px(21);
        const double bar = column - fonts::px(14);
        paintShareBar(painter, QRectF(right - 2 * column + fonts::px(14), y, bar, fonts::px(7)), row.here,
                      theme[Role::Accent], theme);
        paintShareBar(painter, QRectF(right - column + fonts::px(14), y, bar, fonts::px(7)), row.control,
                      theme[Role::Strong], theme);
        y += fonts::px(14);
    }
    return y + fonts::px(6);
}

void ComparePane::paintMeaning(QPainter& painter, double y, const QSizeF& size, const Theme& theme) const
{
    if (m_figure.meaning.isEmpty()) {
        return;
    }
    paintHairline(painter, {0, std::round(y) + 0.5}, {size.width(), std::round(y) + 0.5}, theme[Role::Line]);
    y += fonts::px(8);
    painter.setFont(fonts::label(QFont::DemiBold));
    painter.setPen(theme[Role::Text]);
    painter.drawText(QRectF(margin(), y, size.width(), fonts::px(20)), Qt::AlignLeft | Qt::AlignVCenter,
                     tr("What this means"));
    y += fonts::px(22);
    painter.setFont(fonts::content());
    painter.drawText(QRectF(margin(), y, size.width() - 2 * margin(), std::max(0.0, size.height() - y)),
                     Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap, m_figure.meaning);
}

} // namespace retro::views
