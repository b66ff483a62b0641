// SPDX-License-Identifier: Apache-2.0
#include "views/heatmap/pickedplace.h"

#include "views/heatmap/heatmaptranslation.h"
#include "views/heatmap/volume.h"

#include <QRect>

#include <algorithm>

namespace retro::views
{

namespace
{

using Place = std::vector<std::int64_t>;

bool hasChannelsLast(const RunModel& model) { return model.input().layout == QLatin1String("NHWC"); }

/// A grid of slices, or a row, as sliceGrid() lays a tensor out.
std::optional<Place> placeInGrid(const tensor::Shape& shape, const SliceGrid& grid, const QPoint& point)
{
    const std::size_t first = shape.size() > 1 && shape.front() == 1 ? 1 : 0; // the batch axis is dropped
    const std::size_t axes = shape.size() - first;
    Place place(shape.size(), 0);
    if (axes < 2) {
        const std::int64_t flat = std::int64_t{point.y()} * grid.plane.width + point.x();
        if (axes == 0 || flat >= shape.back()) {
            return std::nullopt;
        }
        place.back() = flat;
        return place;
    }
    if (grid.sliceWidth <= 0 || grid.sliceHeight <= 0) {
        return std::nullopt;
    }
    const int x = point.x() % (grid.sliceWidth + 1);
    const int y = point.y() % (grid.sliceHeight + 1);
    std::int64_t slice =
        std::int64_t{point.y() / (grid.sliceHeight + 1)} * grid.columns + point.x() / (grid.sliceWidth + 1);
    if (x >= grid.sliceWidth || y >= grid.sliceHeight || slice >= grid.slices) {
        return std::nullopt; // a line between slices
    }
    place[shape.size() - 1] = x;
    place[shape.size() - 2] = y;
    for (std::size_t axis = shape.size() - 2; axis-- > first;) {
        place[axis] = slice % shape[axis];
        slice /= shape[axis];
    }
    return place;
}

bool hasSameVoxels(const tensor::Shape& a, const tensor::Shape& b, bool isChannelsLast)
{
    const std::size_t first = isChannelsLast ? 1 : 2;
    return isVolumeShape(a, isChannelsLast) && isVolumeShape(b, isChannelsLast) &&
           std::equal(a.begin() + static_cast<std::ptrdiff_t>(first),
                      a.begin() + static_cast<std::ptrdiff_t>(first) + 3,
                      b.begin() + static_cast<std::ptrdiff_t>(first));
}

/// What a mark at a point covers of an input of this shape; nothing where the point is beside its elements. `isOwn`:
/// the input itself is drawn.
std::optional<Place> coveredPlace(const RunModel& model, const HeatmapContent& content, const QSize& size,
                                  const tensor::Shape& shape, bool isOwn, const QPoint& point)
{
    if (content.isPicture) { // pixels of the input, whatever layer is shown over it
        return hasChannelsLast(model) ? Place{0, point.y(), point.x(), -1} : Place{0, -1, point.y(), point.x()};
    }
    if (content.isSteps) {
        Place place(shape.size(), -1);
        place[0] = 0;
        place[1] = point.x();
        return place;
    }
    if (content.isVolume) { // slices of the input, whatever layer of its size is shown
        if (const auto voxel = voxelAt(shape, content.grid, content.slice, point, hasChannelsLast(model))) {
            return voxel;
        }
    }
    return isOwn ? pickedPlace(model, content, size, point) : std::nullopt;
}

/// The elements at a place, where -1 stands for all of an axis.
std::vector<std::int64_t> elementsAt(const tensor::Shape& shape, const Place& place)
{
    std::vector<std::int64_t> flats{0};
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        std::vector<std::int64_t> next;
        const std::int64_t begin = place[axis] < 0 ? 0 : place[axis];
        const std::int64_t end = place[axis] < 0 ? shape[axis] : place[axis] + 1;
        for (const std::int64_t flat : flats) {
            for (std::int64_t i = begin; i < std::min(end, shape[axis]); ++i) {
                next.push_back(flat * shape[axis] + i);
            }
        }
        flats = std::move(next);
    }
    return flats;
}

/// What is marked: the least box around it, and how many places.
struct MarkedArea
{
    QRect box;
    std::int64_t count = 0;
};

MarkedArea markedArea(const QSize& size, const Marks& marks)
{
    MarkedArea area;
    for (int y = 0; y < size.height(); ++y) {
        for (int x = 0; x < size.width(); ++x) {
            if (marks[static_cast<std::size_t>(y) * size.width() + x] != 0) {
                area.box = area.box.united(QRect(x, y, 1, 1));
                ++area.count;
            }
        }
    }
    return area;
}

} // namespace

