// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace retro::views
{

/// A flat cut through a tensor of any rank: one axis runs over rows, one over columns, the others stand at an index.
/// Rank 0 is one cell, rank 1 a column. Plain values.
class TensorSlice
{
public:
    TensorSlice() = default;
    /// The last two axes as rows and columns, the others at 0.
    explicit TensorSlice(tensor::Shape shape);

    [[nodiscard]] const tensor::Shape& shape() const { return m_shape; }
    /// −1 when there is no such axis.
    [[nodiscard]] int rowAxis() const { return m_rowAxis; }
    [[nodiscard]] int columnAxis() const { return m_columnAxis; }
    /// Makes an axis the one of the rows (columns); when it is the other one's, they change places.
    void setRowAxis(int axis);
    void setColumnAxis(int axis);
    [[nodiscard]] std::int64_t indexOf(int axis) const { return m_at[static_cast<std::size_t>(axis)]; }
    /// Stands at an index (clamped) of an axis that is neither.
    void setIndex(int axis, std::int64_t index);

    [[nodiscard]] std::int64_t rows() const { return lengthOf(m_rowAxis); }
    [[nodiscard]] std::int64_t columns() const { return lengthOf(m_columnAxis); }
    /// Row-major index of a cell in the whole tensor.
    [[nodiscard]] std::int64_t elementAt(std::int64_t row, std::int64_t column) const;

    struct Cell
    {
        std::int64_t row = 0;
        std::int64_t column = 0;
    };
    /// Moves the cut so that it holds an element, and says where.
    Cell show(std::int64_t element);

private:
    [[nodiscard]] std::int64_t lengthOf(int axis) const;

    tensor::Shape m_shape;
    std::vector<std::int64_t> m_at;
    int m_rowAxis = -1;
    int m_columnAxis = -1;
};

/// The next element after `after` (row-major; −1 = from the start) that is not finite, going round; nothing when all
/// are finite, or when it was stopped. Reads the whole tensor at most once.
[[nodiscard]] std::optional<std::int64_t> nextNonFinite(const tensor::Tensor& tensor, std::int64_t after,
                                                        const std::stop_token& stop = {});
/// The finite element of the largest magnitude, the first of equals; nothing when there is none, or when it was
/// stopped.
[[nodiscard]] std::optional<std::int64_t> largestElement(const tensor::Tensor& tensor,
                                                         const std::stop_token& stop = {});
/// Cells of a part of the cut as CSV without a header: shortest digits that read back as the same numbers.
[[nodiscard]] std::string sliceCsv(const tensor::Tensor& tensor, const TensorSlice& slice, TensorSlice::Cell first,
                                   TensorSlice::Cell last);
/// The same cells as a line of Python: np.array([[1, 2], [3, np.nan]]).
[[nodiscard]] std::string sliceNumpy(const tensor::Tensor& tensor, const TensorSlice& slice, TensorSlice::Cell first,
                                     TensorSlice::Cell last);

} // namespace retro::views
