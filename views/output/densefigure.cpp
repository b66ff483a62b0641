// SPDX-License-Identifier: Apache-2.0
#include "views/output/densefigure.h"

#include "core/trace/targetplace.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/picture.h"
#include "views/common/paint/theme.h"

#include <QPainter>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace retro::views
{

namespace
{

constexpr double kMaskOpacity = 0.45;
constexpr double kLargestCell = 40;
constexpr std::int64_t kMostElements = std::int64_t{1} << 22; ///< of an output that is drawn as a grid

/// The input of a run as a picture, where it is one as large as the mask.
QImage pictureUnder(const RunModel& model, const QSize& size)
{
    if (!model.input().isPicture || model.graph().inputs().empty()) {
        return {};
    }
    const tensor::Tensor* input = model.forwardValue(model.graph().inputs().front());
    if (input == nullptr) {
        return {};
    }
    const InputInfo& info = model.input();
    const QImage picture = pictureOfTensor(*input, info.scaleLow, info.scaleHigh, info.mean, info.deviation,
                                           info.layout == QLatin1String("NHWC"), info.channels == QLatin1String("BGR"));
    return picture.size() == size ? picture : picture.scaled(size);
}

/// Positive relevance by class, and all of it.
std::pair<std::vector<double>, double> positiveSums(const Plane& plane, const Segments& segments)
{
    std::vector<double> sums(static_cast<std::size_t>(segments.classes()), 0);
    double total = 0;
    for (int y = 0; y < plane.height; ++y) {
        for (int x = 0; x < plane.width; ++x) {
            const double positive = std::max(0.0, plane.at(x, y));
            total += positive;
            if (const int one = segments.classAt(x, y); one >= 0) {
                sums[static_cast<std::size_t>(one)] += positive;
            }
        }
    }
    return {std::move(sums), total};
}

/// What of the positive relevance of the input lies on each segment.
std::vector<SegmentShare> sharesOf(const RunModel& model, const Segments& segments)
{
    std::vector<SegmentShare> shares;
    const double all = static_cast<double>(segments.width()) * segments.height();
    for (const Segments::One& one : segments.found()) {
        shares.push_back({one.index, classLabel(model, one.index), static_cast<double>(one.places) / all, std::nullopt,
                          segments.asked() == one.index});
    }
    const base::ValueId input = model.graph().inputs().empty() ? base::ValueId() : model.graph().inputs().front();
    const tensor::Tensor* arrived = model.relevance(input);
    if (arrived == nullptr || arrived->rank() != 4) {
        return shares;
    }
    const auto plane = channelSum(*arrived, 0, model.input().layout == QLatin1String("NHWC"));
    if (!plane.ok() || plane->width != segments.width() || plane->height != segments.height()) {
        return shares;
    }
    const auto [sums, total] = positiveSums(*plane, segments);
    for (SegmentShare& share : shares) {
        share.share = total > 0 ? std::optional(sums[static_cast<std::size_t>(share.index)] / total) : std::nullopt;
    }
    return shares;
}

/// Indices along all axes of a cell of a grid of slices; none on the lines between them.
std::optional<std::vector<std::int64_t>> indicesAt(const DenseFigure& figure, const QPoint& cell)
{
    const SliceGrid& grid = figure.grid;
    if (grid.sliceWidth <= 0 || grid.sliceHeight <= 0 || cell.x() < 0 || cell.y() < 0 || cell.x() >= grid.plane.width ||
        cell.y() >= grid.plane.height) {
        return std::nullopt;
    }
    const int x = cell.x() % (grid.sliceWidth + 1);
    const int y = cell.y() % (grid.sliceHeight + 1);
    std::int64_t slice =
        std::int64_t{cell.y() / (grid.sliceHeight + 1)} * grid.columns + cell.x() / (grid.sliceWidth + 1);
    if (x >= grid.sliceWidth || y >= grid.sliceHeight || slice >= grid.slices) {
        return std::nullopt;
    }
    std::vector<std::int64_t> indices(figure.shape.size(), 0);
    indices[indices.size() - 1] = x;
    indices[indices.size() - 2] = y;
    for (std::size_t axis = indices.size() - 2; axis-- > 1;) {
        indices[axis] = slice % figure.shape[axis];
        slice /= figure.shape[axis];
    }
    return indices;
}

/// The cell of the element that the run explains.
std::optional<QPoint> cellOf(const DenseFigure& figure, std::int64_t position)
{
    const SliceGrid& grid = figure.grid;
    std::vector<std::int64_t> indices = trace::indicesInSample(figure.shape, position);
    if (indices.size() < 2 || grid.sliceWidth <= 0) {
        return std::nullopt;
    }
    std::int64_t slice = 0;
    for (std::size_t axis = 0; axis + 2 < indices.size(); ++axis) {
        slice = slice * figure.shape[axis + 1] + indices[axis];
    }
    if (slice >= grid.slices) {
        return std::nullopt;
    }
    return QPoint(static_cast<int>(slice % grid.columns) * (grid.sliceWidth + 1) + static_cast<int>(indices.back()),
                  static_cast<int>(slice / grid.columns) * (grid.sliceHeight + 1) +
                      static_cast<int>(indices[indices.size() - 2]));
}

QImage maskOf(const Segments& segments, const QImage& picture)
{
    const QColor paper = Theme::of(ThemeKind::Light)[Role::Base];
    QImage image(segments.width(), segments.height(), QImage::Format_RGB32);
    for (int y = 0; y < segments.height(); ++y) {
        auto* line = reinterpret_cast<QRgb*>(image.scanLine(y));
        for (int x = 0; x < segments.width(); ++x) {
            const int one = segments.classAt(x, y);
            const QColor tint = one < 0 ? paper : colourOfClass(one);
            const QRgb under = picture.isNull() ? paper.rgb() : picture.pixel(x, y);
            const double share = picture.isNull() ? 0.7 : kMaskOpacity;
            const auto mixed = [share](int a, int b) { return static_cast<int>(a * (1 - share) + b * share); };
            line[x] = qRgb(mixed(qRed(under), tint.red()), mixed(qGreen(under), tint.green()),
                           mixed(qBlue(under), tint.blue()));
        }
    }
    return image;
}

/// A place inside the segment for its name: the pixel nearest to the middle of its pixels.
std::optional<QPoint> middleOf(const Segments& segments, std::int64_t wanted)
{
    double sumX = 0;
    double sumY = 0;
    double count = 0;
    const auto forEach = [&](const auto& take) {
        for (int y = 0; y < segments.height(); ++y) {
            for (int x = 0; x < segments.width(); ++x) {
                if (segments.classAt(x, y) == wanted) {
                    take(x, y);
                }
            }
        }
    };
    forEach([&](int x, int y) {
        sumX += x;
        sumY += y;
        ++count;
    });
    std::optional<QPoint> best;
    double nearest = 0;
    forEach([&](int x, int y) {
        const double away = std::hypot(x - sumX / count, y - sumY / count);
        if (!best || away < nearest) {
            nearest = away;
            best = QPoint(x, y);
        }
    });
    return best;
}

void paintNames(QPainter& painter, const DenseFigure& figure, const QRectF& box, double pixel, const Theme& light)
{
    const auto& found = figure.segments->found();
    painter.setFont(fonts::small());
    for (std::size_t i = 0; i < found.size() && i < static_cast<std::size_t>(figure.names.size()); ++i) {
        const auto middle = middleOf(*figure.segments, found[i].index);
        const QString name = figure.names[static_cast<qsizetype>(i)];
        const double width = fonts::widthOf(fonts::small(), name) + 8;
        const double height = fonts::px(15);
        if (!middle || width > box.width() / 2 || height > box.height() / 4) {
            continue;
        }
        QRectF label(0, 0, width, height);
        label.moveCenter(box.topLeft() + (QPointF(*middle) + QPointF(0.5, 0.5)) * pixel);
        painter.setPen(Qt::NoPen);
        painter.setBrush(light[Role::Base]);
        painter.drawRoundedRect(label, 2, 2);
        painter.setPen(light[Role::Text]);
        painter.drawText(label, Qt::AlignCenter, name);
    }
}

void paintMask(QPainter& painter, const DenseFigure& figure, const QRectF& box)
{
    const Segments& segments = *figure.segments;
    const Theme& light = Theme::of(ThemeKind::Light); // the ground is a picture
    const double pixel = box.width() / segments.width();
    painter.setRenderHint(QPainter::SmoothPixmapTransform, pixel < 1);
    painter.drawImage(box, maskOf(segments, figure.picture));
    const auto strokes = [&](const QList<QLineF>& lines, const QPen& pen) {
        QList<QLineF> placed;
        for (const QLineF& line : lines) {
            placed.append(QLineF(box.topLeft() + line.p1() * pixel, box.topLeft() + line.p2() * pixel));
        }
        painter.setPen(QPen(light[Role::Base], pen.widthF() + 1.5));
        painter.drawLines(placed);
        painter.setPen(pen);
        painter.drawLines(placed);
    };
    strokes(segments.outline(std::nullopt), QPen(light[Role::Text2], 1, Qt::DashLine));
    if (segments.asked()) {
        strokes(segments.outline(segments.asked()), QPen(light[Role::Accent], 2.5));
    }
    paintNames(painter, figure, box, pixel, light);
}

void paintGrid(QPainter& painter, const DenseFigure& figure, const QRectF& box, const Theme& theme)
{
    const Plane& plane = figure.grid.plane;
    const ColorMap map;
    QImage image(plane.width, plane.height, QImage::Format_ARGB32);
    for (int y = 0; y < plane.height; ++y) {
        auto* line = reinterpret_cast<QRgb*>(image.scanLine(y));
        for (int x = 0; x < plane.width; ++x) {
            const double value = plane.at(x, y);
            line[x] = std::isnan(value) ? qRgba(0, 0, 0, 0) : map.at(figure.scale.toUnit(value));
        }
    }
    const QSizeF cell = cellSize(figure, box);
    painter.setRenderHint(QPainter::SmoothPixmapTransform, std::min(cell.width(), cell.height()) < 1);
    painter.drawImage(box, image);
    if (figure.askedCell) {
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(theme[Role::Accent], 2));
        painter.drawRect(cellBox(figure, box, *figure.askedCell).adjusted(-1, -1, 1, 1));
    }
}

} // namespace

