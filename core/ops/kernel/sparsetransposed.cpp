// SPDX-License-Identifier: Apache-2.0
#include "core/ops/kernel/sparsetransposed.h"

#include "core/ops/kernel/weightedlists.h"
#include "core/ops/threads.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace retro::ops
{

using reference::ConvolutionShape;
using reference::WindowAxis;

namespace
{

/// Filters from which on half as many channels are summed at a time, so that the weights of one tap fit the first cache
/// as long as they can.
constexpr std::int64_t kManyFilters = 256;

/// Part of the result that may be something else than 0. The library is twice to three times as fast per product.
constexpr double kMostNonzero = 0.3;

/// Rows of the result that are looked at.
constexpr std::int64_t kRowsLookedAt = 16;

/// Products of a dense call below which nothing is looked at.
constexpr std::int64_t kFewProducts = 1 << 20;

std::int64_t countNonzero(const float* from, std::int64_t count)
{
    constexpr std::int64_t kBlock = 1 << 20; // whose count fits a narrow number, of which more fit a register
    std::int64_t nonzero = 0;
    for (std::int64_t begin = 0; begin < count; begin += kBlock) {
        std::int32_t inBlock = 0;
        for (std::int64_t i = begin; i < std::min(begin + kBlock, count); ++i) {
            inBlock += from[i] != 0 ? 1 : 0;
        }
        nonzero += inBlock;
    }
    return nonzero;
}

/// Extents of one filter's weights for a group of channels, row-major.
struct FilterPart
{
    std::int64_t channels = 0;
    std::int64_t taps = 0;
};

/// Writes channels × taps as taps × channels, taps `stride` elements apart.
void turnTaps(const float* from, const FilterPart& part, std::int64_t stride, float* to)
{
    for (std::int64_t channel = 0; channel < part.channels; ++channel) {
        for (std::int64_t tap = 0; tap < part.taps; ++tap) {
            to[tap * stride + channel] = *from++;
        }
    }
}

/// Lists which of `filters` numbers are not 0, with the place of each one's weights, `together` apart. Returns how
/// many; one entry behind them may have been written too.
std::size_t listNonzero(const float* from, std::int64_t filters, std::int64_t together, WeightedEntry* to)
{
    std::size_t count = 0;
    for (std::int64_t filter = 0; filter < filters; ++filter) {
        to[count] = {from[filter], static_cast<std::uint32_t>(filter * together)};
        count += from[filter] != 0 ? 1U : 0U;
    }
    return count;
}

} // namespace

/// What is not 0 of a result, position by position.
struct SparseTransposed::Lists
{
    std::vector<std::int64_t> starts; // per position and one more
    std::vector<WeightedEntry> entries;
};

SparseTransposed::SparseTransposed(ConvolutionShape shape)
    : m_shape(std::move(shape)), m_rows(reference::threeAxes(m_shape.axes)[1]), m_columns(m_shape.axes.back()),
      m_together(m_shape.channels % kListColumns == 0 && m_shape.filters < kManyFilters ? kListColumns
                                                                                        : kListColumns / 2)
{}

bool SparseTransposed::fits(const ConvolutionShape& shape)
{
    const std::int64_t products = shape.batch * shape.windowCount() * shape.filters * shape.channels * shape.taps();
    return shape.groups == 1 && shape.axes.size() <= 2 && shape.channels % (kListColumns / 2) == 0 &&
           shape.filters >= kListColumns / 2 && products >= kFewProducts;
}

bool SparseTransposed::isWorthIt(const float* result) const
{
    const std::int64_t rows = m_shape.batch * m_rows.windows;
    const std::int64_t length = m_columns.windows * m_shape.filters;
    const std::int64_t looked = std::min(rows, kRowsLookedAt);
    std::int64_t nonzero = 0;
    for (std::int64_t i = 0; i < looked; ++i) {
        nonzero += countNonzero(result + i * rows / looked * length, length);
    }
    return static_cast<double>(nonzero) <= kMostNonzero * static_cast<double>(looked * length);
}

tensor::Tensor SparseTransposed::pack(const float* weight) const
{
    const std::int64_t taps = m_shape.taps();
    const std::int64_t filters = m_shape.filters;
    tensor::TensorBuffer buffer(tensor::DType::Float32, {filters * m_shape.channels * taps});
    float* const packed = buffer.data<float>();
    // Groups of channels × taps × filters × channels of the group.
    parallelFor(m_shape.channels / m_together, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t group = begin; group < end; ++group) {
            for (std::int64_t filter = 0; filter < filters; ++filter) {
                turnTaps(weight + (filter * m_shape.channels + group * m_together) * taps, {m_together, taps},
                         filters * m_together, packed + (group * taps * filters + filter) * m_together);
            }
        }
    });
    return std::move(buffer).freeze();
}

