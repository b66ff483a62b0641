// SPDX-License-Identifier: Apache-2.0
#include "views/diagnose/findingevidence.h"

#include "core/diagnosis/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/diagnose/chartdrawing.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <array>
#include <cmath>

namespace retro::views
{

namespace
{

// Design pixels.
constexpr double kPlotHeight = 96;
constexpr double kPartHeight = 16;
constexpr double kSideOfPicture = 132;
constexpr double kTextLine = 16;
constexpr double kWidestBar = 34;
constexpr double kScaleWidth = 44;

QString numberOf(double number) { return QString::fromStdString(diagnosis::numberText(number)); }

double sumOf(const std::vector<EvidenceBar>& bars)
{
    double sum = 0;
    for (const EvidenceBar& bar : bars) {
        sum += bar.amount;
    }
    return sum;
}

/// Ink of what goes on, then of causes.
QColor colorOf(const EvidenceBar& bar, const Theme& colors)
{
    if (bar.part == 0) {
        return colors[Role::Strong];
    }
    return colors[bar.isPlace ? Role::AlarmText : Role::Ghost];
}

/// The picture with square pixels that fits, from the corner.
void drawSquare(QPainter& painter, const QImage& picture, const QRectF& place)
{
    painter.setRenderHint(QPainter::SmoothPixmapTransform, picture.width() > place.width());
    painter.drawImage(place, picture);
}

QSizeF fitted(const QImage& picture, double side)
{
    return picture.isNull() ? QSizeF() : QSizeF(picture.size()).scaled(side, side, Qt::KeepAspectRatio);
}

} // namespace

EvidenceDrawing::EvidenceDrawing(FindingEvidence evidence, QWidget* parent)
    : QWidget(parent), m_evidence(std::move(evidence))
{
    setObjectName(QStringLiteral("evidence"));
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    double least = 0;
    double most = 0;
    for (const EvidenceBar& bar : m_evidence.bars) {
        if (bar.amount > 0 && std::isfinite(bar.amount)) {
            least = least == 0 ? bar.amount : std::min(least, bar.amount);
            most = std::max(most, bar.amount);
        }
    }
    if (m_evidence.limit > 0) {
        least = least == 0 ? m_evidence.limit : std::min(least, m_evidence.limit);
        most = std::max(most, m_evidence.limit);
    }
    if (most > 0) {
        m_low = std::floor(std::log10(least)) - (least == std::pow(10, std::floor(std::log10(least))) ? 1 : 0);
        m_high = std::max(m_low + 1, std::ceil(std::log10(most)));
    }
    setAccessibleName(spoken());
}

QString EvidenceDrawing::spoken() const
{
    if (m_evidence.kind == EvidenceKind::Chart) {
        return spokenChart(m_evidence.chart);
    }
    QStringList parts{m_evidence.title};
    for (const EvidenceBar& bar : m_evidence.bars) {
        parts << bar.name + QLatin1Char(' ') + numberOf(bar.amount);
    }
    return parts.join(QStringLiteral("; "));
}

QSize EvidenceDrawing::sizeHint() const
{
    if (m_evidence.kind == EvidenceKind::Chart) {
        return {fonts::px(260),
                static_cast<int>(std::ceil(heightOfChart(m_evidence.chart))) + fonts::px(kTextLine) + 2};
    }
    const double height = m_evidence.kind == EvidenceKind::Growth  ? kPlotHeight + 2 * kTextLine
                          : m_evidence.kind == EvidenceKind::Parts ? kPartHeight + 2 * kTextLine + 4
                                                                   : kSideOfPicture + kTextLine;
    return {fonts::px(260), fonts::px(height)};
}

QRectF EvidenceDrawing::chartPlace() const { return QRectF(rect()).adjusted(0, fonts::px(kTextLine) + 2, 0, 0); }

QRectF EvidenceDrawing::plot() const
{
    return QRectF(rect()).adjusted(fonts::px(kScaleWidth), fonts::px(kTextLine) + 2, -2, -fonts::px(kTextLine));
}

QRectF EvidenceDrawing::barAt(std::size_t index) const
{
    const QRectF area = plot();
    const double pitch = area.width() / static_cast<double>(std::max<std::size_t>(1, m_evidence.bars.size()));
    const double width = std::min<double>(std::max(1.0, pitch * 0.72), fonts::px(kWidestBar));
    const double left = area.left() + pitch * (static_cast<double>(index) + 0.5) - width / 2;
    const double amount = m_evidence.bars[index].amount;
    const double up = amount > 0 && std::isfinite(amount) ? (std::log10(amount) - m_low) / (m_high - m_low) : 0;
    const double height = area.height() * std::clamp(up, 0.0, 1.0);
    return {left, area.bottom() - height, width, height};
}

void EvidenceDrawing::paintGrowth(QPainter& painter, const Theme& colors) const
{
    const QRectF area = plot();
    painter.setFont(fonts::small());
    const double decades = m_high - m_low;
    const double stride = std::max(1.0, std::ceil(decades / 3));
    for (double at = m_low; at <= m_high + 1e-9; at += stride) {
        const double y = std::floor(area.bottom() - area.height() * (at - m_low) / decades) + 0.5;
        painter.setPen(QPen(colors[Role::Line], 1));
        painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
        painter.setPen(colors[Role::Text3]);
        painter.drawText(QRectF(0, y - 8, area.left() - 4, 16), Qt::AlignVCenter | Qt::AlignRight,
                         numberOf(std::pow(10, at)));
    }
    for (std::size_t i = 0; i < m_evidence.bars.size(); ++i) {
        painter.fillRect(barAt(i), colors[m_evidence.bars[i].isPlace ? Role::AlarmText : Role::Ghost]);
    }
    if (m_evidence.limit > 0) {
        const double y =
            std::floor(area.bottom() - area.height() * (std::log10(m_evidence.limit) - m_low) / decades) + 0.5;
        painter.setPen(QPen(colors[Role::Text], 1, Qt::DashLine));
        painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
    }
    painter.setPen(colors[Role::Text2]);
    const QRectF below(area.left(), area.bottom() + 1, area.width(), fonts::px(kTextLine) - 1);
    const QFontMetricsF metrics(fonts::small());
    const double half = below.width() / 2 - 4;
    if (!m_evidence.bars.empty()) {
        painter.drawText(below, Qt::AlignLeft | Qt::AlignVCenter,
                         metrics.elidedText(m_evidence.bars.front().name, Qt::ElideRight, half));
        painter.drawText(below, Qt::AlignRight | Qt::AlignVCenter,
                         metrics.elidedText(m_evidence.bars.back().name, Qt::ElideLeft, half));
    }
}

void EvidenceDrawing::paintParts(QPainter& painter, const Theme& colors) const
{
    const double sum = sumOf(m_evidence.bars);
    const QRectF bar(0, fonts::px(kTextLine) + 2, width(), fonts::px(kPartHeight));
    double left = bar.left();
    QStringList words;
    for (const EvidenceBar& part : m_evidence.bars) {
        const double share = sum > 0 ? part.amount / sum : 0;
        const QRectF piece(left, bar.top(), bar.width() * share, bar.height());
        painter.fillRect(piece, colorOf(part, colors));
        left = piece.right();
        words << tr("%1 %2").arg(part.name, QString::fromStdString(diagnosis::percentText(share)));
    }
    painter.setPen(QPen(colors[Role::Line], 1));
    painter.drawRect(bar.adjusted(0.5, 0.5, -0.5, -0.5));
    painter.setFont(fonts::small());
    painter.setPen(colors[Role::Text2]);
    const QRectF below(0, bar.bottom() + 2, width(), fonts::px(kTextLine));
    painter.drawText(
        below, Qt::AlignLeft | Qt::AlignVCenter,
        QFontMetricsF(fonts::small()).elidedText(words.join(QStringLiteral(" · ")), Qt::ElideRight, below.width()));
}

void EvidenceDrawing::paintPicture(QPainter& painter, const Theme& colors) const
{
    const QSizeF size = fitted(m_evidence.picture, fonts::px(kSideOfPicture) - 4);
    const QRectF place(QPointF(0.5, fonts::px(kTextLine) + 2.5), size);
    drawSquare(painter, m_evidence.picture, place);
    painter.setPen(QPen(colors[Role::Line], 1));
    painter.drawRect(place);
    if (m_evidence.box) {
        const double pixel = size.width() / m_evidence.picture.width();
        const QRectF box(place.left() + m_evidence.box->x() * pixel, place.top() + m_evidence.box->y() * pixel,
                         m_evidence.box->width() * pixel, m_evidence.box->height() * pixel);
        painter.setPen(QPen(colors[Role::AlarmText], 2));
        painter.drawRect(box);
    }
}

void EvidenceDrawing::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    const Theme& colors = theme(this);
    painter.setFont(fonts::small());
    painter.setPen(colors[Role::Text3]);
    painter.drawText(QRectF(0, 0, width(), fonts::px(kTextLine)), Qt::AlignLeft | Qt::AlignVCenter,
                     QFontMetricsF(fonts::small()).elidedText(m_evidence.title, Qt::ElideRight, width()));
    switch (m_evidence.kind) {
    case EvidenceKind::Growth:
        return paintGrowth(painter, colors);
    case EvidenceKind::Parts:
        return paintParts(painter, colors);
    case EvidenceKind::Picture:
        return paintPicture(painter, colors);
    case EvidenceKind::Chart:
        return paintChart(painter, chartPlace(), m_evidence.chart, colors);
    case EvidenceKind::None:
        return;
    }
}

