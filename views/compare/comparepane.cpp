// SPDX-License-Identifier: Apache-2.0
#include "views/compare/comparepane.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/heatmapimage.h"
#include "views/common/paint/marks.h"
#include "views/common/paint/theme.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <vector>

namespace retro::views
{

namespace
{

struct Row
{
    QString name;
    QString here;
    QString control;
    double hereBar = 0;
    double controlBar = 0;
};

// Design pixels.
constexpr double kMargin = 12;
constexpr double kGap = 8;
constexpr double kLine = 20;
constexpr double kBar = 9;
constexpr double kRow = kLine + kBar + 6;
constexpr double kThumbnail = 60;

double px(double designPixels) { return fonts::px(designPixels); }

/// Width of a column of figures: roomy, but rather narrow than that the names in front of it are cut.
double columnWidth(double inner, double names)
{
    const double least = px(10) + std::max(fonts::widthOf(fonts::numbers(), QStringLiteral("100.0 %")),
                                           fonts::widthOf(fonts::label(), ComparePane::tr("this model")));
    return std::clamp((inner - names - px(kGap)) / 2, std::ceil(least), std::max(px(84), std::ceil(least)));
}

QString capitalised(const QString& word) { return word.left(1).toUpper() + word.mid(1); }

/// The parts that add up to the whole: the box, the object where it is known, and what is left.
std::vector<Row> rowsOf(const CompareFigure& figure)
{
    const EvidenceShare& here = *figure.here;
    const EvidenceShare& control = *figure.control;
    const EvidenceTexts hereTexts = evidenceTexts(here);
    const EvidenceTexts controlTexts = evidenceTexts(control);
    std::vector<Row> rows;
    if (!figure.boxName.isEmpty()) {
        rows.push_back({capitalised(figure.boxName), hereTexts.inBox, controlTexts.inBox, here.inBox, control.inBox});
    }
    const double hereObject = here.onObject.value_or(0);
    const double controlObject = control.onObject.value_or(0);
    if (here.onObject) {
        rows.push_back(
            {ComparePane::tr("Object"), hereTexts.onObject, controlTexts.onObject, hereObject, controlObject});
    }
    rows.push_back({here.onObject ? ComparePane::tr("Rest") : ComparePane::tr("Elsewhere"), hereTexts.outside,
                    controlTexts.outside, here.outside - hereObject, control.outside - controlObject});
    return rows;
}

/// Width of the longest name.
double namesWidth(const std::vector<Row>& rows)
{
    double longest = 0;
    for (const Row& row : rows) {
        longest = std::max(longest, fonts::widthOf(fonts::label(), row.name));
    }
    return longest;
}

double sharesHeight(const CompareFigure& figure)
{
    return figure.hasShares() ? 2 * px(kGap) + 3 * px(kLine) + static_cast<double>(rowsOf(figure).size()) * px(kRow)
                              : 0;
}

double meaningHeight(const QString& text, double width)
{
    return std::ceil(QFontMetricsF(fonts::content()).boundingRect({0, 0, width, 1e4}, Qt::TextWordWrap, text).height());
}

/// As large as fits into `room`, in the middle; the pixels keep their shape.
void placePicture(const CompareFigure& figure, double width, double room, double top, CompareLayout& layout)
{
    const double longer = std::max(1, std::max(figure.picture.width(), figure.picture.height()));
    const double whole = std::floor(room / longer);
    layout.pixel = whole >= 1 ? whole : room / longer;
    const QSizeF picture = QSizeF(figure.picture.size()) * layout.pixel;
    layout.picture = QRectF(QPointF(std::floor((width - picture.width()) / 2), top), picture);
}

/// Line by line, as high as the words need.
void placeSteps(const CompareFigure& figure, double inner, double top, CompareLayout& layout)
{
    layout.steps = layoutSteps(figure.strip, inner);
    layout.picture = QRectF(QPointF(px(kMargin), top), sizeOfSteps(layout.steps));
}

QString spoken(const CompareFigure& figure)
{
    QStringList parts{figure.verdict, figure.verdictFigure};
    if (figure.hasShares()) {
        for (const Row& row : rowsOf(figure)) {
            parts << ComparePane::tr("%1: this model %2, control %3.").arg(row.name, row.here, row.control);
        }
    }
    parts << figure.meaning;
    return parts.join(QLatin1Char(' ')).simplified();
}

} // namespace

CompareLayout layoutCompare(const CompareFigure& figure, const QSizeF& size)
{
    const double inner = size.width() - 2 * px(kMargin);
    const double shares = sharesHeight(figure);
    const double meaning =
        figure.meaning.isEmpty() ? 0 : px(kGap) + px(kLine) + meaningHeight(figure.meaning, inner) + px(kGap);
    const double above = px(6);
    const double verdict = px(kGap) + px(kLine) + px(kGap);
    const double room = std::max(px(kThumbnail), std::min(inner, size.height() - above - verdict - shares - meaning));
    CompareLayout layout;
    if (figure.strip.isEmpty()) {
        placePicture(figure, size.width(), room, above, layout);
    } else {
        placeSteps(figure, inner, above, layout);
    }
    layout.verdict = QRectF(px(kMargin), layout.picture.bottom() + px(kGap), inner, px(kLine));
    double y = layout.verdict.bottom() + px(kGap);
    layout.shares = shares > 0 ? QRectF(0, y, size.width(), shares) : QRectF();
    y += shares;
    layout.meaning = meaning > 0 ? QRectF(0, y, size.width(), meaning) : QRectF();
    layout.height = y + meaning;
    return layout;
}

ComparePane::ComparePane(QWidget* parent) : QWidget(parent) { setAccessibleName(tr("Compare with the control model")); }

void ComparePane::setFigure(CompareFigure figure)
{
    m_figure = std::move(figure);
    setAccessibleDescription(spoken(m_figure));
    updateGeometry();
    update();
}

QSize ComparePane::sizeHint() const { return {fonts::px(280), fonts::px(520)}; }

QSize ComparePane::minimumSizeHint() const
{
    const int least = fonts::px(220);
    const int wide = std::max(width(), least);
    return {least, static_cast<int>(std::ceil(layoutCompare(m_figure, QSizeF(wide, 0)).height))};
}

void ComparePane::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    updateGeometry(); // the sentence may need another line
}

