// SPDX-License-Identifier: Apache-2.0
#include "views/common/paint/heatmapimage.h"

#include "core/base/memoryend.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/paintfile.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

constexpr double kLift = 0.59; // the darkest grey under a heatmap
constexpr double kPictureGap = 12;
constexpr double kShortestSide = 480;
constexpr double kLowestBar = 180; // beside a strip of few lines
constexpr double kPlateMargin = 5;
constexpr double kLeastPlate = 40; // less would only be dots

QImage imageOf(const HeatmapFigure& figure, const Plane& plane, const QImage& picture)
{
    if (figure.mode == HeatmapMode::Over) {
        return heatmapOver(plane, figure.bar.scale, figure.bar.map, picture);
    }
    return heatmapOnly(plane, figure.bar.scale, figure.bar.map);
}

/// A name on a plate beside the line, where it does not cover much.
void paintPlate(QPainter& painter, const QString& name, const QRectF& room, Qt::Alignment side, const Theme& theme)
{
    const QFontMetricsF metrics(fonts::label());
    const double height = std::ceil(metrics.height()) + 2;
    if (room.width() < kLeastPlate || room.height() < 3 * height) {
        return;
    }
    const QString shown = metrics.elidedText(name, Qt::ElideMiddle, room.width() - 3 * kPlateMargin);
    const double width = std::ceil(metrics.horizontalAdvance(shown)) + 2 * kPlateMargin;
    const double left = side == Qt::AlignRight ? room.right() - width - kPlateMargin : room.left() + kPlateMargin;
    const QRectF plate(left, room.top() + kPlateMargin, width, height);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme[Role::Base]);
    painter.drawRoundedRect(plate, 3, 3);
    painter.setPen(theme[Role::Text]);
    painter.drawText(plate, Qt::AlignCenter | Qt::TextSingleLine, shown);
}

int mixed(int ground, int cover, double opacity)
{
    return static_cast<int>(std::lround(ground + (cover - ground) * opacity));
}

bool hasTwoPictures(const HeatmapFigure& figure)
{
    return figure.mode == HeatmapMode::SideBySide && !figure.picture.isNull();
}

// Room around the pictures.
QSizeF frameSize(const HeatmapFigure& figure)
{
    QSizeF room(hasTwoPictures(figure) ? kPictureGap : 0, 0);
    if (figure.hasBar) {
        room.rwidth() += kPictureGap + colorBarWidth(figure.bar);
    }
    if (!figure.caption.isEmpty()) {
        room.rheight() += 4 + std::ceil(QFontMetricsF(fonts::label()).height());
    }
    return room;
}

// Pixels that are large already, so that no viewer and no printer decides how they look.
QImage enlarged(const QImage& image, double pixel, bool isSmooth)
{
    const int factor = std::max(1, static_cast<int>(std::ceil(pixel)));
    return image.scaled(image.width() * factor, image.height() * factor, Qt::IgnoreAspectRatio,
                        isSmooth ? Qt::SmoothTransformation : Qt::FastTransformation);
}

bool needsText(const HeatmapFigure& figure) { return figure.hasBar || !figure.caption.isEmpty() || figure.wipe; }

int wantedPixel(const HeatmapFigure& figure, int pixel)
{
    if (pixel > 0) {
        return pixel;
    }
    const int longer = std::max({figure.plane.width, figure.plane.height, 1});
    return std::max(1, static_cast<int>(std::ceil(kShortestSide / longer)));
}

// The colours of the values: the image, or the cells of a strip.
void paintValues(QPainter& painter, const HeatmapFigure& figure, const HeatmapLayout& layout, const Theme& theme,
                 const QImage& image)
{
    if (figure.strip.isEmpty()) {
        painter.drawImage(layout.picture, image);
        return;
    }
    painter.save();
    painter.translate(layout.picture.topLeft());
    paintSteps(painter, figure.strip, layout.steps, theme);
    painter.restore();
}

void paintWords(QPainter& painter, const HeatmapFigure& figure, const HeatmapLayout& layout, const Theme& theme)
{
    if (figure.box) {
        paintFigureBox(painter, *figure.box, layout.picture.topLeft(), layout.pixel);
    }
    if (figure.wipe) {
        paintWipe(painter, *figure.wipe, layout.picture, layout.pixel, theme);
    }
    if (figure.hasBar) {
        paintColorBar(painter, figure.bar, layout.bar, theme);
    }
    if (!figure.caption.isEmpty()) {
        painter.setFont(fonts::label());
        painter.setPen(theme[Role::Text2]);
        const QString shown =
            QFontMetricsF(fonts::label()).elidedText(figure.caption, Qt::ElideMiddle, layout.caption.width());
        painter.drawText(layout.caption, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine, shown);
    }
}

} // namespace

