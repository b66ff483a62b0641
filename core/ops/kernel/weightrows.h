// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/structure.h"

#include <cstdint>
#include <memory>

namespace retro::ops
{

/// A matrix of weights that stays in memory as it is stored. Pieces of its rows are made float32 where they are
/// multiplied, so that no wide copy of the matrix is ever made. Whatever form weights are stored in, a product reads
/// them through widen() alone.
class WeightRows
{
public:
    WeightRows(std::int64_t rows, std::int64_t length) : m_rows(rows), m_length(length) {}
    virtual ~WeightRows() = default;
    WeightRows(const WeightRows&) = delete;
    WeightRows& operator=(const WeightRows&) = delete;

    [[nodiscard]] std::int64_t rows() const { return m_rows; }
    /// Numbers in a row.
    [[nodiscard]] std::int64_t length() const { return m_length; }
    /// Numbers [begin, begin + count) of a row, inside of it, as float32. From several threads at a time.
    virtual void widen(std::int64_t row, std::int64_t begin, std::int64_t count, float* to) const = 0;

private:
    std::int64_t m_rows;
    std::int64_t m_length;
};

/// The rows of a matrix (rank 2, row-major) of float32, float16 or bfloat16, with a variant of the weights applied to
/// each number after it was widened: the numbers that WeightVariants::make() gives.
[[nodiscard]] std::unique_ptr<const WeightRows> weightRows(const Tensor& matrix, WeightVariant variant);

/// True for what weightRows() takes.
[[nodiscard]] bool hasWeightRows(const Tensor& matrix);

} // namespace retro::ops
