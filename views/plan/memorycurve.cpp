// SPDX-License-Identifier: Apache-2.0
#include "views/plan/memorycurve.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"
#include "views/common/paint/theme.h"
#include "views/plan/bytescale.h"

#include <QCoreApplication>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

using fonts::px;

constexpr double kAxisMarks = 20; // between figures of memory

QString curveText(const char* text) { return QCoreApplication::translate("retro::views::SchedulePainter", text); }

} // namespace

MemoryCurve::MemoryCurve(QPainter& painter, const ScheduleFigure& figure, const ScheduleLayout& layout,
                         const Theme& theme)
    : m_painter(painter), m_figure(figure), m_layout(layout), m_theme(theme), m_plan(*figure.plan),
      m_most(figure.mostBytes())
{}

double MemoryCurve::y(double bytes) const { return m_layout.curve.bottom() - bytes / m_most * m_layout.curve.height(); }

void MemoryCurve::paintAxis()
{
    const ByteScale scale = ByteScale::of(static_cast<std::uint64_t>(m_most));
    const double perPixel = m_layout.curve.height() / (m_most / scale.divisor);
    const double step = markStep(perPixel, px(kAxisMarks));
    m_painter.setFont(fonts::smallNumbers());
    for (double figure = 0; figure * scale.divisor <= m_most; figure += step) {
        const double at = y(figure * scale.divisor);
        paintHairline(m_painter, {m_layout.curve.left(), at}, {m_layout.curve.right(), at},
                      m_theme[figure == 0 ? Role::Strong : Role::Grid]);
        m_painter.setPen(m_theme[Role::Text3]);
        m_painter.drawText(QRectF(m_layout.curve.left() - px(66), at - px(8), px(60), px(16)),
                           Qt::AlignRight | Qt::AlignVCenter, fixedText(figure, step < 1 ? 1 : 0));
    }
}

void MemoryCurve::paint()
{
    paintAxis();
    m_painter.save();
    m_painter.setClipRect(m_layout.curve.adjusted(0, -px(2), 0, 1));
    if (m_figure.planBefore) {
        paintSteps(m_figure.planBefore->matrix, true);
    }
    paintStack();
    paintBandNames();
    paintSteps(m_plan.matrix, false);
    m_painter.restore();
    paintBudget();
    paintPeak();
}

/// What is in memory, tensor by tensor, the oldest below; by sums where columns are thin.
void MemoryCurve::paintStack()
{
    const MemoryStack& stack = m_plan.memory();
    const ScheduleAxis& columns = m_figure.columns;
    const auto last = std::min(stack.sums.size(), static_cast<std::size_t>(std::ceil(columns.to)));
    const auto first = static_cast<std::uint32_t>(std::max(0.0, std::floor(columns.from)));
    const bool isThin = columns.pitch() < 2;
    std::vector<const StackBand*> there;
    std::size_t next = 0;
    for (std::uint32_t at = 0; at < last; ++at) {
        std::erase_if(there, [at](const StackBand* band) { return band->until <= at; });
        for (; next < stack.bands.size() && stack.bands[next].from <= at; ++next) {
            there.push_back(&stack.bands[next]);
        }
        if (at < first) {
            continue;
        }
        const double left = columns.pixel(at);
        const double width = std::max(1.0, columns.pixel(at + 1.0) - left);
        if (isThin) {
            const double top = y(static_cast<double>(stack.sums[at]));
            m_painter.fillRect(QRectF(left, top, width, m_layout.curve.bottom() - top), m_theme[Role::Keep]);
            continue;
        }
        std::uint64_t below = 0;
        for (const StackBand* band : there) {
            const double bottom = y(static_cast<double>(below));
            below += band->bytes;
            const double top = y(static_cast<double>(below));
            paintBand(*band, at, QRectF(left, top, width, bottom - top));
        }
    }
}

