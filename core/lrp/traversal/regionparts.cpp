// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/traversal/regionparts.h"

#include "core/ops/algebra.h"
#include "core/ops/kernel/registers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>

namespace retro::lrp
{

namespace algebra = ops::algebra;
using tensor::Tensor;

namespace
{

constexpr double kNamedPart = 1e-3; ///< of the largest part: smaller ones are not counted

/// The axes of a dense tensor that have several places, as they follow each other in its memory: the longest stride
/// first, so that the last one is contiguous.
class MemoryOrder
{
public:
    explicit MemoryOrder(const Tensor& dense) : m_shape(dense.shape())
    {
        std::vector<std::size_t> axes(dense.rank());
        std::iota(axes.begin(), axes.end(), std::size_t{0});
        std::ranges::stable_sort(axes,
                                 [&](std::size_t a, std::size_t b) { return dense.strides()[a] > dense.strides()[b]; });
        for (const std::size_t axis : axes) {
            if (dense.shape()[axis] > 1) {
                m_axes.push_back(axis);
                m_strides.push_back(dense.strides()[axis]);
            }
        }
    }

    /// Writes the index of the element that lies at `offset`; of axes with one place it stays 0.
    void find(std::int64_t offset, std::vector<std::int64_t>& index) const
    {
        for (std::size_t i = 0; i < m_axes.size(); ++i) {
            index[m_axes[i]] = offset / m_strides[i];
            offset %= m_strides[i];
        }
    }
    [[nodiscard]] std::vector<std::int64_t> placeOf(std::int64_t offset) const
    {
        std::vector<std::int64_t> index(m_shape.size(), 0);
        find(offset, index);
        return index;
    }

    /// Elements of a line: of the axis that is contiguous. 1 where no axis has several places.
    [[nodiscard]] std::int64_t lineLength() const { return m_axes.empty() ? 1 : m_shape[m_axes.back()]; }
    /// Which axis a line runs along; none where no axis has several places.
    [[nodiscard]] std::optional<std::size_t> lineAxis() const
    {
        return m_axes.empty() ? std::nullopt : std::optional(m_axes.back());
    }

private:
    tensor::Shape m_shape;
    std::vector<std::size_t> m_axes;
    std::vector<std::int64_t> m_strides;
};

constexpr std::size_t kLanes = 8;   ///< sums that are made side by side, and added in their order at the end
constexpr std::size_t kBlock = 512; ///< elements whose largest part is kept; a multiple of kLanes

template <class T>
struct LanesOf
{
    using Type __attribute__((vector_size(kLanes * sizeof(T)), aligned(alignof(T)), may_alias)) = T;
};
template <class T>
using Lanes = typename LanesOf<T>::Type;

/// What the elements add up to. The order of the sums depends on nothing but how many elements there are.
template <class T>
class PartSums
{
public:
    double sum = 0;
    double magnitude = 0;
    T largest{0};

    PartSums(std::span<const T> way, std::span<const T> arrived)
    {
        const std::size_t whole = way.size() / kLanes * kLanes;
        m_blocks.resize(way.size() / kBlock + 1, T{0});
        addLanes(way.data(), arrived.data(), whole);
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            sum += m_sums[lane];
            magnitude += m_magnitudes[lane];
        }
        T last{0};
        for (std::size_t i = whole; i < way.size(); ++i) {
            const T part = way[i] * arrived[i];
            sum += static_cast<double>(part);
            magnitude += static_cast<double>(std::abs(part));
            last = std::max(last, std::abs(part));
        }
        m_blocks.back() = std::max(m_blocks.back(), last);
        for (const T block : m_blocks) {
            largest = std::max(largest, block);
        }
    }

