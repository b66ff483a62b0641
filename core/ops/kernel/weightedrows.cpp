// SPDX-License-Identifier: Apache-2.0
#include "core/ops/kernel/weightedrows.h"

#include "core/ops/kernel/flushednumbers.h"
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

/// A row that counts, and its weight.
struct UsedRow
{
    float weight = 0;
    std::int64_t row = 0;
};

/// The rows whose weight is not 0, filled up to whole groups by rows of weight 0; empty where too few fall away.
std::vector<UsedRow> usedRows(const Tensor& s, std::int64_t count)
{
    const Tensor weights = s.contiguous();
    std::vector<UsedRow> rows;
    for (std::int64_t row = 0; row < count; ++row) {
        if (const float weight = weights.data<float>()[row]; weight != 0) {
            rows.push_back({weight, row});
        }
    }
    if (std::ssize(rows) > count / 4 * 3) {
        return {};
    }
    while (rows.size() % kRowsTogether != 0 || rows.empty()) {
        rows.push_back({0, rows.empty() ? 0 : rows.back().row}); // adds 0
    }
    return rows;
}

bool isOneRow(const Tensor& s) { return s.rank() == 2 && s.shape()[0] == 1 && s.dtype() == DType::Float32; }

/// Sums of the rows. `placed(row, begin, end, slot)` gives numbers [begin, end) of a row; what it gives stays until it
/// is asked for the same slot of the same thread again.
template <class MakeReader>
Tensor sumsOf(const std::vector<UsedRow>& used, std::int64_t columns, const MakeReader& makeReader)
{
    tensor::TensorBuffer buffer(DType::Float32, {1, columns});
    float* const sums = buffer.data<float>();
    parallelFor(columns, kColumns, [&](std::int64_t first, std::int64_t last) {
        const FlushedNumbers flushed; // as in every other product
        std::fill(sums + first, sums + last, 0.0F);
        auto placed = makeReader();
        for (std::int64_t begin = first; begin < last; begin += kColumns) {
            const std::int64_t end = std::min(begin + kColumns, last);
            for (std::size_t at = 0; at < used.size(); at += kRowsTogether) {
                std::array<WeightedRow, kRowsTogether> group;
                for (std::size_t i = 0; i < kRowsTogether; ++i) {
                    group[i] = {used[at + i].weight, placed(used[at + i].row, begin, end, i)};
                }
                addRows(group.data(), 0, end - begin, sums + begin);
            }
        }
    });
    return std::move(buffer).freeze();
}

} // namespace

Tensor weightedRows(const Tensor& s, const Tensor& matrix)
{
    if (!isOneRow(s) || matrix.rank() != 2 || !matrix.isContiguous() || matrix.size() < kFewElements) {
        return {};
    }
    const std::vector<UsedRow> used = usedRows(s, matrix.shape()[0]);
    const std::int64_t columns = matrix.shape()[1];
    const auto* const data = matrix.data<float>();
    return used.empty() ? Tensor() : sumsOf(used, columns, [&] {
        return [data, columns](std::int64_t row, std::int64_t begin, std::int64_t /*end*/, std::size_t /*slot*/) {
            return data + row * columns + begin;
        };
    });
}

Tensor weightedRows(const Tensor& s, const WeightRows& matrix)
{
    if (!isOneRow(s) || matrix.rows() * matrix.length() < kFewElements) {
        return {};
    }
    const std::vector<UsedRow> used = usedRows(s, matrix.rows());
    return used.empty() ? Tensor() : sumsOf(used, matrix.length(), [&] {
        return [&matrix, room = std::vector<float>(kRowsTogether * kColumns)](
                   std::int64_t row, std::int64_t begin, std::int64_t end, std::size_t slot) mutable {
            float* const to = room.data() + slot * kColumns;
            matrix.widen(row, begin, end - begin, to);
            return static_cast<const float*>(to);
        };
    });
}

} // namespace retro::ops
