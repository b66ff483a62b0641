// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/reference/convolution.h"

#include <cstdint>
#include <vector>

namespace retro::ops::onednn
{

/// A part of a convolution that is computed by itself: some whole samples, or of one sample some neighbouring windows
/// of the first axis with the part of the image that they read.
struct ConvolutionSlab
{
    reference::ConvolutionShape shape;
    std::int64_t imageAt = 0;  ///< first number of its image in the whole, which lies in channels-last order
    std::int64_t resultAt = 0; ///< the same of its result
};

/// Cuts a convolution of one group so that image and result of each part stay in a cache while they are put into
/// another order, computed on, and put back. In one part where its weights are so large that reading them for each part
/// would cost more.
[[nodiscard]] std::vector<ConvolutionSlab> slabsOf(const reference::ConvolutionShape& shape);

/// Cuts a convolution, or its transposed map, in parts for the threads of our own loops: as many whatever the number of
/// threads, so that its bits do not depend on it.
[[nodiscard]] std::vector<ConvolutionSlab> partsForThreads(const reference::ConvolutionShape& shape, bool isTransposed);

} // namespace retro::ops::onednn