    /// False where no part between two elements is as large as `least`.
    [[nodiscard]] bool reaches(std::int64_t begin, std::int64_t end, T least) const
    {
        for (std::size_t block = static_cast<std::size_t>(begin) / kBlock;
             block * kBlock < static_cast<std::size_t>(end); ++block) {
            if (m_blocks[block] >= least) {
                return true;
            }
        }
        return false;
    }

private:
    /// In the widest registers at hand: in narrow ones the sums would not stay in registers.
    void addLanes(const T* way, const T* arrived, std::size_t whole)
    {
        ops::onWidestRegisters([way, arrived, whole, blocks = m_blocks.data(), to = this] {
            Lanes<double> sums{};
            Lanes<double> magnitudes{};
            for (std::size_t begin = 0; begin < whole; begin += kBlock) {
                Lanes<T> most{};
                for (std::size_t i = begin; i < std::min(whole, begin + kBlock); i += kLanes) {
                    const Lanes<T> parts = *reinterpret_cast<const Lanes<T>*>(way + i) *
                                           *reinterpret_cast<const Lanes<T>*>(arrived + i); // of any alignment
                    const Lanes<T> sizes = parts < 0 ? -parts : parts;
                    sums += __builtin_convertvector(parts, Lanes<double>);
                    magnitudes += __builtin_convertvector(sizes, Lanes<double>);
                    most = most < sizes ? sizes : most;
                }
                blocks[begin / kBlock] = largestOf(most);
            }
            to->m_sums = sums;
            to->m_magnitudes = magnitudes;
        });
    }

    static T largestOf(const Lanes<T>& lanes)
    {
        T most{0};
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            most = std::max(most, lanes[lane]);
        }
        return most;
    }

    Lanes<double> m_sums{};
    Lanes<double> m_magnitudes{};
    std::vector<T> m_blocks; ///< the largest |part| of each
};

/// The largest parts that were seen, at most so many; of equal ones the first.
template <class T>
class LargestParts
{
public:
    explicit LargestParts(std::size_t most) : m_most(most) {}

    void see(T size, std::int64_t offset)
    {
        if (m_parts.size() < m_most) {
            m_parts.emplace_back(size, offset);
            std::push_heap(m_parts.begin(), m_parts.end(), isBefore);
        } else if (m_most > 0 && size > m_parts.front().first) {
            std::pop_heap(m_parts.begin(), m_parts.end(), isBefore);
            m_parts.back() = {size, offset};
            std::push_heap(m_parts.begin(), m_parts.end(), isBefore);
        }
    }
    [[nodiscard]] std::vector<std::pair<T, std::int64_t>> sorted() &&
    {
        std::sort_heap(m_parts.begin(), m_parts.end(), isBefore);
        return std::move(m_parts);
    }

private:
    static bool isBefore(const std::pair<T, std::int64_t>& a, const std::pair<T, std::int64_t>& b)
    {
        return a.first != b.first ? a.first > b.first : a.second < b.second;
    }

    std::size_t m_most;
    std::vector<std::pair<T, std::int64_t>> m_parts; ///< a heap, the smallest part in front
};

constexpr std::size_t kLeastChannels = 8;

/// Where the parts lie: along axis 1, and in the plane of a value with four axes.
struct PartPlaces
{
    std::vector<double> along;
    std::vector<double> plane;
    std::int64_t width = 0;

    explicit PartPlaces(const tensor::Shape& shape)
        : along(shape.size() < 2 ? 1 : static_cast<std::size_t>(shape[1]), 0),
          plane(shape.size() == 4 ? static_cast<std::size_t>(shape[2] * shape[3]) : 1, 0),
          width(shape.size() == 4 ? shape[3] : 0)
    {}

    /// Where the line that begins at `place` begins, and how far it goes with each element.
    [[nodiscard]] std::array<std::size_t, 4> lineOf(std::span<const std::int64_t> place,
                                                    std::optional<std::size_t> axis) const
    {
        const bool hasPlane = width > 0;
        return {place.size() < 2 ? 0 : static_cast<std::size_t>(place[1]), axis == std::size_t{1} ? 1U : 0U,
                hasPlane ? static_cast<std::size_t>(place[2] * width + place[3]) : 0,
                !hasPlane || axis < std::size_t{2} ? 0
                                                   : (axis == std::size_t{3} ? 1 : static_cast<std::size_t>(width))};
    }

    void write(const tensor::Shape& shape, std::size_t most, RegionParts& parts) const
    {
        if (shape.size() < 2) {
            return;
        }
        for (std::size_t i = 0; i < along.size(); ++i) {
            if (along[i] != 0) {
                parts.channels.emplace_back(static_cast<std::int64_t>(i), along[i]);
            }
        }
        std::ranges::stable_sort(parts.channels,
                                 [](const auto& a, const auto& b) { return std::abs(a.second) > std::abs(b.second); });
        parts.channels.resize(std::min(most, parts.channels.size()));
        if (width > 0) {
            parts.where = Tensor::of<double>({shape[2], shape[3]}, plane);
        }
    }
};

