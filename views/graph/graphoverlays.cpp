// SPDX-License-Identifier: Apache-2.0
#include "views/graph/graphoverlays.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"
#include "views/graph/graphtranslation.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <array>
#include <cmath>

namespace retro::views
{

using layout::Index;

namespace
{

constexpr double kPanelMargin = 10;
constexpr double kPanelWidth = 152;
constexpr double kMapHeight = 224;
constexpr double kLeastMapHeight = 110;
constexpr double kTitleRow = 28;
constexpr double kLegendRow = 20;
constexpr double kLegendFoot = 6;
constexpr double kLeastBesideMap = 320;  // width of graph beside the map alone …
constexpr double kLeastBesideBoth = 460; // … and beside map and legend

QRectF toQt(const layout::Rect& r) { return {r.x, r.y, r.width, r.height}; }

void paintPanel(QPainter& painter, const QRectF& panel, const QString& title, const QString& detail, const Theme& theme)
{
    paintCornerPanel(painter, panel, theme, Role::Base);
    const QRectF row = panel.adjusted(fonts::px(10), fonts::px(2), -fonts::px(10), 0);
    painter.setFont(fonts::label(QFont::DemiBold));
    painter.setPen(theme[Role::Text]);
    const QRectF line(row.left(), row.top(), row.width(), fonts::px(kTitleRow - 4));
    painter.drawText(line, Qt::AlignLeft | Qt::AlignVCenter, title);
    painter.setFont(fonts::small());
    painter.setPen(theme[Role::Text3]);
    painter.drawText(line, Qt::AlignRight | Qt::AlignVCenter, detail);
}

/// Layers that would be thinner than a pixel are drawn as rows instead, one per pixel.
void addRows(const GraphPicture& picture, const layout::Minimap& map, ClassBars& bars)
{
    const layout::Rect& ground = map.picture();
    double top = std::floor(ground.y);
    for (const ClassRow& row : classRows(*picture.scene, *picture.status, picture.colouring,
                                         picture.scene->layout.bounds, std::max(1, static_cast<int>(ground.height)))) {
        appendRow(bars, row, map.toMap(layout::Point{row.left, 0}).x, map.toMap(layout::Point{row.right, 0}).x, top);
        top += 1;
    }
}

void addBoxes(const GraphPicture& picture, const layout::Minimap& map, ClassBars& bars)
{
    for (Index box = 0; box < picture.scene->boxCount(); ++box) {
        const layout::Rect r = map.toMap(picture.scene->layout.nodes[static_cast<std::size_t>(box)]);
        const double height = std::clamp(std::floor(r.height), 1.0, 5.0);
        bars[picture.classOf(box)].append(
            QRectF(std::round(r.x), std::round(r.center().y - height / 2), std::max(2.0, std::round(r.width)), height));
    }
}

/// A sample of the legend.
enum class Sample { Normal, Search, Fulfil, Idle, Now, Waits, Fulfilled, Frontier, Width };

struct LegendRow
{
    Sample sample;
    const char* text;
};

constexpr std::array<LegendRow, kModeRows> kLegend{{
    {Sample::Normal, QT_TRANSLATE_NOOP("retro::views::GraphView", "normal")},
    {Sample::Search, QT_TRANSLATE_NOOP("retro::views::GraphView", "search")},
    {Sample::Fulfil, QT_TRANSLATE_NOOP("retro::views::GraphView", "fulfilment")},
    {Sample::Idle, QT_TRANSLATE_NOOP("retro::views::GraphView", "not visited")},
    {Sample::Now, QT_TRANSLATE_NOOP("retro::views::GraphView", "now")},
    {Sample::Waits, QT_TRANSLATE_NOOP("retro::views::GraphView", "promise waits")},
    {Sample::Fulfilled, QT_TRANSLATE_NOOP("retro::views::GraphView", "fulfilled")},
    {Sample::Frontier, QT_TRANSLATE_NOOP("retro::views::GraphView", "in the frontier")},
    {Sample::Width, QT_TRANSLATE_NOOP("retro::views::GraphView", "width: log |R|")},
}};

void paintModeSample(QPainter& painter, const QRectF& box, event::Mode mode, const Theme& theme)
{
    paintModeBox(painter, box, mode, theme, 3);
    painter.setFont(fonts::sized(10, QFont::DemiBold));
    painter.setPen(theme.mode(mode).text);
    painter.drawText(box, Qt::AlignCenter, letterOf(mode));
}

void paintWidths(QPainter& painter, const QRectF& box, const Theme& theme)
{
    painter.setRenderHint(QPainter::Antialiasing, false);
    const double middle = std::round(box.center().y());
    painter.fillRect(QRectF(box.left(), middle - fonts::px(3), box.width(), 1), theme[Role::Ghost]);
    painter.fillRect(QRectF(box.left(), middle + 1, box.width(), fonts::px(4)), theme[Role::Strong]);
}

void paintSample(QPainter& painter, const QRectF& box, Sample sample, const Theme& theme)
{
    switch (sample) {
    case Sample::Normal:
        return paintModeSample(painter, box, event::Mode::Normal, theme);
    case Sample::Search:
        return paintModeSample(painter, box, event::Mode::Search, theme);
    case Sample::Fulfil:
        return paintModeSample(painter, box, event::Mode::Fulfilment, theme);
    case Sample::Idle:
        return paintModeSample(painter, box, event::Mode::None, theme);
    case Sample::Now:
        painter.setRenderHint(QPainter::Antialiasing, true);
        painter.setPen(QPen(theme[Role::Accent], 3));
        painter.setBrush(Qt::NoBrush);
        painter.drawRoundedRect(box.adjusted(1.5, 1.5, -1.5, -1.5), 3, 3);
        return;
    case Sample::Waits:
        return paintDiamond(painter, box.center(), fonts::px(5), theme[Role::SearchLine], false);
    case Sample::Fulfilled:
        return paintDiamond(painter, box.center(), fonts::px(5), theme[Role::FulfilText], true);
    case Sample::Frontier:
        return paintTriangle(painter, box.center(), fonts::px(5), theme[Role::Accent]);
    case Sample::Width:
        return paintWidths(painter, box, theme);
    }
}

QRectF sampleAt(const QRectF& panel, double top)
{
    const double middle = std::round(top + fonts::px(kLegendRow) / 2.0);
    return {panel.left() + fonts::px(10), middle - fonts::px(7), double(fonts::px(30)), double(fonts::px(14))};
}

void paintClassSample(QPainter& painter, const QRectF& box, const Colouring& colouring, std::size_t which,
                      const Theme& theme)
{
    const QColor line = classColor(&colouring, which, theme);
    painter.setRenderHint(QPainter::Antialiasing, true);
    painter.setPen(QPen(line == theme[Role::Base] ? theme[Role::Ghost] : line, 1.2));
    painter.setBrush(classTint(&colouring, which, theme));
    painter.drawRoundedRect(box.adjusted(0.6, 0.6, -0.6, -0.6), 3, 3);
    painter.fillRect(QRectF(box.left() + 1, box.top() + 1, fonts::px(5), box.height() - 2), line);
    painter.setFont(fonts::sized(10, QFont::DemiBold));
    painter.setPen(theme[Role::Text2]);
    painter.drawText(box.adjusted(fonts::px(4), 0, 0, 0), Qt::AlignCenter, classSign(colouring.by, which));
}

void paintMeaning(QPainter& painter, const QRectF& panel, double top, const QString& text, const Theme& theme)
{
    const QFontMetricsF metrics(fonts::label());
    const double left = panel.left() + fonts::px(50);
    painter.setFont(fonts::label());
    painter.setPen(theme[Role::Text2]);
    painter.drawText(QPointF(left, std::round(top + fonts::px(kLegendRow) / 2.0) + metrics.capHeight() / 2),
                     metrics.elidedText(text, Qt::ElideMiddle, panel.right() - fonts::px(6) - left));
}

} // namespace

void paintCornerPanel(QPainter& painter, const QRectF& panel, const Theme& theme, Role ground)
{
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme[Role::Line], 1));
    painter.setBrush(theme[ground]);
    painter.drawRoundedRect(panel.adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
}

