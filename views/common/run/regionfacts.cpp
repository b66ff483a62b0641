// SPDX-License-Identifier: Apache-2.0
#include "views/common/run/regionfacts.h"

#include "core/ops/algebra.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace retro::views
{

const RegionPart* RegionFacts::partOf(base::ValueId value) const
{
    const auto found = std::ranges::find(parts, value, &RegionPart::value);
    return found == parts.end() ? nullptr : &*found;
}

std::optional<double> RegionFacts::shareOf(base::ValueId value) const
{
    const RegionPart* part = partOf(value);
    return total == 0 ? std::nullopt : std::optional(part == nullptr ? 0.0 : part->total / total);
}

tensor::Tensor RegionFacts::product(base::ValueId value) const
{
    const std::size_t at = value.index();
    if (!value.isValid() || at >= weights.size() || at >= relevance.size() || !weights[at].isValid() ||
        !relevance[at].isValid()) {
        return {};
    }
    return ops::algebra::multiply(relevance[at], ops::algebra::laidOutAs(weights[at], relevance[at]));
}

namespace
{

/// How an axis divides a tensor: `outer` × `extent` × `inner` elements.
struct AxisParts
{
    std::size_t outer = 1;
    std::size_t extent = 1;
    std::size_t inner = 1;

    /// The first of the `inner` elements at an index of the axis.
    [[nodiscard]] std::size_t first(std::size_t before, std::size_t index) const
    {
        return (before * extent + index) * inner;
    }
};

AxisParts partsAlong(const tensor::Shape& shape, std::size_t axis)
{
    AxisParts parts;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        parts.outer *= i < axis ? static_cast<std::size_t>(shape[i]) : 1;
        parts.inner *= i > axis ? static_cast<std::size_t>(shape[i]) : 1;
    }
    parts.extent = static_cast<std::size_t>(shape[axis]);
    return parts;
}

/// The sums of an index of the axis, in the region and over all that arrived.
RegionChannel channelAt(std::size_t index, const AxisParts& parts, std::span<const double> inRegion,
                        std::span<const double> all)
{
    RegionChannel channel{static_cast<std::int64_t>(index), 0, 0};
    for (std::size_t o = 0; o < parts.outer; ++o) {
        const std::size_t from = parts.first(o, index);
        for (std::size_t i = from; i < from + parts.inner; ++i) {
            channel.part += inRegion[i];
            channel.relevance += all[i];
        }
    }
    return channel;
}

/// Over a picture of so many columns and rows: what of the region's relevance lies where.
Plane mapAt(std::size_t index, const AxisParts& parts, std::span<const double> inRegion, int width, int height)
{
    Plane map{width, height, std::vector<double>(parts.inner, 0)};
    for (std::size_t o = 0; o < parts.outer; ++o) {
        const std::size_t from = parts.first(o, index);
        for (std::size_t i = 0; i < parts.inner; ++i) {
            map.values[i] += inRegion[from + i];
        }
    }
    return map;
}

} // namespace

std::vector<RegionChannel> rankedAlong(const RegionFacts& region, base::ValueId value, std::size_t axis,
                                       std::size_t most)
{
    const tensor::Tensor product = region.product(value);
    if (!product.isValid() || axis >= product.rank()) {
        return {};
    }
    const tensor::Tensor parts = product.to(tensor::DType::Float64).contiguous();
    const tensor::Tensor arrived = region.relevance[value.index()].to(tensor::DType::Float64).contiguous();
    const auto part = parts.span<double>();
    const auto all = arrived.span<double>();
    const tensor::Shape& shape = parts.shape();
    const AxisParts divided = partsAlong(shape, axis);
    std::vector<RegionChannel> channels;
    for (std::size_t index = 0; index < divided.extent; ++index) {
        channels.push_back(channelAt(index, divided, part, all));
    }
    std::ranges::stable_sort(
        channels, [](const RegionChannel& a, const RegionChannel& b) { return std::abs(a.part) > std::abs(b.part); });
    channels.resize(std::min(most, channels.size()));
    if (shape.size() != 4 || axis != 1) {
        return channels;
    }
    for (RegionChannel& channel : channels) {
        channel.map = mapAt(static_cast<std::size_t>(channel.index), divided, part, static_cast<int>(shape[3]),
                            static_cast<int>(shape[2]));
    }
    return channels;
}

void RegionOverlay::set(RegionPointer region)
{
    if (region != m_region) {
        m_region = std::move(region);
        emit changed();
    }
}

RegionPointer RegionOverlay::of(const std::shared_ptr<const trace::Run>& run) const
{
    return m_region && m_region->run == run ? m_region : nullptr;
}

} // namespace retro::views

#include "moc_regionfacts.cpp"
