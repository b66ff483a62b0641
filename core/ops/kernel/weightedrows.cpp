// SPDX-License-Identifier: Apache-2.0
#include "core/ops/kernel/weightedrows.h"

#include "core/ops/kernel/wideregisters.h"
#include "core/ops/threads.h"

#include <algorithm>
#include <array>
#include <vector>

namespace retro::ops
{

using tensor::DType;
using tensor::Tensor;

namespace
{

constexpr std::size_t kRowsTogether = 8; // so that the sums are read and written once for as many rows
constexpr std::int64_t kColumns = 2048;  // whose sums stay in the first cache meanwhile
constexpr std::int64_t kFewElements = 1 << 16;

struct WeightedRow
{
    float weight = 0;
    const float* row = nullptr;
};

// Rows and weights by value: the compiler must see that writing sums does not change them.
RETRO_WIDE_REGISTERS
void addRows(const WeightedRow* group, std::int64_t begin, std::int64_t end, float* __restrict sums)
{
    std::array<WeightedRow, kRowsTogether> rows{};
    std::copy_n(group, kRowsTogether, rows.begin());
    for (std::int64_t i = begin; i < end; ++i) {
        float sum = sums[i];
        for (const WeightedRow& one : rows) {
            sum += one.weight * one.row[i];
        }
        sums[i] = sum;
    }
}

} // namespace

Tensor weightedRows(const Tensor& s, const Tensor& matrix)
{
    const bool isOneRow = s.rank() == 2 && s.shape()[0] == 1 && s.dtype() == DType::Float32;
    if (!isOneRow || matrix.rank() != 2 || !matrix.isContiguous() || matrix.size() < kFewElements) {
        return {};
    }
    const std::int64_t count = matrix.shape()[0];
    const std::int64_t columns = matrix.shape()[1];
    const Tensor weights = s.contiguous();
    std::vector<WeightedRow> rows;
    for (std::int64_t row = 0; row < count; ++row) {
        if (const float weight = weights.data<float>()[row]; weight != 0) {
            rows.push_back({weight, matrix.data<float>() + row * columns});
        }
    }
    if (std::ssize(rows) > count / 4 * 3) {
        return {};
    }
    while (rows.size() % kRowsTogether != 0) {
        rows.push_back({0, rows.back().row}); // adds 0
    }
    tensor::TensorBuffer buffer(DType::Float32, {1, columns});
    float* const sums = buffer.data<float>();
    parallelFor(columns, kColumns, [&](std::int64_t first, std::int64_t last) {
        std::fill(sums + first, sums + last, 0.0F);
        for (std::int64_t begin = first; begin < last; begin += kColumns) {
            const std::int64_t end = std::min(begin + kColumns, last);
            for (std::size_t at = 0; at < rows.size(); at += kRowsTogether) {
                addRows(rows.data() + at, begin, end, sums);
            }
        }
    });
    return std::move(buffer).freeze();
}

} // namespace retro::ops
