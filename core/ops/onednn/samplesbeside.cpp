// SPDX-License-Identifier: Apache-2.0
#include "core/ops/onednn/samplesbeside.h"

#include <algorithm>

namespace retro::ops::onednn
{

namespace
{

using reference::ConvolutionShape;
using reference::WindowAxis;

/// Windows that the library's kernels compute at a time.
constexpr std::int64_t kStep = 3;

/// What part of the steps must be saved: a gain of less is lost on the kernels' ends of rows.
constexpr std::int64_t kLeastSaved = 10; // one in so many

std::int64_t stepsOf(std::int64_t windows) { return (windows + kStep - 1) / kStep; }

} // namespace

std::optional<SamplesBeside> samplesBeside(const ConvolutionShape& shape, bool isTransposed)
{
    const WindowAxis& last = shape.axes.back();
    if (shape.batch < 2 || last.image < 1 || last.windows < 1 || (isTransposed && last.stride != 1)) {
        return std::nullopt;
    }
    SamplesBeside beside{shape};
    // Up to the next sample, the padding of either side must fit between two.
    const std::int64_t apart = last.image + std::max({last.padBegin, last.padEnd, std::int64_t{0}});
    beside.windowStep = (apart + last.stride - 1) / last.stride;
    beside.imageStep = beside.windowStep * last.stride;
    WindowAxis& wide = beside.shape.axes.back();
    wide.image += (shape.batch - 1) * beside.imageStep;
    wide.windows += (shape.batch - 1) * beside.windowStep;
    beside.shape.batch = 1;
    const std::int64_t before = shape.batch * stepsOf(isTransposed ? last.image : last.windows);
    const std::int64_t after = stepsOf(isTransposed ? wide.image : wide.windows);
    if ((before - after) * kLeastSaved < before) {
        return std::nullopt;
    }
    return beside;
}

} // namespace retro::ops::onednn
