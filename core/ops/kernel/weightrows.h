// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/structure.h"

#include <cstdint>
#include <memory>
#include <utility>

namespace retro::ops
{

struct TurnedProduct;

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
    /// Where pieces of rows go: `width` numbers side by side for each row, the last piece filled up with zeros.
    struct Panels
    {
        std::int64_t width = 0;
        std::int64_t step = 0; ///< from the first row of a piece to that of the next piece
        float* line = nullptr; ///< room for a piece of a row that is widened, in whole widths
        float* to = nullptr;
    };
    /// Numbers [begin, begin + count) of `rows` rows from `first` on, as panels.
    virtual void widenPanels(std::int64_t first, std::int64_t rows, std::int64_t begin, std::int64_t count,
                             const Panels& panels) const;
    /// True where widening a few numbers of a row takes little more than its part of the row.
    [[nodiscard]] virtual bool beginsFast() const { return false; }
    /// Where the numbers of a row lie from `begin` on if they are bfloat16, and used as they are; null: they are not.
    /// That of the next row lies length() numbers on.
    [[nodiscard]] virtual const std::uint16_t* bfloats([[maybe_unused]] std::int64_t row,
                                                       [[maybe_unused]] std::int64_t begin) const
    {
        return nullptr;
    }
    /// Sums of a product of few rows with columns that are rows here, straight from what is stored: a, c, depth, block
    /// and columns of `product` are given, and its first column is row `first`. False: not of numbers in this form.
    [[nodiscard]] virtual bool multiplyFew([[maybe_unused]] const TurnedProduct& product,
                                           [[maybe_unused]] std::int64_t first) const
    {
        return false;
    }
    /// Asks memory for numbers that will be widened soon.
    virtual void fetch([[maybe_unused]] std::int64_t row, [[maybe_unused]] std::int64_t begin,
                       [[maybe_unused]] std::int64_t count) const
    {}

private:
    std::int64_t m_rows;
    std::int64_t m_length;
};

/// Asks memory for these bytes; for the second cache, as there may be many.
void fetchBytes(const void* from, std::int64_t count);

/// The rows of a matrix (rank 2, row-major) of float32, float16 or bfloat16, with a variant of the weights applied to
/// each number after it was widened: the numbers that WeightVariants::make() gives.
[[nodiscard]] std::unique_ptr<const WeightRows> weightRows(const Tensor& matrix, WeightVariant variant);

/// Applies a variant to numbers that were widened; as weightRows() does.
void applyVariant(float* numbers, std::int64_t count, WeightVariant variant);

/// A constant matrix of weights in a form of its own (whole numbers of few bits, with scales), of which no wide copy is
/// kept.
class PackedMatrix
{
public:
    explicit PackedMatrix(tensor::Shape shape) : m_shape(std::move(shape)) {}
    virtual ~PackedMatrix() = default;
    PackedMatrix(const PackedMatrix&) = delete;
    PackedMatrix& operator=(const PackedMatrix&) = delete;

    /// Rows × columns, as x is multiplied with it.
    [[nodiscard]] const tensor::Shape& shape() const { return m_shape; }
    /// Its columns as rows, with a variant of the weights.
    [[nodiscard]] virtual std::unique_ptr<const WeightRows> columns(WeightVariant variant) const = 0;
    /// All of it, in float32 or float64.
    [[nodiscard]] virtual Tensor widened(tensor::DType type) const = 0;

private:
    tensor::Shape m_shape;
};

/// True for what weightRows() takes.
[[nodiscard]] bool hasWeightRows(const Tensor& matrix);

} // namespace retro::ops
