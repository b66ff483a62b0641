// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/reference/convolution.h"

#include <cstdint>
#include <optional>

namespace retro::ops::onednn
{

/// A convolution of several samples as one of a single wide sample: they lie beside each other along the last axis,
/// with zeros between them wide enough that no window reads two of them.
struct SamplesBeside
{
    reference::ConvolutionShape shape; ///< of the wide sample
    std::int64_t imageStep = 0;        ///< columns from one sample's first to the next one's
    std::int64_t windowStep = 0;       ///< the same of the result; the windows between two samples' are of no use
};

/// None where that is no gain. The library's kernels for registers of 256 bits compute three neighbouring windows at a
/// time, so rows of seven take three steps where two and a third would do: beside each other, eight of them take 21
/// steps and not 24. `isTransposed`: for the way back, where it is a gain at stride 1 alone.
[[nodiscard]] std::optional<SamplesBeside> samplesBeside(const reference::ConvolutionShape& shape, bool isTransposed);

} // namespace retro::ops::onednn