void ComparePane::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    paint(painter, QSizeF(size()), theme(this));
}

void ComparePane::paint(QPainter& painter, const QSizeF& size, const Theme& theme) const
{
    const CompareLayout layout = layoutCompare(m_figure, size);
    painter.fillRect(QRectF(QPointF(0, 0), size), theme[Role::Base]);
    paintPicture(painter, layout, theme);
    paintVerdict(painter, layout, theme);
    if (!layout.shares.isEmpty()) {
        paintShares(painter, layout.shares, theme);
    }
    if (!layout.meaning.isEmpty()) {
        paintMeaning(painter, layout.meaning, theme);
    }
}

void ComparePane::paintPicture(QPainter& painter, const CompareLayout& layout, const Theme& theme) const
{
    if (layout.steps.empty()) {
        painter.drawImage(layout.picture, m_figure.picture);
    } else {
        painter.save();
        painter.translate(layout.picture.topLeft());
        paintSteps(painter, m_figure.strip, layout.steps, theme);
        painter.restore();
    }
    if (m_figure.box) {
        paintFigureBox(painter, *m_figure.box, layout.picture.topLeft(), layout.pixel);
    }
}

void ComparePane::paintVerdict(QPainter& painter, const CompareLayout& layout, const Theme& theme) const
{
    const QFont figures = fonts::numbers();
    const double room = layout.verdict.width() - fonts::widthOf(figures, m_figure.verdictFigure) - px(kGap);
    painter.setFont(fonts::content(QFont::Medium));
    painter.setPen(theme[Role::Text]);
    painter.drawText(layout.verdict, Qt::AlignLeft | Qt::AlignVCenter,
                     QFontMetricsF(painter.font()).elidedText(m_figure.verdict, Qt::ElideMiddle, room));
    painter.setFont(figures);
    painter.drawText(layout.verdict, Qt::AlignRight | Qt::AlignVCenter, m_figure.verdictFigure);
}