/// Whether one of kLanes parts is as large as `least`.
template <class T>
bool anyReaches(const T* way, const T* arrived, T least)
{
    const Lanes<T> parts = *reinterpret_cast<const Lanes<T>*>(way) * *reinterpret_cast<const Lanes<T>*>(arrived);
    const auto hits = (parts < 0 ? -parts : parts) >= least;
    std::array<std::uint64_t, sizeof(hits) / sizeof(std::uint64_t)> bits{};
    std::memcpy(bits.data(), &hits, sizeof(hits));
    return std::ranges::any_of(bits, [](std::uint64_t each) { return each != 0; });
}

/// The parts that count: those that are as large as `least`.
template <class T>
struct CountedParts
{
    T least;
    PartPlaces places;
    LargestParts<T> largest;
    std::int64_t count = 0;

    /// Elements `begin` up to `end`, which lie in a line as PartPlaces::lineOf() says.
    void seeLine(const T* way, const T* arrived, std::size_t begin, std::size_t end, std::array<std::size_t, 4> line)
    {
        auto [channel, channelStep, pixel, pixelStep] = line;
        for (std::size_t i = begin; i < end;) {
            const std::size_t next = std::min(i + kLanes, end);
            if (next - i == kLanes && !anyReaches(way + i, arrived + i, least)) {
                channel += kLanes * channelStep;
                pixel += kLanes * pixelStep;
                i = next;
                continue;
            }
            for (; i < next; ++i) {
                see(way[i] * arrived[i], i, channel, pixel);
                channel += channelStep;
                pixel += pixelStep;
            }
        }
    }

private:
    void see(T part, std::size_t offset, std::size_t channel, std::size_t pixel)
    {
        if (std::abs(part) >= least) {
            ++count;
            places.along[channel] += static_cast<double>(part);
            places.plane[pixel] += static_cast<double>(part);
            largest.see(std::abs(part), static_cast<std::int64_t>(offset));
        }
    }
};

template <class T>
RegionParts partsIn(const Tensor& dense, const Tensor& relevance, std::size_t most)
{
    const std::span<const T> way(dense.data<T>(), static_cast<std::size_t>(dense.size()));
    const std::span<const T> arrived(relevance.data<T>(), way.size());
    const PartSums<T> sums(way, arrived);
    RegionParts parts;
    parts.sum = sums.sum;
    parts.magnitude = sums.magnitude;
    const T least = static_cast<T>(kNamedPart) * sums.largest;
    const MemoryOrder order(dense);
    CountedParts<T> counted{least, PartPlaces(dense.shape()), LargestParts<T>(most)};
    const std::int64_t length = order.lineLength();
    std::vector<std::int64_t> place(dense.rank(), 0);
    for (std::int64_t begin = 0; begin < dense.size() && sums.largest > 0; begin += length) {
        if (!sums.reaches(begin, begin + length, least)) {
            continue;
        }
        order.find(begin, place);
        counted.seeLine(way.data(), arrived.data(), static_cast<std::size_t>(begin),
                        static_cast<std::size_t>(begin + length), counted.places.lineOf(place, order.lineAxis()));
    }
    parts.count = counted.count;
    counted.places.write(dense.shape(), std::max(most, kLeastChannels), parts);
    for (const auto& [size, offset] : std::move(counted.largest).sorted()) {
        const auto at = static_cast<std::size_t>(offset);
        parts.largest.emplace_back(order.placeOf(offset), static_cast<double>(way[at] * arrived[at]));
    }
    return parts;
}

} // namespace

RegionParts partsOf(const Tensor& way, const Tensor& relevance, std::size_t most)
{
    const Tensor dense = way.isDense() ? way : way.contiguous();
    const Tensor laid = algebra::laidOutAs(relevance, dense);
    return dense.dtype() == tensor::DType::Float64 ? partsIn<double>(dense, laid, most)
                                                   : partsIn<float>(dense, laid, most);
}

} // namespace retro::lrp