void MemoryCurve::paintBandEdges(const StackBand& band, std::uint32_t column, const QRectF& box, bool isMarked)
{
    const QColor edge = m_theme[isMarked                            ? Role::Accent
                                : band.kind == StackKind::Kept      ? Role::Base
                                : band.kind == StackKind::Relevance ? Role::Strong
                                                                    : Role::SearchLine];
    paintHairline(m_painter, box.topLeft(), box.topRight(), edge);
    if (band.kind == StackKind::Relevance) { // it has the colour of the ground: a frame shows it
        paintHairline(m_painter, box.bottomLeft(), box.bottomRight(), edge);
        if (column == band.from) {
            paintHairline(m_painter, box.topLeft(), box.bottomLeft(), edge);
        }
        if (column + 1 == band.until) {
            paintHairline(m_painter, box.topRight(), box.bottomRight(), edge);
        }
    }
}

/// The name of a band is written in its middle, where there is room for it.
void MemoryCurve::noteBandName(const StackBand& band, std::uint32_t column, const QRectF& box)
{
    const QFont font = fonts::small();
    const double width = (band.until - band.from) * m_figure.columns.pitch();
    const bool isMiddle = column == (band.from + band.until) / 2;
    const QString name = band.row < m_plan.matrix.rows().size() ? m_plan.rowLabel(band.row) // as its row says it
                                                                : QString::fromStdString(band.name);
    if (isMiddle && box.height() >= px(12) && fonts::widthOf(font, name) + px(6) < width) {
        m_labels.emplace_back(QPointF(box.center()), name);
    }
}

void MemoryCurve::paintBand(const StackBand& band, std::uint32_t column, const QRectF& box)
{
    const bool isMarked = m_figure.row && band.row == *m_figure.row;
    switch (band.kind) {
    case StackKind::Kept:
        m_painter.fillRect(box, m_theme[isMarked ? Role::Sel : Role::Keep]);
        break;
    case StackKind::Rebuilt:
        m_painter.fillRect(box, m_theme[Role::SearchTint]);
        paintHatch(m_painter, box, m_theme[Role::SearchLine], 4, 1);
        break;
    case StackKind::Relevance:
        m_painter.fillRect(box, m_theme[Role::Base]);
        break;
    }
    if (box.height() < 2) {
        return;
    }
    paintBandEdges(band, column, box, isMarked);
    noteBandName(band, column, box);
}

/// Names lie above every band, and none above another name.
void MemoryCurve::paintBandNames()
{
    m_painter.setFont(fonts::small());
    m_painter.setPen(m_theme[Role::Text]);
    std::vector<QRectF> taken;
    for (const auto& [center, name] : m_labels) {
        const double width = fonts::widthOf(m_painter.font(), name) + px(4);
        const QRectF box(center.x() - width / 2, center.y() - px(7), width, px(14));
        if (std::ranges::none_of(taken, [&box](const QRectF& other) { return other.intersects(box); })) {
            m_painter.drawText(box, Qt::AlignCenter, name);
            taken.push_back(box);
        }
    }
    m_labels.clear();
}

QPolygonF MemoryCurve::lineOf(const ScheduleMatrix& matrix) const
{
    const ScheduleAxis& columns = m_figure.columns;
    QPolygonF line;
    if (columns.pitch() >= 2) {
        const auto last = std::min(matrix.columns().size(), static_cast<std::size_t>(std::ceil(columns.to)));
        for (auto at = static_cast<std::size_t>(std::max(0.0, std::floor(columns.from))); at < last; ++at) {
            const double height = y(static_cast<double>(matrix.columns()[at].bytes));
            line << QPointF(columns.pixel(static_cast<double>(at)), height)
                 << QPointF(columns.pixel(static_cast<double>(at) + 1), height);
        }
        return line;
    }
    const auto pixels = bytesPerPixel(matrix, columns);
    const double end = columns.pixel(static_cast<double>(matrix.columns().size()));
    for (std::size_t i = 0; i < pixels.size() && columns.origin + static_cast<double>(i) < end; ++i) {
        const double x = columns.origin + static_cast<double>(i) + 0.5;
        line << QPointF(x, y(static_cast<double>(pixels[i].least)))
             << QPointF(x, y(static_cast<double>(pixels[i].most)));
    }
    return line;
}

