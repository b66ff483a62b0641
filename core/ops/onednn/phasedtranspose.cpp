// SPDX-License-Identifier: Apache-2.0
#include "core/ops/onednn/phasedtranspose.h"

#include "core/ops/threads.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <vector>

namespace retro::ops::onednn
{

namespace
{

using reference::ConvolutionShape;
using reference::WindowAxis;

constexpr std::int64_t kRowsPerThread = 64; // of an image, at least
constexpr std::int64_t kRegister = 8;       // floats that the library computes at once, at least

std::int64_t filledUp(std::int64_t channels) { return (channels + kRegister - 1) / kRegister * kRegister; }

/// Which of the blocks along one axis the image begins in.
std::int64_t firstBlock(const WindowAxis& axis) { return axis.padBegin / axis.stride; }

/// The axis of the convolution that computes the blocks.
WindowAxis blockAxis(const WindowAxis& axis)
{
    WindowAxis result;
    result.image = axis.windows;
    result.windows = (axis.image - 1 + axis.padBegin) / axis.stride - firstBlock(axis) + 1;
    result.kernel = (axis.kernel + axis.stride - 1) / axis.stride;
    result.padBegin = result.kernel - 1 - firstBlock(axis);
    result.padEnd = result.windows - 1 + result.kernel - 1 - result.padBegin - (axis.windows - 1);
    return result;
}

/// Which tap of the map meets phase `phase` at tap `block` of the blocks; −1: none.
std::int64_t tapOf(const WindowAxis& axis, std::int64_t blockTaps, std::int64_t phase, std::int64_t block)
{
    const std::int64_t tap = phase + axis.stride * (blockTaps - 1 - block);
    return tap < axis.kernel ? tap : -1;
}

using ThreeAxes = std::array<WindowAxis, 3>;

/// Which tap of the map each tap of the blocks is, for one phase; −1: none.
std::vector<std::int64_t> tapsOf(const ThreeAxes& axes, const ThreeAxes& blocks,
                                 const std::array<std::int64_t, 3>& phase)
{
    std::vector<std::int64_t> taps;
    for (std::int64_t a = 0; a < blocks[0].kernel; ++a) {
        const std::int64_t at0 = tapOf(axes[0], blocks[0].kernel, phase[0], a);
        for (std::int64_t b = 0; b < blocks[1].kernel; ++b) {
            const std::int64_t at1 = tapOf(axes[1], blocks[1].kernel, phase[1], b);
            for (std::int64_t c = 0; c < blocks[2].kernel; ++c) {
                const std::int64_t at2 = tapOf(axes[2], blocks[2].kernel, phase[2], c);
                const bool exists = std::min({at0, at1, at2}) >= 0;
                taps.push_back(exists ? (at0 * axes[1].kernel + at1) * axes[2].kernel + at2 : -1);
            }
        }
    }
    return taps;
}

template <class Length>
void copyEach(const float* from, std::span<const std::int64_t> places, Length length, float* to)
{
    for (const std::int64_t place : places) {
        to = std::copy_n(from + place, std::int64_t{length}, to);
    }
}

/// `length` numbers from each place, one after the other.
void copyPixels(const float* from, std::span<const std::int64_t> places, std::int64_t length, float* to)
{
    if (length == 3) { // of a picture: a length that is known costs no call
        copyEach(from, places, std::integral_constant<std::int64_t, 3>(), to);
    } else {
        copyEach(from, places, length, to);
    }
}

} // namespace

PhasedTranspose::PhasedTranspose(const ConvolutionShape& shape)
    : m_shape(shape), m_blocks(shape), m_phases(shape.product(&WindowAxis::stride))
{
    m_blocks.channels = shape.filters;
    m_blocks.filters = m_phases * shape.channels;
    std::ranges::transform(shape.axes, m_blocks.axes.begin(), blockAxis);
}

std::optional<PhasedTranspose> PhasedTranspose::of(const ConvolutionShape& shape)
{
    const bool isPlain =
        shape.groups == 1 && std::ranges::all_of(shape.axes, [](const WindowAxis& axis) { return axis.dilation == 1; });
    if (!isPlain || shape.product(&WindowAxis::stride) == 1) {
        return std::nullopt;
    }
    PhasedTranspose result(shape);
    const bool isReached = std::ranges::all_of(result.m_blocks.axes, [](const WindowAxis& axis) {
        return axis.padBegin >= 0 && axis.padEnd >= 0; // else there are windows that read padding alone
    });
    // Work per window: a block has as many positions as windows are apart.
    const std::int64_t direct = shape.taps() * filledUp(shape.channels);
    const std::int64_t phased = result.m_blocks.taps() * filledUp(result.m_blocks.filters);
    return isReached && phased < direct ? std::optional(result) : std::nullopt;
}

tensor::Tensor PhasedTranspose::weights(const float* weight) const
{
    const auto axes = reference::threeAxes(m_shape.axes);
    const auto blockAxes = reference::threeAxes(m_blocks.axes);
    const std::int64_t taps = m_shape.taps();
    tensor::TensorBuffer buffer(tensor::DType::Float32, {m_blocks.filters * m_blocks.channels * m_blocks.taps()});
    float* to = buffer.data<float>();
    for (std::int64_t block = 0; block < m_blocks.filters; ++block) {
        const std::int64_t channel = block % m_shape.channels;
        const std::int64_t phase = block / m_shape.channels;
        const std::array<std::int64_t, 3> phases{phase / axes[2].stride / axes[1].stride,
                                                 phase / axes[2].stride % axes[1].stride, phase % axes[2].stride};
        const std::vector<std::int64_t> met = tapsOf(axes, blockAxes, phases);
        for (std::int64_t filter = 0; filter < m_shape.filters; ++filter) {
            const float* const from = weight + (filter * m_shape.channels + channel) * taps;
            to = std::ranges::transform(met, to, [from](std::int64_t tap) { return tap < 0 ? 0 : from[tap]; }).out;
        }
    }
    return std::move(buffer).freeze();
}

void PhasedTranspose::gather(const float* blocks, std::span<float* const> images) const
{
    const auto axes = reference::threeAxes(m_shape.axes);
    const auto blockAxes = reference::threeAxes(m_blocks.axes);
    const std::int64_t channels = m_shape.channels;
    const auto blockOf = [&](std::size_t axis, std::int64_t i) {
        return (i + axes[axis].padBegin) / axes[axis].stride - firstBlock(axes[axis]);
    };
    const auto phaseOf = [&](std::size_t axis, std::int64_t i) {
        return (i + axes[axis].padBegin) % axes[axis].stride;
    };
    const std::int64_t part = channels / static_cast<std::int64_t>(images.size());
    std::vector<std::int64_t> columns; // where the pixels of a row lie, in its blocks
    for (std::int64_t i2 = 0; i2 < axes[2].image; ++i2) {
        columns.push_back((blockOf(2, i2) * m_phases + phaseOf(2, i2)) * channels);
    }
    const auto gatherRow = [&](std::int64_t row) {
        const std::int64_t sample = row / axes[1].image / axes[0].image;
        const std::int64_t i0 = row / axes[1].image % axes[0].image;
        const std::int64_t i1 = row % axes[1].image;
        const std::int64_t blockRow =
            (sample * blockAxes[0].windows + blockOf(0, i0)) * blockAxes[1].windows + blockOf(1, i1);
        const std::int64_t phaseRow = phaseOf(0, i0) * axes[1].stride + phaseOf(1, i1);
        const float* const rowBlocks =
            blocks + (blockRow * blockAxes[2].windows * m_phases + phaseRow * axes[2].stride) * channels;
        for (std::size_t k = 0; k < images.size(); ++k) {
            copyPixels(rowBlocks + static_cast<std::int64_t>(k) * part, columns, part,
                       images[k] + row * axes[2].image * part);
        }
    };
    parallelFor(m_shape.batch * axes[0].image * axes[1].image, kRowsPerThread,
                [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t row = begin; row < end; ++row) {
                        gatherRow(row);
                    }
                });
}

} // namespace retro::ops::onednn