SparseTransposed::Lists SparseTransposed::listsOf(const float* result) const
{
    const std::int64_t filters = m_shape.filters;
    const std::int64_t positions = m_shape.batch * m_shape.windowCount();
    Lists lists;
    lists.starts.resize(static_cast<std::size_t>(positions) + 1);
    std::int64_t* const starts = lists.starts.data();
    parallelFor(positions, m_columns.windows, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t position = begin; position < end; ++position) {
            starts[position + 1] = countNonzero(result + position * filters, filters);
        }
    });
    for (std::int64_t position = 0; position < positions; ++position) {
        starts[position + 1] += starts[position];
    }
    lists.entries.resize(static_cast<std::size_t>(starts[positions]));
    parallelFor(positions, m_columns.windows, [&](std::int64_t begin, std::int64_t end) {
        std::vector<WeightedEntry> row(static_cast<std::size_t>(filters) + 1); // the last is written over each time
        for (std::int64_t position = begin; position < end; ++position) {
            const std::size_t count = listNonzero(result + position * filters, filters, m_together, row.data());
            std::copy_n(row.begin(), count, lists.entries.begin() + starts[position]);
        }
    });
    return lists;
}

void SparseTransposed::addRow(const Lists& lists, const float* weights, std::int64_t row, float* image) const
{
    const std::int64_t channels = m_shape.channels;
    const std::int64_t sample = row / m_rows.image;
    const std::int64_t y = row % m_rows.image;
    for (std::int64_t tap = 0; tap < m_shape.taps(); ++tap) {
        const std::int64_t from = y + m_rows.padBegin - tap / m_columns.kernel * m_rows.dilation;
        if (from < 0 || from % m_rows.stride != 0 || from / m_rows.stride >= m_rows.windows) {
            continue;
        }
        // Windows whose tap lies in the image: the first reads position `shift` or the first one behind it.
        const std::int64_t shift = tap % m_columns.kernel * m_columns.dilation - m_columns.padBegin;
        const std::int64_t first = shift < 0 ? (-shift + m_columns.stride - 1) / m_columns.stride : 0;
        const std::int64_t room = m_columns.image - 1 - shift;
        const std::int64_t end = room < 0 ? 0 : std::min(m_columns.windows, room / m_columns.stride + 1);
        if (first >= end) {
            continue;
        }
        const std::int64_t window = (sample * m_rows.windows + from / m_rows.stride) * m_columns.windows + first;
        addWeightedLists(lists.entries.data(), lists.starts.data() + window, end - first,
                         weights + tap * m_shape.filters * m_together, m_together,
                         image + (row * m_columns.image + first * m_columns.stride + shift) * channels,
                         m_columns.stride * channels);
    }
}

void SparseTransposed::run(const float* result, const tensor::Tensor& weights, float* image) const
{
    const Lists lists = listsOf(result);
    const std::int64_t length = m_columns.image * m_shape.channels;
    const std::int64_t ofGroup = m_shape.taps() * m_shape.filters * m_together;
    parallelFor(m_shape.batch * m_rows.image, 1, [&](std::int64_t begin, std::int64_t end) {
        std::fill(image + begin * length, image + end * length, 0.0F);
        for (std::int64_t group = 0; group < m_shape.channels / m_together; ++group) {
            for (std::int64_t row = begin; row < end; ++row) {
                addRow(lists, weights.data<float>() + group * ofGroup, row, image + group * m_together);
            }
        }
    });
}

} // namespace retro::ops