QColor colourOfClass(std::int64_t index)
{
    constexpr std::array<int, 8> kHues{210, 45, 0, 130, 285, 25, 175, 320};
    const auto at = static_cast<std::size_t>(index % 8);
    return QColor::fromHsv(kHues[at], 150, std::max(120, 235 - static_cast<int>(index / 8 % 4) * 35));
}

bool DenseFigure::isTable() const { return !hasSegments() && shape.size() == 3; }

QSizeF cellSize(const DenseFigure& figure, const QRectF& box)
{
    const QSize size = figure.size();
    return {box.width() / std::max(1, size.width()), box.height() / std::max(1, size.height())};
}

QRectF cellBox(const DenseFigure& figure, const QRectF& box, const QPoint& cell)
{
    const QSizeF one = cellSize(figure, box);
    return {box.topLeft() + QPointF(cell.x() * one.width(), cell.y() * one.height()), one};
}

QSize DenseFigure::size() const
{
    return hasSegments() ? QSize(segments->width(), segments->height()) : QSize(grid.plane.width, grid.plane.height);
}

QString DenseFigure::segmentAt(const QPoint& cell) const
{
    const bool isInside = hasSegments() && QRect(QPoint(), size()).contains(cell);
    const int one = isInside ? segments->classAt(cell.x(), cell.y()) : -1;
    return one < 0 ? QString() : prefix + QStringLiteral("segment=%1").arg(one);
}