GraphOverlays GraphOverlays::place(const QSizeF& size, double scale, bool wantsMap, bool wantsLegend, int legendRows)
{
    const double margin = std::round(kPanelMargin * scale);
    const double width = std::round(kPanelWidth * scale);
    const double legendHeight = std::ceil((kTitleRow + legendRows * kLegendRow + kLegendFoot) * scale);
    GraphOverlays out;
    out.free = QRectF(QPointF(), size).adjusted(margin, margin, -margin, -margin);
    const double beside = size.width() - width - 2 * margin;
    if (beside < kLeastBesideMap * scale) {
        return out;
    }
    const double left = size.width() - margin - width;
    const double room = size.height() - 2 * margin;
    const double leastMap = wantsMap ? kLeastMapHeight * scale + margin : 0;
    const bool hasLegend = wantsLegend && beside >= kLeastBesideBoth * scale && room >= legendHeight + leastMap;
    const double mapHeight = std::floor(std::min(kMapHeight * scale, room - (hasLegend ? legendHeight + margin : 0)));
    if (hasLegend) {
        out.legend = QRectF(left, size.height() - margin - legendHeight, width, legendHeight);
    }
    if (wantsMap && mapHeight >= kLeastMapHeight * scale) {
        out.map = QRectF(left, margin, width, mapHeight);
        out.ground = out.map.adjusted(margin, std::round(kTitleRow * scale), -margin, -margin);
    }
    if (!out.map.isNull() || !out.legend.isNull()) {
        out.free.setRight(left - margin);
    }
    return out;
}