void paintFigureBox(QPainter& painter, const QRect& box, const QPointF& corner, double pixel)
{
    const Theme& light = Theme::of(ThemeKind::Light);
    const QRectF framed(corner + QPointF(box.topLeft()) * pixel, QSizeF(box.size()) * pixel);
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(light[Role::Base], 1));
    painter.drawRect(framed.adjusted(-2.5, -2.5, 1.5, 1.5));
    painter.setPen(QPen(light[Role::Text], 1));
    painter.drawRect(framed.adjusted(-1.5, -1.5, 0.5, 0.5));
    painter.restore();
}

QImage heatmapOnly(const Plane& plane, const Scale& scale, const ColorMap& map)
{
    QImage image(plane.width, plane.height, QImage::Format_ARGB32);
    std::size_t i = 0;
    for (int y = 0; y < plane.height; ++y) {
        auto* row = reinterpret_cast<QRgb*>(image.scanLine(y));
        for (int x = 0; x < plane.width; ++x, ++i) {
            const double v = plane.values[i];
            row[x] = std::isnan(v) ? qRgba(0, 0, 0, 0) : map.at(scale.toUnit(v));
        }
    }
    return image;
}

QImage heatmapOver(const Plane& plane, const Scale& scale, const ColorMap& map, const QImage& picture)
{
    if (picture.isNull() || plane.isEmpty()) {
        return heatmapOnly(plane, scale, map);
    }
    const QImage grey = picture
                            .scaled(plane.width, plane.height, Qt::IgnoreAspectRatio,
                                    picture.width() > plane.width ? Qt::SmoothTransformation : Qt::FastTransformation)
                            .convertToFormat(QImage::Format_RGB32);
    QImage image(plane.width, plane.height, QImage::Format_RGB32);
    std::size_t i = 0;
    for (int y = 0; y < plane.height; ++y) {
        const auto* from = reinterpret_cast<const QRgb*>(grey.constScanLine(y));
        auto* to = reinterpret_cast<QRgb*>(image.scanLine(y));
        for (int x = 0; x < plane.width; ++x, ++i) {
            const double luma = (0.299 * qRed(from[x]) + 0.587 * qGreen(from[x]) + 0.114 * qBlue(from[x])) / 255;
            const int ground = static_cast<int>(std::lround(255 * (kLift + (1 - kLift) * luma)));
            const double unit = scale.toUnit(plane.values[i]);
            const double opacity = std::min(1.0, 1.25 * std::sqrt(std::abs(unit)));
            const QRgb cover = map.at(unit);
            to[x] = qRgb(mixed(ground, qRed(cover), opacity), mixed(ground, qGreen(cover), opacity),
                         mixed(ground, qBlue(cover), opacity));
        }
    }
    return image;
}

int HeatmapWipe::column() const
{
    return std::clamp(static_cast<int>(std::lround(place * plane.width)), 0, plane.width);
}

QImage figureImage(const HeatmapFigure& figure)
{
    QImage image = imageOf(figure, figure.plane, figure.picture);
    if (figure.wipe && figure.wipe->column() < image.width()) {
        const int column = figure.wipe->column();
        const QImage other = imageOf(figure, figure.wipe->plane, figure.wipe->picture).convertToFormat(image.format());
        for (int y = 0; y < std::min(image.height(), other.height()); ++y) {
            const auto* from = reinterpret_cast<const QRgb*>(other.constScanLine(y));
            std::copy(from + column, from + image.width(), reinterpret_cast<QRgb*>(image.scanLine(y)) + column);
        }
    }
    return image;
}

void paintWipe(QPainter& painter, const HeatmapWipe& wipe, const QRectF& picture, double pixel, const Theme& theme)
{
    const double x = std::floor(picture.left() + wipe.column() * pixel) + 0.5;
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme[Role::Base], 3));
    painter.drawLine(QPointF(x, picture.top()), QPointF(x, picture.bottom()));
    painter.setPen(QPen(theme[Role::Text], 1));
    painter.drawLine(QPointF(x, picture.top()), QPointF(x, picture.bottom()));
    painter.setFont(fonts::label());
    paintPlate(painter, wipe.hereName, {picture.topLeft(), QPointF(x, picture.bottom())}, Qt::AlignRight, theme);
    paintPlate(painter, wipe.name, {QPointF(x, picture.top()), picture.bottomRight()}, Qt::AlignLeft, theme);
    painter.restore();
}

