// SPDX-License-Identifier: Apache-2.0
#include "views/graph/smallpictures.h"

#include "views/common/jobrunner.h"
#include "views/common/paint/colormap.h"
#include "views/common/paint/heatmapimage.h"
#include "views/common/paint/plane.h"

#include <QPainter>

#include <algorithm>
#include <cmath>
#include <utility>

namespace retro::views
{

namespace
{

constexpr std::size_t kMostBytes = 64U << 20;
constexpr std::size_t kPerDelivery = 4; // pictures that reach the GUI thread at once
constexpr double kShownShare = 99.9;    // per cent of the elements that a scale covers
constexpr std::size_t kImageRank = 4;
constexpr std::int64_t kMostBars = 12;

/// Means of areas, so that no side is longer than `side`.
Plane reduced(Plane plane, int side)
{
    const int step = (std::max(plane.width, plane.height) + side - 1) / side;
    if (step <= 1) {
        return plane;
    }
    Plane out{(plane.width + step - 1) / step, (plane.height + step - 1) / step, {}};
    out.values.assign(static_cast<std::size_t>(out.width) * static_cast<std::size_t>(out.height), 0);
    std::vector<int> counts(out.values.size(), 0);
    for (int y = 0; y < plane.height; ++y) {
        for (int x = 0; x < plane.width; ++x) {
            const double value = plane.at(x, y);
            const auto at = static_cast<std::size_t>(y / step) * static_cast<std::size_t>(out.width) +
                            static_cast<std::size_t>(x / step);
            if (std::isfinite(value)) {
                out.values[at] += value;
                ++counts[at];
            }
        }
    }
    for (std::size_t i = 0; i < counts.size(); ++i) {
        out.values[i] = counts[i] > 0 ? out.values[i] / counts[i] : 0;
    }
    return out;
}

Plane planeOf(const tensor::Tensor& relevance)
{
    if (relevance.shape().size() == kImageRank) {
        if (auto plane = channelSum(relevance)) {
            return std::move(*plane);
        }
    }
    return sliceGrid(relevance, 1, 1).plane; // tokens × channels, a block of numbers, or a first slice
}

/// Few numbers in a row, such as the scores of classes: a bar for each, as long as it is large, in the colour of its
/// sign.
QImage bars(const tensor::Tensor& row, int side)
{
    static const ColorMap map;
    const auto count = static_cast<int>(row.size());
    double most = 0;
    for (int i = 0; i < count; ++i) {
        const double value = row.at(i);
        most = std::max(most, std::isfinite(value) ? std::abs(value) : 0);
    }
    QImage image(side, side, QImage::Format_ARGB32_Premultiplied);
    image.fill(map.at(0));
    QPainter painter(&image);
    const int gap = side / (6 * count);
    const int longest = side - 2 * gap - 2;
    for (int i = 0; i < count; ++i) {
        const double share = most > 0 && std::isfinite(row.at(i)) ? row.at(i) / most : 0;
        if (share == 0) {
            continue;
        }
        const int length = std::max(1, static_cast<int>(std::lround(std::abs(share) * longest)));
        const int top = i * side / count + gap;
        painter.fillRect(gap + 1, top, length, std::max(1, (i + 1) * side / count - gap - top),
                         QColor::fromRgb(map.at(share > 0 ? 1 : -1)));
    }
    return image;
}

bool isShortRow(const tensor::Tensor& tensor)
{
    const tensor::Shape& shape = tensor.shape();
    return tensor.size() > 1 && tensor.size() <= kMostBars && shape.size() <= 2 && shape.back() == tensor.size();
}

} // namespace

QImage smallPicture(const tensor::Tensor& relevance, int side)
{
    if (!relevance.isValid() || tensor::elementCount(relevance.shape()) == 0) {
        return {};
    }
    if (isShortRow(relevance)) {
        return bars(relevance, side);
    }
    const Plane plane = reduced(planeOf(relevance), side);
    static const ColorMap map;
    return plane.isEmpty() ? QImage() : heatmapOnly(plane, symmetricScale(plane.values, kShownShare), map);
}

SmallPictures::SmallPictures(QObject* parent) : QObject(parent), m_jobs(new JobRunner(this)) {}

SmallPictures::~SmallPictures() = default;

void SmallPictures::setRun(std::shared_ptr<const trace::Run> run)
{
    if (run == m_run) {
        return;
    }
    m_jobs->cancel();
    m_run = std::move(run);
    m_made.clear();
    m_wanted.clear();
    m_bytes = 0;
}

bool SmallPictures::canShow(base::HandleId handle) const
{
    return m_run != nullptr && handle.isValid() && handle.index() < m_run->tensors.size() &&
           m_run->tensors[handle.index()].isValid();
}

bool SmallPictures::isBusy() const { return !m_wanted.empty() || m_jobs->isRunning(); }

const QImage* SmallPictures::picture(base::HandleId handle, int side)
{
    const std::uint64_t key = keyOf(handle, side);
    const auto found = m_made.find(key);
    if (found != m_made.end()) {
        found->second.used = ++m_clock;
        return found->second.image.isNull() ? nullptr : &found->second.image;
    }
    if (!canShow(handle)) {
        return nullptr;
    }
    if (m_isImmediate) {
        keep(key, smallPicture(m_run->tensors[handle.index()], side));
        return picture(handle, side);
    }
    if (std::ranges::find(m_wanted, key) == m_wanted.end()) {
        m_wanted.push_back(key);
    }
    return nullptr;
}

void SmallPictures::endRound()
{
    if (!m_wanted.empty() && !m_jobs->isRunning()) {
        start();
    }
}

void SmallPictures::start()
{
    std::vector<std::uint64_t> batch;
    while (!m_wanted.empty() && batch.size() < kPerDelivery) {
        batch.push_back(m_wanted.front());
        m_wanted.erase(m_wanted.begin());
    }
    m_jobs->start([this, run = m_run, batch](const std::stop_token& stop) -> JobRunner::Delivery {
        auto images = std::make_shared<std::vector<QImage>>();
        for (const std::uint64_t key : batch) {
            if (stop.stop_requested()) {
                return {};
            }
            const auto handle = static_cast<std::size_t>(key >> 32U);
            images->push_back(smallPicture(run->tensors[handle], static_cast<int>(key & 0xFFFFFFFFU)));
        }
        return [this, batch, images] {
            for (std::size_t i = 0; i < images->size(); ++i) {
                keep(batch[i], std::move((*images)[i]));
            }
            emit arrived();
            QMetaObject::invokeMethod(this, &SmallPictures::endRound, Qt::QueuedConnection);
        };
    });
}

void SmallPictures::keep(std::uint64_t key, QImage image)
{
    m_bytes += static_cast<std::size_t>(image.sizeInBytes());
    m_made[key] = {std::move(image), ++m_clock};
    while (m_bytes > kMostBytes && m_made.size() > 1) {
        const auto oldest = std::ranges::min_element(m_made, {}, [](const auto& each) { return each.second.used; });
        m_bytes -= static_cast<std::size_t>(oldest->second.image.sizeInBytes());
        m_made.erase(oldest);
    }
}

} // namespace retro::views

#include "moc_smallpictures.cpp"
