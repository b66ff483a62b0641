// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/reference/matrix.h"

namespace retro::ops::onednn
{

/// `count` matrices of one shape, `stride` elements apart; stride 0 = the same matrix each time.
struct MatrixBatch
{
    reference::MatrixView<float> matrix;
    std::int64_t stride = 0;
};

/// c[i] = a[i]·b[i] for i < count; c dense and row-major. No extent may be 0. False when the library has no
/// implementation for these strides; c then holds nothing of use.
[[nodiscard]] bool multiply(std::int64_t count, const MatrixBatch& a, const MatrixBatch& b, float* c);

} // namespace retro::ops::onednn
