// SPDX-License-Identifier: Apache-2.0
#include "views/inspector/tensorslice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace retro::views
{

namespace
{

/// Looks at the token every now and then.
bool isTimeToStop(std::int64_t element, const std::stop_token& stop)
{
    constexpr std::int64_t kOften = 1 << 16;
    return element % kOften == 0 && stop.stop_requested();
}

/// As Python with NumPy under the name np reads it.
std::string numpyNumber(double v)
{
    if (std::isfinite(v)) {
        return fmt::format("{}", v);
    }
    const char* infinity = v > 0 ? "np.inf" : "-np.inf";
    return std::isnan(v) ? "np.nan" : infinity;
}

} // namespace

TensorSlice::TensorSlice(tensor::Shape shape) : m_shape(std::move(shape)), m_at(m_shape.size(), 0)
{
    const int rank = static_cast<int>(m_shape.size());
    m_rowAxis = rank >= 2 ? rank - 2 : rank - 1;
    m_columnAxis = rank >= 2 ? rank - 1 : -1;
}

void TensorSlice::setRowAxis(int axis)
{
    if (axis == m_columnAxis) {
        m_columnAxis = m_rowAxis;
    }
    m_rowAxis = axis;
}

void TensorSlice::setColumnAxis(int axis)
{
    if (axis == m_rowAxis) {
        m_rowAxis = m_columnAxis;
    }
    m_columnAxis = axis;
}

void TensorSlice::setIndex(int axis, std::int64_t index)
{
    m_at[static_cast<std::size_t>(axis)] =
        std::clamp<std::int64_t>(index, 0, std::max<std::int64_t>(0, lengthOf(axis) - 1));
}

std::int64_t TensorSlice::lengthOf(int axis) const { return axis < 0 ? 1 : m_shape[static_cast<std::size_t>(axis)]; }

std::int64_t TensorSlice::elementAt(std::int64_t row, std::int64_t column) const
{
    std::int64_t element = 0;
    for (std::size_t axis = 0; axis < m_shape.size(); ++axis) {
        const bool isRow = static_cast<int>(axis) == m_rowAxis;
        const bool isColumn = static_cast<int>(axis) == m_columnAxis;
        element = element * m_shape[axis] + (isRow ? row : (isColumn ? column : m_at[axis]));
    }
    return element;
}

TensorSlice::Cell TensorSlice::show(std::int64_t element)
{
    for (std::size_t axis = m_shape.size(); axis-- > 0;) {
        m_at[axis] = element % m_shape[axis];
        element /= m_shape[axis];
    }
    const auto place = [&](int axis) { return axis < 0 ? 0 : m_at[static_cast<std::size_t>(axis)]; };
    return {place(m_rowAxis), place(m_columnAxis)};
}

std::optional<std::int64_t> nextNonFinite(const tensor::Tensor& tensor, std::int64_t after, const std::stop_token& stop)
{
    const std::int64_t count = tensor.size();
    for (std::int64_t i = 1; i <= count && !isTimeToStop(i, stop); ++i) {
        const std::int64_t element = (after + i) % count;
        if (!std::isfinite(tensor.at(element))) {
            return element;
        }
    }
    return std::nullopt;
}

std::optional<std::int64_t> largestElement(const tensor::Tensor& tensor, const std::stop_token& stop)
{
    std::optional<std::int64_t> found;
    double largest = -1;
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
        if (isTimeToStop(i, stop)) {
            return std::nullopt;
        }
        const double magnitude = std::abs(tensor.at(i));
        if (std::isfinite(magnitude) && magnitude > largest) {
            largest = magnitude;
            found = i;
        }
    }
    return found;
}

std::string sliceCsv(const tensor::Tensor& tensor, const TensorSlice& slice, TensorSlice::Cell first,
                     TensorSlice::Cell last)
{
    std::string text;
    for (std::int64_t row = first.row; row <= last.row; ++row) {
        for (std::int64_t column = first.column; column <= last.column; ++column) {
            text += fmt::format("{}{}", column == first.column ? "" : ",", tensor.at(slice.elementAt(row, column)));
        }
        text += '\n';
    }
    return text;
}

std::string sliceNumpy(const tensor::Tensor& tensor, const TensorSlice& slice, TensorSlice::Cell first,
                       TensorSlice::Cell last)
{
    std::string text = "np.array([";
    for (std::int64_t row = first.row; row <= last.row; ++row) {
        text += row == first.row ? "[" : ",\n          [";
        for (std::int64_t column = first.column; column <= last.column; ++column) {
            text += (column == first.column ? "" : ", ") + numpyNumber(tensor.at(slice.elementAt(row, column)));
        }
        text += ']';
    }
    return text + "])";
}

} // namespace retro::views