layout::Minimap minimapOf(const GraphScene& scene, const GraphOverlays& overlays)
{
    const QRectF inner = overlays.ground.adjusted(4, 4, -4, -4);
    return {scene.layout.bounds, {inner.x(), inner.y(), inner.width(), inner.height()}};
}

void paintMap(QPainter& painter, const GraphPicture& picture, const GraphOverlays& overlays,
              const layout::Rect& visible, const Theme& theme)
{
    const GraphScene& scene = *picture.scene;
    paintPanel(painter, overlays.map, graphText("Map"),
               graphText("all %1 nodes").arg(countText(scene.book->drawn.graph.nodeCount)), theme);
    const layout::Minimap map = minimapOf(scene, overlays);
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(QPen(theme[Role::Line], 1));
    painter.setBrush(theme[Role::Alt]);
    painter.drawRect(overlays.ground.adjusted(0.5, 0.5, -0.5, -0.5));
    const layout::Rect window{overlays.ground.x(), overlays.ground.y(), overlays.ground.width(),
                              overlays.ground.height()};
    const layout::Rect exact = map.viewportFrame(visible);
    const QRectF frame = toQt(exact) & toQt(window);
    painter.setOpacity(0.5); // half way between the ground and the colour of selections
    painter.fillRect(frame, theme[Role::Sel]);
    painter.setOpacity(1);
    ClassBars bars;
    const bool isFine = map.picture().height < static_cast<double>(scene.layout.layers.size());
    if (isFine) {
        addRows(picture, map, bars);
    } else {
        addBoxes(picture, map, bars);
    }
    painter.setOpacity(picture.hasEmphasis() ? kFaint : 1);
    paintBars(painter, bars, picture.colouring, theme);
    painter.setOpacity(1);
    if (picture.hasEmphasis()) {
        const auto toPixels = [&](const layout::Rect& rect) { return toQt(map.toMap(rect)); };
        paintBars(painter, emphasisedBars(picture, toPixels), picture.colouring, theme);
    }
    painter.setRenderHint(QPainter::Antialiasing, true);
    painter.setPen(QPen(theme[Role::Accent], 1.5));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(frame.adjusted(0.75, 0.75, -0.75, -0.75));
}

int legendRowsOf(const Colouring* colouring)
{
    return colouring == nullptr ? kModeRows : static_cast<int>(colouring->legend.size());
}

void paintLegend(QPainter& painter, const QRectF& panel, const Colouring* colouring, const Theme& theme)
{
    paintPanel(painter, panel, graphText("Legend"), colouring == nullptr ? QString() : wordOf(colouring->by), theme);
    double top = panel.top() + fonts::px(kTitleRow);
    if (colouring == nullptr) {
        for (const LegendRow& row : kLegend) {
            paintSample(painter, sampleAt(panel, top), row.sample, theme);
            paintMeaning(painter, panel, top, graphText(row.text), theme);
            top += fonts::px(kLegendRow);
        }
        return;
    }
    for (const std::size_t which : colouring->legend) {
        paintClassSample(painter, sampleAt(panel, top), *colouring, which, theme);
        paintMeaning(painter, panel, top, colouring->names[which], theme);
        top += fonts::px(kLegendRow);
    }
}

} // namespace retro::views
