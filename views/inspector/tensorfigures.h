// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/paint/heatmapimage.h"
#include "views/inspector/tensorstats.h"

namespace retro::views
{

/// What the inspector shows of a tensor. Plain value; figuresOf() reads the tensor a few times, on any thread.
struct TensorFigures
{
    TensorStats stats;
    Histogram histogram;
    SliceGrid grid;
};

[[nodiscard]] TensorFigures figuresOf(const tensor::Tensor& tensor);

} // namespace retro::views
