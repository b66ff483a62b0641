// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace retro::diagnosis
{

using tensor::Tensor;

/// The numbers of one tensor, of one sweep over it. NaN and infinities count in none but their own.
struct Statistics
{
    std::int64_t count = 0;
    std::int64_t zeros = 0;
    std::int64_t nan = 0;
    std::int64_t plusInfinity = 0;
    std::int64_t minusInfinity = 0;
    double least = 0; ///< of the finite ones; 0 when there are none
    double largest = 0;
    double mean = 0;
    double variance = 0;              ///< of the population
    double magnitude = 0;             ///< Σ|x|
    std::int64_t firstNotFinite = -1; ///< row-major position; −1: all are finite

    [[nodiscard]] std::int64_t notFinite() const { return nan + plusInfinity + minusInfinity; }
    [[nodiscard]] std::int64_t finite() const { return count - notFinite(); }
    /// True when every element is exactly 0 (and there is one).
    [[nodiscard]] bool isAllZero() const { return count > 0 && zeros == count; }
};

/// One sweep over a tensor of any type; all zero for an invalid one.
[[nodiscard]] Statistics statisticsOf(const Tensor& tensor);

/// The elements in row-major order as doubles; empty for an invalid tensor.
[[nodiscard]] std::vector<double> numbersIn(const Tensor& tensor);

/// How many elements are exactly 0; none of an invalid tensor.
[[nodiscard]] std::int64_t zerosIn(const Tensor& tensor);

/// Median; 0 of nothing. Takes the list as it is.
[[nodiscard]] double median(std::vector<double> numbers);

/// The index along each axis of a row-major position.
[[nodiscard]] std::vector<std::int64_t> indexAt(std::int64_t position, const tensor::Shape& shape);

/// Per index along `axis`: the root of Σx² of the elements there. Errors: none; empty where there is no such axis.
[[nodiscard]] std::vector<double> normsAlong(const Tensor& tensor, std::size_t axis);

/// Per index along `axis`: how many elements are not exactly 0.
[[nodiscard]] std::vector<std::int64_t> nonZerosAlong(const Tensor& tensor, std::size_t axis);

/// Indices along `axis` at which every element is exactly 0. Reads little of a tensor that has few zeros.
[[nodiscard]] std::vector<std::int64_t> zerosAlong(const Tensor& tensor, std::size_t axis);

/// How the elements of a tensor lie in memory, seen along one axis: outer × extent × inner, the last one fastest.
struct MemoryRuns
{
    std::int64_t outer = 1;
    std::int64_t extent = 0; ///< of the axis
    std::int64_t inner = 1;
};

/// Of a tensor that is row-major, or dense with this axis innermost (channels last); nothing for others.
[[nodiscard]] std::optional<MemoryRuns> runsAlong(const Tensor& tensor, std::size_t axis);

/// Per index along `axis`: the mean of the elements there.
[[nodiscard]] std::vector<double> meansAlong(const Tensor& tensor, std::size_t axis);

/// True when no element is NaN or infinite; an invalid tensor has none.
[[nodiscard]] bool isAllFinite(const Tensor& tensor);

} // namespace retro::diagnosis
