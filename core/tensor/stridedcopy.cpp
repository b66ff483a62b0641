// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/stridedcopy.h"

#include "core/tensor/visit.h"

#include <cstring>

namespace retro::tensor
{

namespace
{

/// One axis of a copy: extent, and elements from neighbour to neighbour on either side.
struct Axis
{
    std::int64_t extent = 1;
    std::int64_t in = 1;
    std::int64_t out = 1;
};

/// Axes with more than one element, the destination's largest stride first, merged where both sides agree.
std::vector<Axis> axesOf(const Tensor& from, const Shape& strides)
{
    std::vector<Axis> all;
    for (std::size_t i = 0; i < from.rank(); ++i) {
        if (from.shape()[i] != 1) {
            all.push_back({from.shape()[i], from.strides()[i], strides[i]});
        }
    }
    std::stable_sort(all.begin(), all.end(), [](const Axis& a, const Axis& b) { return a.out > b.out; });
    std::vector<Axis> merged;
    for (const Axis& axis : all) {
        if (!merged.empty() && merged.back().in == axis.in * axis.extent &&
            merged.back().out == axis.out * axis.extent) {
            merged.back() = {merged.back().extent * axis.extent, axis.in, axis.out};
        } else {
            merged.push_back(axis);
        }
    }
    return merged;
}

/// Copies a plane of rows × columns, tile by tile: reads along rows and writes along columns stay in the cache.
template <class T>
void copyPlane(const T* in, T* out, const Axis& rows, const Axis& columns)
{
    constexpr std::int64_t kTile = 32;
    const auto copyTile = [&](std::int64_t firstRow, std::int64_t firstColumn) {
        const std::int64_t lastRow = std::min(firstRow + kTile, rows.extent);
        const std::int64_t lastColumn = std::min(firstColumn + kTile, columns.extent);
        for (std::int64_t r = firstRow; r < lastRow; ++r) {
            for (std::int64_t c = firstColumn; c < lastColumn; ++c) {
                out[r * rows.out + c * columns.out] = in[r * rows.in + c * columns.in];
            }
        }
    };
    for (std::int64_t r = 0; r < rows.extent; r += kTile) {
        for (std::int64_t c = 0; c < columns.extent; c += kTile) {
            copyTile(r, c);
        }
    }
}

/// Copies rows of `count` neighbours.
template <class T>
void copyRuns(const T* in, T* out, const Axis& rows, std::int64_t count)
{
    for (std::int64_t r = 0; r < rows.extent; ++r) {
        std::memcpy(out + r * rows.out, in + r * rows.in, static_cast<std::size_t>(count) * sizeof(T));
    }
}

/// Walks over the axes around the planes, innermost first.
class Walk
{
public:
    explicit Walk(std::vector<Axis> axes) : m_axes(std::move(axes)), m_index(m_axes.size(), 0) {}

    [[nodiscard]] std::int64_t in() const { return m_in; }
    [[nodiscard]] std::int64_t out() const { return m_out; }
    /// Goes to the next plane; false after the last.
    bool advance()
    {
        for (std::size_t i = m_axes.size(); i-- > 0;) {
            const Axis& axis = m_axes[i];
            m_in += axis.in;
            m_out += axis.out;
            if (++m_index[i] < axis.extent) {
                return true;
            }
            m_in -= axis.in * axis.extent;
            m_out -= axis.out * axis.extent;
            m_index[i] = 0;
        }
        return false;
    }

private:
    std::vector<Axis> m_axes;
    std::vector<std::int64_t> m_index;
    std::int64_t m_in = 0;
    std::int64_t m_out = 0;
};

/// Takes out the axis that is innermost in the source; an axis of extent 1 when there is none.
Axis takeRows(std::vector<Axis>& axes)
{
    if (axes.empty()) {
        return {};
    }
    const auto inner =
        std::min_element(axes.rbegin(), axes.rend(), [](const Axis& a, const Axis& b) { return a.in < b.in; });
    const Axis rows = *inner;
    axes.erase(std::next(inner).base());
    return rows;
}

template <class T>
void copyAxes(const T* in, T* out, std::vector<Axis> axes)
{
    const Axis columns = axes.empty() ? Axis{} : axes.back();
    if (!axes.empty()) {
        axes.pop_back();
    }
    const Axis rows = takeRows(axes);
    const bool isRun = columns.in == 1 && columns.out == 1;
    Walk walk(std::move(axes));
    do {
        if (isRun) {
            copyRuns(in + walk.in(), out + walk.out(), rows, columns.extent);
        } else {
            copyPlane(in + walk.in(), out + walk.out(), rows, columns);
        }
    } while (walk.advance());
}

} // namespace

void copyStrided(const Tensor& from, std::byte* to, const Shape& strides)
{
    if (from.size() == 0) {
        return;
    }
    visitStored(from.dtype(), [&](auto tag) {
        using T = typename decltype(tag)::Bits;
        copyAxes(reinterpret_cast<const T*>(from.rawData()), reinterpret_cast<T*>(to), axesOf(from, strides));
    });
}

} // namespace retro::tensor