void MemoryCurve::paintSteps(const ScheduleMatrix& matrix, bool isGhost)
{
    const QPolygonF line = lineOf(matrix);
    if (line.isEmpty()) {
        return;
    }
    if (!isGhost && m_plan.memory().sums.empty()) {
        QPainterPath area;
        area.addPolygon(line);
        area.lineTo(line.back().x(), m_layout.curve.bottom());
        area.lineTo(line.front().x(), m_layout.curve.bottom());
        m_painter.fillPath(area, m_theme[Role::FulfilTint]);
    }
    m_painter.setRenderHint(QPainter::Antialiasing, true);
    m_painter.setBrush(Qt::NoBrush);
    m_painter.setPen(isGhost ? QPen(m_theme[Role::Ghost], 1.4, Qt::DotLine) : QPen(m_theme[Role::FulfilLine], 1.6));
    m_painter.drawPolyline(line);
    m_painter.setRenderHint(QPainter::Antialiasing, false);
}

void MemoryCurve::paintBudget()
{
    const double at = std::round(y(static_cast<double>(m_figure.budget))) + 0.5;
    QPen pen(m_theme[Role::AlarmLine], 1.6);
    pen.setDashPattern({7 / 1.6, 4 / 1.6});
    m_painter.setPen(pen);
    m_painter.drawLine(QPointF(m_layout.curve.left(), at), QPointF(m_layout.curve.right(), at));
}

void MemoryCurve::paintPeak()
{
    const double x = m_figure.columns.pixel(m_plan.matrix.peakAt() + 0.5);
    if (x < m_layout.curve.left() || x > m_layout.curve.right()) {
        return;
    }
    const ByteScale scale = ByteScale::of(static_cast<std::uint64_t>(m_most));
    const QString text = curveText("peak %1").arg(scale.figure(m_plan.matrix.peak()));
    const QFont font = fonts::label(QFont::DemiBold);
    const double width = fonts::widthOf(font, text) + px(8);
    const double top = y(static_cast<double>(m_plan.matrix.peak()));
    // Above the curve where there is room, else below the line of the budget.
    const double above = top - px(18);
    const double line = above < m_layout.curve.top() - px(8) ? top + px(4) : above;
    // Beside the place, so that the cursor there does not cross it.
    const double right = x + px(3);
    const double left = right + width < m_layout.curve.right() ? right : x - width - px(3);
    const QRectF box(left, line, width, px(15));
    m_painter.fillRect(box, line > top ? m_theme[Role::FulfilTint] : m_theme[Role::Base]);
    m_painter.setFont(font);
    m_painter.setPen(m_theme[Role::FulfilText]);
    m_painter.drawText(box, Qt::AlignCenter, text);
}

void MemoryCurve::paintMeasured()
{
    if (m_figure.measured == nullptr || m_figure.measured->empty() || m_plan.axis) {
        return; // a run's own axis has it tensor by tensor
    }
    const ScheduleAxis& columns = m_figure.columns;
    const auto& all = m_plan.matrix.columns();
    const double apart = px(9);
    double before = -apart;
    m_painter.setRenderHint(QPainter::Antialiasing, true);
    m_painter.setPen(QPen(m_theme[Role::Ink], 1.2));
    m_painter.setBrush(m_theme[Role::Base]);
    for (std::uint32_t at = 0; at <= m_figure.step && at < all.size(); ++at) {
        const double x = columns.pixel(at + 0.5);
        if (all[at].step < m_figure.measured->size() && x >= m_layout.curve.left() && x <= m_layout.curve.right() &&
            x - before >= apart) {
            m_painter.drawEllipse(QPointF(x, y(static_cast<double>((*m_figure.measured)[all[at].step]))), px(3) * 0.8,
                                  px(3) * 0.8);
            before = x;
        }
    }
    m_painter.setRenderHint(QPainter::Antialiasing, false);
}

} // namespace retro::views
