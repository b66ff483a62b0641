// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/kernel/blocksums.h"
#include "core/ops/stabiliseddivision.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace retro::ops::algebra
{

// Parts of divisions that go block by block and sum what a ledger wants on the way.

DivisionAmounts& operator+=(DivisionAmounts& a, const DivisionAmounts& b);
/// All of them, pairwise.
[[nodiscard]] DivisionAmounts sumPairwise(const DivisionAmounts* parts, std::size_t count);

/// Where the bias of an element lies: at (i / stride) % extent of the row that `data` begins.
template <class T>
struct BiasRow
{
    const T* data = nullptr; ///< null: no bias
    std::int64_t stride = 1;
    std::int64_t extent = 1;

    /// Elements from i on that are one piece of the row, or have one and the same bias.
    [[nodiscard]] std::int64_t runAt(std::int64_t i) const
    {
        const std::int64_t row = stride == 1 ? extent : stride;
        return row - i % row;
    }
    /// `count` biases from i on, which are no more than runAt(i).
    void copyTo(T* to, std::int64_t i, std::int64_t count) const
    {
        const T* const from = data + i / stride % extent;
        if (stride == 1) {
            std::copy(from, from + count, to);
        } else {
            std::fill(to, to + count, *from);
        }
    }
    /// True when every block of kSumBlock elements has the same biases.
    [[nodiscard]] bool isSameInBlocks() const { return extent == 1 || (stride == 1 && kSumBlock % extent == 0); }
    /// The biases of the block at i, `to` having those of the one before it in the chunk.
    void fillBlock(T* to, std::int64_t i, std::int64_t count) const
    {
        if (i % kSumChunk == 0 || !isSameInBlocks()) {
            fill(to, i, count);
        }
    }
    /// The biases of `count` elements from i on.
    void fill(T* to, std::int64_t i, std::int64_t count) const
    {
        for (std::int64_t done = 0; done < count;) {
            const std::int64_t length = std::min(runAt(i + done), count - done);
            copyTo(to + done, i + done, length);
            done += length;
        }
    }
};

/// True for one sample of a dense tensor, laid out as each of the tensor's is.
[[nodiscard]] bool isOneSample(const Tensor& bias, const Tensor& base);

/// A bias whose extents are 1 but for one axis, or that is one sample, seen along a dense tensor; no data when it is
/// another kind of bias.
template <class T>
BiasRow<T> rowOf(const Tensor& bias, const Tensor& base)
{
    BiasRow<T> row;
    if (isOneSample(bias, base)) {
        return {bias.data<T>(), 1, bias.size()};
    }
    if (!bias.isContiguous()) {
        return row;
    }
    const std::size_t lead = base.rank() - bias.rank();
    for (std::size_t axis = 0; axis < bias.rank(); ++axis) {
        if (bias.shape()[axis] == 1) {
            continue;
        }
        if (row.extent != 1) {
            return {};
        }
        row.extent = bias.shape()[axis];
        row.stride = base.strides()[lead + axis];
    }
    row.stride = row.extent == 1 ? std::max<std::int64_t>(base.size(), 1) : row.stride; // one number for all
    row.data = bias.data<T>();
    return row;
}

/// Where d is 0 or infinite: Σ r over zeros, and Σ s·d with r for s·d at infinity.
template <class T>
void countSpecial(const T* r, const T* s, const T* d, std::int64_t count, DivisionSums& sums)
{
    for (std::int64_t i = 0; i < count; ++i) {
        const auto arrived = static_cast<double>(r[i]);
        sums.overZero += d[i] == T{0} ? arrived : 0;
        sums.product += std::isinf(d[i]) ? arrived : static_cast<double>(s[i]) * static_cast<double>(d[i]);
    }
}

/// A block that was divided: s = r / stab(d).
template <class T>
struct DividedBlock
{
    const T* r;
    const T* s;
    const T* d;
    const T* bias; ///< null: none
    std::int64_t count;
    bool isSpecial;     ///< a denominator is 0 or infinite
    bool wantsDividend; ///< else Σ r is left 0
};

template <class T>
DivisionAmounts amountsOf(const DividedBlock<T>& block)
{
    DivisionAmounts amounts;
    amounts.sums.dividend = block.wantsDividend ? blockSum(block.r, block.count) : 0;
    if (block.isSpecial) {
        countSpecial(block.r, block.s, block.d, block.count, amounts.sums);
    } else {
        amounts.sums.product = blockDot(block.s, block.d, block.count);
    }
    amounts.bias = block.bias != nullptr ? blockDot(block.s, block.bias, block.count) : 0;
    return amounts;
}

} // namespace retro::ops::algebra