void ComparePane::paintShares(QPainter& painter, const QRectF& area, const Theme& theme) const
{
    constexpr auto kRight = Qt::AlignRight | Qt::AlignVCenter;
    const double left = area.left() + px(kMargin);
    const double right = area.right() - px(kMargin);
    const double line = px(kLine);
    const std::vector<Row> rows = rowsOf(m_figure);
    const double column = columnWidth(right - left, namesWidth(rows));
    const double names = right - 2 * column - left;
    double y = area.top();
    const auto writeLine = [&](const Row& row, const QFont& name, const QFont& figures) {
        painter.setFont(name);
        painter.drawText(QRectF(left, y, names, line), Qt::AlignLeft | Qt::AlignVCenter,
                         QFontMetricsF(name).elidedText(row.name, Qt::ElideMiddle, names));
        painter.setFont(figures);
        painter.drawText(QRectF(right - 2 * column, y, column, line), kRight, row.here);
        painter.drawText(QRectF(right - column, y, column, line), kRight, row.control);
        y += line;
    };
    paintHairline(painter, {area.left(), std::round(y) + 0.5}, {area.right(), std::round(y) + 0.5}, theme[Role::Line]);
    y += px(kGap);
    painter.setPen(theme[Role::Text]);
    painter.setFont(fonts::label(QFont::DemiBold));
    painter.drawText(QRectF(left, y, right - left, line), Qt::AlignLeft | Qt::AlignVCenter,
                     tr("Where the positive relevance is"));
    y += line;
    painter.setPen(theme[Role::Text2]);
    writeLine({{}, tr("this model"), tr("control")}, fonts::label(), fonts::label());
    const double bar = column - px(14);
    for (const Row& row : rows) {
        painter.setPen(theme[Role::Text]);
        writeLine(row, fonts::label(), fonts::numbers());
        paintShareBar(painter, QRectF(right - column - bar, y, bar, kBar), row.hereBar, theme[Role::Accent], theme);
        paintShareBar(painter, QRectF(right - bar, y, bar, kBar), row.controlBar, theme[Role::Strong], theme);
        y += px(kRow) - line;
    }
    paintHairline(painter, {right - 2 * column, std::round(y) - 0.5}, {right, std::round(y) - 0.5}, theme[Role::Line]);
    painter.setPen(theme[Role::Text]);
    writeLine({tr("Sum"), evidenceTexts(*m_figure.here).sum, evidenceTexts(*m_figure.control).sum}, fonts::label(),
              fonts::numbers());
}

void ComparePane::paintMeaning(QPainter& painter, const QRectF& area, const Theme& theme) const
{
    const QRectF text = area.adjusted(px(kMargin), px(kGap), -px(kMargin), 0);
    const double top = std::round(area.top()) + 0.5;
    paintHairline(painter, {area.left(), top}, {area.right(), top}, theme[Role::Line]);
    painter.setFont(fonts::label(QFont::DemiBold));
    painter.setPen(theme[Role::Text]);
    painter.drawText(QRectF(text.left(), text.top(), text.width(), px(kLine)), Qt::AlignLeft | Qt::AlignVCenter,
                     tr("What this means"));
    painter.setFont(fonts::content());
    painter.drawText(text.adjusted(0, px(kLine), 0, 0), Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap,
                     m_figure.meaning);
}

} // namespace retro::views

#include "moc_comparepane.cpp"