double fittingPixel(const HeatmapFigure& figure, const QSizeF& area)
{
    if (figure.plane.isEmpty()) {
        return 1;
    }
    const QSizeF room = area - frameSize(figure);
    const int across = figure.plane.width * (hasTwoPictures(figure) ? 2 : 1);
    const double exact = std::min(room.width() / across, room.height() / figure.plane.height);
    return exact >= 1 ? std::floor(exact) : std::max(exact, 1e-3);
}

HeatmapLayout layoutFigure(const HeatmapFigure& figure, double pixel)
{
    HeatmapLayout layout;
    layout.pixel = pixel;
    QSizeF image(figure.plane.width * pixel, figure.plane.height * pixel);
    if (!figure.strip.isEmpty()) {
        layout.steps = layoutSteps(figure.strip, kShortestSide);
        image = sizeOfSteps(layout.steps).expandedTo(QSizeF(0, figure.hasBar ? kLowestBar : 0));
    }
    double x = 0;
    if (hasTwoPictures(figure)) {
        layout.beside = QRectF(QPointF(), image);
        x = image.width() + kPictureGap;
    }
    layout.picture = QRectF(QPointF(x, 0), image);
    if (figure.hasBar) {
        const QRectF area(layout.picture.right() + kPictureGap, 0, colorBarWidth(figure.bar), image.height());
        layout.bar = layoutColorBar(figure.bar, area);
    }
    const QSizeF room = frameSize(figure);
    layout.size = QSizeF(image.width() * (hasTwoPictures(figure) ? 2 : 1), image.height()) + room;
    if (!figure.caption.isEmpty()) {
        const double line = std::ceil(QFontMetricsF(fonts::label()).height());
        layout.caption = QRectF(0, image.height() + 4, layout.size.width(), line);
    }
    return layout;
}

void paintFigure(QPainter& painter, const HeatmapFigure& figure, const HeatmapLayout& layout, const Theme& theme)
{
    painter.save();
    painter.setRenderHint(QPainter::SmoothPixmapTransform, layout.pixel < 1 || figure.isSmooth);
    painter.setRenderHint(QPainter::Antialiasing, false);
    paintValues(painter, figure, layout, theme, figureImage(figure));
    if (!layout.beside.isEmpty()) {
        painter.setRenderHint(QPainter::SmoothPixmapTransform, layout.pixel < 1);
        painter.drawImage(layout.beside, figure.picture);
    }
    paintWords(painter, figure, layout, theme);
    painter.restore();
}

QImage renderFigure(const HeatmapFigure& figure, int pixel)
{
    const int length = wantedPixel(figure, pixel);
    const Theme& light = Theme::of(ThemeKind::Light);
    if (!needsText(figure) && !hasTwoPictures(figure) && !figure.box && figure.strip.isEmpty()) {
        return enlarged(figureImage(figure), length, figure.isSmooth).convertToFormat(QImage::Format_RGB32);
    }
    const HeatmapLayout layout = layoutFigure(figure, length);
    const double margin = needsText(figure) ? kPictureGap : 0;
    QImage image((layout.size + QSizeF(2 * margin, 2 * margin)).toSize(), QImage::Format_RGB32);
    image.fill(light[Role::Base]);
    QPainter painter(&image);
    painter.translate(margin, margin);
    paintFigure(painter, figure, layout, light);
    return image;
}

base::Result<void> writeFigure(const std::filesystem::path& path, const HeatmapFigure& figure, int pixel)
{
    const QString ending = QString::fromStdString(path.extension().string()).toLower();
    if (ending == QLatin1String(".png") || ending == QLatin1String(".jpg")) {
        const base::MemoryWatch memory;
        const QImage picture = renderFigure(figure, pixel);
        RETRO_CHECK(memory.check(path.string()));
        return writePicture(path, picture, figure.texts);
    }
    const int length = wantedPixel(figure, pixel);
    const HeatmapLayout layout = layoutFigure(figure, length);
    const double margin = needsText(figure) ? kPictureGap : 0;
    const QSizeF whole = layout.size + QSizeF(2 * margin, 2 * margin);
    const auto paint = [&](QPainter& painter) {
        const Theme& light = Theme::of(ThemeKind::Light);
        painter.fillRect(QRectF(QPointF(), whole), light[Role::Base]);
        painter.translate(margin, margin);
        // Vector formats leave smoothing to the viewer: hand them pixels that are already large.
        paintValues(painter, figure, layout, light, enlarged(figureImage(figure), length, figure.isSmooth));
        if (!layout.beside.isEmpty()) {
            painter.drawImage(layout.beside, enlarged(figure.picture, length, false));
        }
        paintWords(painter, figure, layout, light);
    };
    return paintToFile(path, whole, paint, figure.caption, figure.texts);
}

} // namespace retro::views