std::optional<Place> pickedPlace(const RunModel& model, const HeatmapContent& content, const QSize& size,
                                 const QPoint& point)
{
    if (!content.relevance.isValid() || content.plane.isEmpty() || size.isEmpty() || point.x() < 0 || point.y() < 0 ||
        point.x() >= size.width() || point.y() >= size.height()) {
        return std::nullopt;
    }
    const tensor::Shape& shape = content.relevance.shape();
    const std::int64_t x = std::int64_t{point.x()} * content.plane.width / size.width();
    const std::int64_t y = std::int64_t{point.y()} * content.plane.height / size.height();
    if (content.isPicture) {
        return hasChannelsLast(model) ? Place{0, y, x, -1} : Place{0, -1, y, x};
    }
    if (content.isVolume) {
        return voxelAt(shape, content.grid, content.slice, QPoint(static_cast<int>(x), static_cast<int>(y)),
                       hasChannelsLast(model));
    }
    if (content.isSteps) {
        return shape.size() == 2 ? Place{0, x} : Place{0, x, -1};
    }
    return placeInGrid(shape, content.grid, QPoint(static_cast<int>(x), static_cast<int>(y)));
}

base::ValueId markedInput(const RunModel& model, const HeatmapContent& content, const QSize& size)
{
    if (!content.value.isValid() || !content.relevance.isValid()) {
        return {};
    }
    if (model.graph().isInput(model.graph().nodeOf(content.value))) {
        return content.value;
    }
    for (const base::ValueId input : model.graph().inputs()) {
        const tensor::Shape& shape = model.run().shapes[input.index()];
        if (!model.relevanceStep(model.graph().nodeOf(input))) {
            continue; // it carries no relevance
        }
        const std::size_t rows = hasChannelsLast(model) ? 1 : 2;
        const bool isUnder =
            content.isPicture && shape.size() == 4 && shape[rows] == size.height() && shape[rows + 1] == size.width();
        const bool isVoxel =
            content.isVolume && hasSameVoxels(shape, content.relevance.shape(), hasChannelsLast(model));
        const bool isStep = content.isSteps && shape.size() >= 2 && shape[1] == size.width();
        if (isUnder || isStep || isVoxel) {
            return input;
        }
    }
    return {};
}

tensor::Tensor markedMask(const RunModel& model, const HeatmapContent& content, const QSize& size, const Marks& marks)
{
    const base::ValueId input = markedInput(model, content, size);
    if (!input.isValid() || marks.size() != static_cast<std::size_t>(size.width()) * size.height()) {
        return {};
    }
    const tensor::Shape& shape = model.run().shapes[input.index()];
    std::vector<double> mask(static_cast<std::size_t>(tensor::elementCount(shape)), 0);
    const bool isOwn = input == content.value;
    for (int y = 0; y < size.height(); ++y) {
        for (int x = 0; x < size.width(); ++x) {
            if (marks[static_cast<std::size_t>(y) * size.width() + x] == 0) {
                continue;
            }
            const std::optional<Place> place = coveredPlace(model, content, size, shape, isOwn, {x, y});
            for (const std::int64_t flat : place ? elementsAt(shape, *place) : std::vector<std::int64_t>()) {
                mask[static_cast<std::size_t>(flat)] = 1;
            }
        }
    }
    return tensor::Tensor::of<double>(shape, mask);
}

QString markedText(const HeatmapContent& content, const QSize& size, const Marks& marks)
{
    const auto [box, count] = markedArea(size, marks);
    if (count == 0) {
        return {};
    }
    const bool isFull = count == std::int64_t{box.width()} * box.height();
    if (content.isSteps) {
        return isFull && box.width() > 1 ? heatmapText("steps %1 to %2").arg(box.left() + 1).arg(box.right() + 1)
               : count == 1              ? heatmapText("step %1").arg(box.left() + 1)
                                         : heatmapText("%1 steps").arg(count);
    }
    if (content.isVolume) {
        return heatmapText("%1 voxels").arg(count);
    }
    return isFull ? heatmapText("box %1:%2,%3:%4")
                        .arg(box.top())
                        .arg(box.bottom() + 1)
                        .arg(box.left())
                        .arg(box.right() + 1)
                  : heatmapText("%1 pixels").arg(count);
}

} // namespace retro::views
