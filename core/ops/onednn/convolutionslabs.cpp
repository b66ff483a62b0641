// SPDX-License-Identifier: Apache-2.0
#include "core/ops/onednn/convolutionslabs.h"

#include <algorithm>

namespace retro::ops::onednn
{

namespace
{

using reference::ConvolutionShape;
using reference::WindowAxis;

/// Numbers of image and result together that a part may have: 1.6 MiB, as much as a core may count on of the caches of
/// a processor. Half and double that are about as fast.
constexpr std::int64_t kMostNumbers = 400 << 10;

/// Weights from which on there is one part.
constexpr std::int64_t kManyWeights = 600 << 10;

std::int64_t imageNumbers(const ConvolutionShape& shape) { return shape.groups * shape.channels * shape.imageSize(); }
std::int64_t resultNumbers(const ConvolutionShape& shape) { return shape.groups * shape.filters * shape.windowCount(); }

/// In how many parts of about equal size so much is cut.
std::int64_t partsOf(std::int64_t numbers) { return (numbers + kMostNumbers - 1) / kMostNumbers; }

/// The windows from `first` to before `last` of the first axis.
ConvolutionSlab rowsOf(const ConvolutionShape& sample, std::int64_t first, std::int64_t last)
{
    ConvolutionSlab slab{sample, 0, 0};
    WindowAxis& axis = slab.shape.axes.front();
    const std::int64_t begin = first * axis.stride - axis.padBegin;
    const std::int64_t end = (last - 1) * axis.stride - axis.padBegin + axis.span();
    const std::int64_t from = std::clamp<std::int64_t>(begin, 0, axis.image);
    const std::int64_t to = std::clamp<std::int64_t>(end, from, axis.image);
    slab.imageAt = from * (imageNumbers(sample) / axis.image);
    slab.resultAt = first * (resultNumbers(sample) / axis.windows);
    axis.windows = last - first;
    axis.image = to - from;
    axis.padBegin = from - begin;
    axis.padEnd = end - to;
    return slab;
}

/// The positions of the image from `from` to before `to` along the first axis, with the windows that read them: a part
/// of the transposed map. Those windows read beyond it what other parts compute, as padding.
ConvolutionSlab imageRowsOf(const ConvolutionShape& sample, std::int64_t from, std::int64_t to)
{
    ConvolutionSlab slab{sample, 0, 0};
    WindowAxis& axis = slab.shape.axes.front();
    const std::int64_t before = from + axis.padBegin - axis.span();
    const std::int64_t first = before < 0 ? 0 : std::min(before / axis.stride + 1, axis.windows - 1);
    const std::int64_t last = std::clamp<std::int64_t>((to - 1 + axis.padBegin) / axis.stride, first, axis.windows - 1);
    slab.imageAt = from * (imageNumbers(sample) / axis.image);
    slab.resultAt = first * (resultNumbers(sample) / axis.windows);
    const std::int64_t begin = first * axis.stride - axis.padBegin; // what the first window reads first
    const std::int64_t end = last * axis.stride - axis.padBegin + axis.span();
    axis.windows = last - first + 1;
    axis.image = to - from;
    axis.padBegin = from - begin;
    axis.padEnd = end - to;
    return slab;
}

/// True when windows can be told from each other by what they read: none lies in the padding alone.
bool canBeCut(const WindowAxis& axis) { return axis.padBegin < axis.span() && axis.padEnd < axis.span(); }

/// The parts of one sample.
std::vector<ConvolutionSlab> partsOfSample(const ConvolutionShape& sample)
{
    const std::int64_t windows = sample.axes.front().windows;
    const std::int64_t parts =
        canBeCut(sample.axes.front()) ? std::min(partsOf(imageNumbers(sample) + resultNumbers(sample)), windows) : 1;
    const std::int64_t length = (windows + parts - 1) / parts;
    std::vector<ConvolutionSlab> slabs;
    for (std::int64_t first = 0; first < windows; first += length) {
        slabs.push_back(rowsOf(sample, first, std::min(first + length, windows)));
    }
    return slabs;
}

} // namespace

std::vector<ConvolutionSlab> slabsOf(const ConvolutionShape& shape)
{
    if (shape.filters * shape.channels * shape.taps() > kManyWeights) {
        return {{shape, 0, 0}};
    }
    ConvolutionShape sample = shape;
    sample.batch = 1;
    const std::int64_t numbers = imageNumbers(sample) + resultNumbers(sample);
    const std::int64_t together = std::max<std::int64_t>(kMostNumbers / std::max<std::int64_t>(numbers, 1), 1);
    std::vector<ConvolutionSlab> slabs;
    for (std::int64_t at = 0; at < shape.batch; at += together) {
        ConvolutionShape some = shape;
        some.batch = std::min(together, shape.batch - at);
        for (ConvolutionSlab slab : together > 1 ? std::vector<ConvolutionSlab>{{some, 0, 0}} : partsOfSample(sample)) {
            slab.imageAt += at * imageNumbers(sample);
            slab.resultAt += at * resultNumbers(sample);
            slabs.push_back(std::move(slab));
        }
    }
    return slabs;
}

std::vector<ConvolutionSlab> partsForThreads(const ConvolutionShape& shape, bool isTransposed)
{
    constexpr std::int64_t kMostParts = 32;
    constexpr std::int64_t kLeastRows = 4; // less would be computed for edges more often than for itself
    ConvolutionShape sample = shape;
    sample.batch = 1;
    const WindowAxis& axis = sample.axes.front();
    const std::int64_t rows = isTransposed ? axis.image : axis.windows;
    const bool hasWholeRows = canBeCut(axis) && (!isTransposed || (axis.padBegin >= 0 && axis.span() >= axis.stride));
    const std::int64_t parts = hasWholeRows ? std::clamp<std::int64_t>(kMostParts / shape.batch, 1,
                                                                       std::max(rows / kLeastRows, std::int64_t{1}))
                                            : 1;
    const std::int64_t length = (rows + parts - 1) / parts;
    std::vector<ConvolutionSlab> slabs;
    for (std::int64_t at = 0; at < shape.batch; ++at) {
        for (std::int64_t first = 0; first < rows; first += length) {
            const std::int64_t end = std::min(first + length, rows);
            ConvolutionSlab slab = isTransposed ? imageRowsOf(sample, first, end) : rowsOf(sample, first, end);
            slab.imageAt += at * imageNumbers(sample);
            slab.resultAt += at * resultNumbers(sample);
            slabs.push_back(std::move(slab));
        }
    }
    return slabs;
}

} // namespace retro::ops::onednn