QString DenseFigure::codeAt(const QPoint& cell) const
{
    if (hasSegments()) {
        const int one = QRect(QPoint(), size()).contains(cell) ? segments->classAt(cell.x(), cell.y()) : -1;
        return one < 0 ? QString()
                       : prefix + QStringLiteral("row=%1,column=%2,class=%3").arg(cell.y()).arg(cell.x()).arg(one);
    }
    const auto indices = indicesAt(*this, cell);
    if (!indices) {
        return {};
    }
    std::int64_t position = 0;
    for (std::size_t axis = 1; axis < indices->size(); ++axis) {
        position = position * shape[axis] + (*indices)[axis];
    }
    return QString::fromStdString(trace::placeCode(axes, shape, position));
}

DenseFigure denseFigure(const RunModel& model)
{
    DenseFigure figure;
    const base::ValueId explained = model.run().facts.targetValue;
    const base::ValueId mask = maskValue(model.run());
    const base::ValueId value = mask.isValid() ? mask : explained;
    const tensor::Tensor* output = value.isValid() ? model.forwardValue(value) : nullptr;
    if (output == nullptr || output->rank() < 3 || output->shape().front() < 1) {
        return figure;
    }
    figure.value = value;
    figure.prefix = value == explained ? QString() : model.label(value) + QLatin1Char(':');
    figure.shape = output->shape();
    figure.axes = trace::axisNames(model.graph(), value, output->rank());
    figure.segments = model.derived<Segments>();
    if (figure.hasSegments()) {
        for (const Segments::One& one : figure.segments->found()) {
            figure.names << classLabel(model, one.index);
        }
        figure.picture = pictureUnder(model, figure.size());
        figure.shares = sharesOf(model, *figure.segments);
        return figure;
    }
    if (!trace::isDense(figure.axes, figure.shape) || output->shape().front() != 1 || output->size() > kMostElements) {
        return figure;
    }
    figure.grid = sliceGrid(*output);
    figure.scale = symmetricScale(figure.grid.plane.values, 99.5);
    const auto& targets = model.run().facts.targetIndex;
    if (!targets.empty() && targets.front() >= 0) {
        figure.askedCell = cellOf(figure, targets.front());
    }
    return figure;
}

QRectF placeDense(const DenseFigure& figure, const QRectF& room)
{
    if (figure.isEmpty() || room.isEmpty()) {
        return {};
    }
    const QSizeF size = figure.size();
    const auto whole = [](double cell) { return cell > 1 ? std::floor(cell) : cell; };
    double across = std::min(room.width() / size.width(), kLargestCell);
    double down = std::min(room.height() / size.height(), kLargestCell);
    if (!figure.isTable()) {
        across = down = std::min(across, down);
    }
    const QSizeF drawn(size.width() * whole(across), size.height() * whole(down));
    return {QPointF(room.left() + (room.width() - drawn.width()) / 2, room.top()), drawn};
}

void paintDense(QPainter& painter, const DenseFigure& figure, const QRectF& box, const Theme& theme)
{
    if (box.isEmpty()) {
        return;
    }
    if (figure.hasSegments()) {
        paintMask(painter, figure, box);
    } else {
        paintGrid(painter, figure, box, theme);
    }
}

} // namespace retro::views
