// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/reference/convolution.h"
#include "core/tensor/tensor.h"

namespace retro::ops
{

/// The transposed map of a convolution for a result that is 0 almost everywhere: relevance behind a maximum pooling is,
/// in three places of four for windows of two by two. Multiplies what is not 0 alone, where a dense product multiplies
/// everything; leaving out products that are 0 changes no sum. Float, image and result in channels-last order.
class SparseTransposed
{
public:
    /// `shape` must fit.
    explicit SparseTransposed(reference::ConvolutionShape shape);

    /// One group, one or two axes, whole registers of channels, and enough of them that a list is worth its making.
    [[nodiscard]] static bool fits(const reference::ConvolutionShape& shape);
    /// True when so little of the result is not 0 that this is faster than a dense product; judged by some of its rows.
    [[nodiscard]] bool isWorthIt(const float* result) const;
    /// Row-major weights in the order that run() reads them in.
    [[nodiscard]] tensor::Tensor pack(const float* weight) const;
    /// The image, all of it.
    void run(const float* result, const tensor::Tensor& weights, float* image) const;

private:
    struct Lists;
    [[nodiscard]] Lists listsOf(const float* result) const;
    /// Row `row` of all rows of the images.
    void addRow(const Lists& lists, const float* weights, std::int64_t row, float* image) const;

    reference::ConvolutionShape m_shape;
    reference::WindowAxis m_rows; // one row where there is one axis
    reference::WindowAxis m_columns;
    std::int64_t m_together; // channels that are summed at a time
};

} // namespace retro::ops
