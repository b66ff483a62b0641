// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/reference/matrix.h"

#include <memory>

namespace retro::ops::onednn
{

/// `count` matrices of one shape, `stride` elements apart; stride 0 = the same matrix each time.
struct MatrixBatch
{
    reference::MatrixView<float> matrix;
    std::int64_t stride = 0;
};

/// c[i] = a[i]·b[i] for i < count; c dense and row-major. No extent may be 0. False when the library has no
/// implementation for these strides (nothing was written).
[[nodiscard]] bool multiply(std::int64_t count, const MatrixBatch& a, const MatrixBatch& b, float* c);

/// A constant matrix b in the library's own layout, for products a·b with a fixed number of rows of a.
class PackedMatrix
{
public:
    /// Packs b for row-major a of `rows` rows. Invalid (isValid() is false) when the library has no implementation.
    PackedMatrix(std::int64_t rows, const reference::MatrixView<float>& b);
    ~PackedMatrix();
    PackedMatrix(PackedMatrix&&) noexcept;

    [[nodiscard]] bool isValid() const { return m_state != nullptr; }
    /// c = a·b, both row-major and dense.
    void multiply(const float* a, float* c) const;

private:
    struct State;
    std::unique_ptr<State> m_state;
};

} // namespace retro::ops::onednn
