// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/kernel/rowreduction.h"

namespace retro::ops
{

/// Rows of a tensor, of which an operator gives the extremes: the windows that WindowSums speaks of.
class RowWindows
{
public:
    /// `axes` ascending. `isMax`: false where the smallest elements win.
    RowWindows(tensor::Shape operand, std::vector<std::size_t> axes, bool isMax);

    /// Σ of each row, in the shape reduced(). float32, float64.
    [[nodiscard]] Tensor sum(const Tensor& x) const;
    /// s of its row for each element. `s` has as many elements as there are rows.
    [[nodiscard]] Tensor spread(const Tensor& s) const;
    /// s of each row shared by softmax(beta·x) over the row; by softmax(−beta·x) where the smallest win. `s` has as
    /// many elements as there are rows and x's type: float32 or float64.
    [[nodiscard]] Tensor shareBySoftmax(const Tensor& s, const Tensor& x, double beta) const;
    [[nodiscard]] const ReductionRows& rows() const { return m_rows; }
    /// The operand's shape with extent 1 along the axes of a row.
    [[nodiscard]] const tensor::Shape& reduced() const { return m_reduced; }

private:
    ReductionRows m_rows;
    tensor::Shape m_reduced;
    double m_sign; // of what wins
};

} // namespace retro::ops
