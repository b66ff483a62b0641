// SPDX-License-Identifier: Apache-2.0
#include "views/common/run/regionfacts.h"

#include "core/ops/algebra.h"

#include <algorithm>
#include <cmath>

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
    std::size_t outer = 1;
    std::size_t inner = 1;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        outer *= i < axis ? static_cast<std::size_t>(shape[i]) : 1;
        inner *= i > axis ? static_cast<std::size_t>(shape[i]) : 1;
    }
    const auto extent = static_cast<std::size_t>(shape[axis]);
    std::vector<RegionChannel> channels;
    for (std::size_t index = 0; index < extent; ++index) {
        RegionChannel channel{static_cast<std::int64_t>(index), 0, 0};
        for (std::size_t o = 0; o < outer; ++o) {
            const std::size_t from = (o * extent + index) * inner;
            for (std::size_t i = from; i < from + inner; ++i) {
                channel.part += part[i];
                channel.relevance += all[i];
            }
        }
        channels.push_back(std::move(channel));
    }
    std::ranges::stable_sort(
        channels, [](const RegionChannel& a, const RegionChannel& b) { return std::abs(a.part) > std::abs(b.part); });
    channels.resize(std::min(most, channels.size()));
    if (shape.size() != 4 || axis != 1) {
        return channels;
    }
    for (RegionChannel& channel : channels) {
        channel.map = {static_cast<int>(shape[3]), static_cast<int>(shape[2]), std::vector<double>(inner, 0)};
        for (std::size_t o = 0; o < outer; ++o) {
            const std::size_t from = (o * extent + static_cast<std::size_t>(channel.index)) * inner;
            for (std::size_t i = 0; i < inner; ++i) {
                channel.map.values[i] += part[from + i];
            }
        }
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