bool EvidenceDrawing::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip && m_evidence.kind == EvidenceKind::Chart) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const QString text = textAt(chartPlace(), m_evidence.chart, help->pos());
        if (!text.isEmpty()) {
            QToolTip::showText(help->globalPos(), text, this);
            return true;
        }
    }
    if (event->type() == QEvent::ToolTip && m_evidence.kind == EvidenceKind::Growth) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const QRectF area = plot();
        const double pitch = area.width() / static_cast<double>(std::max<std::size_t>(1, m_evidence.bars.size()));
        const auto at = static_cast<std::ptrdiff_t>(std::floor((help->pos().x() - area.left()) / pitch));
        if (at >= 0 && at < static_cast<std::ptrdiff_t>(m_evidence.bars.size())) {
            const EvidenceBar& bar = m_evidence.bars[static_cast<std::size_t>(at)];
            QToolTip::showText(help->globalPos(), tr("%1: Σ|R| %2").arg(bar.name, numberOf(bar.amount)), this);
            return true;
        }
    }
    return QWidget::event(event);
}

PreviewDrawing::PreviewDrawing(FindingPreview preview, QWidget* parent) : QWidget(parent), m_preview(std::move(preview))
{
    setObjectName(QStringLiteral("previewdrawing"));
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    setAccessibleName(lines().join(QStringLiteral("; ")));
}

QStringList PreviewDrawing::lines() const
{
    if (m_preview.isRunning) {
        return {tr("Trying it: %1 …").arg(m_preview.changes)};
    }
    if (!m_preview.failure.isEmpty()) {
        return {tr("It cannot be tried: %1").arg(m_preview.failure)};
    }
    return QStringList{tr("Not yet taken: %1").arg(m_preview.changes)} + m_preview.figures;
}

QSize PreviewDrawing::sizeHint() const
{
    const bool hasPictures = !m_preview.after.isNull();
    const double text = static_cast<double>(lines().size()) * kTextLine;
    return {fonts::px(2 * kSideOfPicture + 12), fonts::px(text + (hasPictures ? kSideOfPicture + kTextLine + 6 : 2))};
}

void PreviewDrawing::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    const Theme& colors = theme(this);
    const int line = fonts::px(kTextLine);
    const QFontMetricsF metrics(fonts::small());
    int y = 0;
    const QStringList all = lines();
    for (qsizetype i = 0; i < all.size(); ++i) {
        painter.setFont(fonts::small());
        painter.setPen(colors[i == 0 ? Role::Text : Role::Text2]);
        painter.drawText(QRectF(0, y, width(), line), Qt::AlignLeft | Qt::AlignVCenter,
                         metrics.elidedText(all[i], Qt::ElideRight, width()));
        y += line;
    }
    if (m_preview.after.isNull()) {
        return;
    }
    const double side = std::min<double>(fonts::px(kSideOfPicture), (width() - fonts::px(12)) / 2.0);
    struct Half
    {
        const QImage& picture;
        QString words;
    };
    const std::array halves{Half{m_preview.now, tr("now %1").arg(m_preview.nowScale)},
                            Half{m_preview.after, tr("after %1").arg(m_preview.afterScale)}};
    for (std::size_t i = 0; i < halves.size(); ++i) {
        const double left = static_cast<double>(i) * (side + fonts::px(12));
        const QRectF place(QPointF(left + 0.5, y + 2.5), fitted(halves[i].picture, side - 2));
        drawSquare(painter, halves[i].picture, place);
        painter.setPen(QPen(colors[Role::Line], 1));
        painter.drawRect(place);
        painter.setPen(colors[Role::Text2]);
        painter.drawText(QRectF(left, place.bottom() + 2, side, line), Qt::AlignLeft | Qt::AlignVCenter,
                         metrics.elidedText(halves[i].words, Qt::ElideRight, side));
    }
}

} // namespace retro::views

#include "moc_findingevidence.cpp"
