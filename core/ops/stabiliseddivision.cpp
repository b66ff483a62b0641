// SPDX-License-Identifier: Apache-2.0
#include "core/ops/stabiliseddivision.h"

#include "core/ops/kernel/blocksums.h"
#include "core/ops/kernel/mapover.h"
#include "core/ops/kernel/visitnumber.h"

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace retro::ops::algebra
{

namespace
{

DivisionAmounts& operator+=(DivisionAmounts& a, const DivisionAmounts& b)
{
    a.sums.dividend += b.sums.dividend;
    a.sums.overZero += b.sums.overZero;
    a.sums.product += b.sums.product;
    a.bias += b.bias;
    return a;
}

DivisionAmounts pairwise(const DivisionAmounts* parts, std::size_t count)
{
    if (count <= 2) {
        DivisionAmounts total = count == 0 ? DivisionAmounts() : parts[0];
        return count == 2 ? total += parts[1] : total;
    }
    DivisionAmounts left = pairwise(parts, count / 2);
    return left += pairwise(parts + count / 2, count - count / 2);
}

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
    void copyTo(T* to, std::int64_t i, std::int64_t count) const
    {
        const T* const from = data + i / stride % extent;
        if (stride == 1) {
            std::copy(from, from + count, to);
        } else {
            std::fill(to, to + count, *from);
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

/// A few elements on their way from base and bias to the quotient.
template <class T>
struct Block
{
    const T* d = nullptr; ///< denominators: where base has them, or `sums`
    std::array<T, kSumBlock> sums{};
    std::array<T, kSumBlock> bias{};
    std::int64_t count = 0;
};

/// Where d is 0 or infinite: Σ r over zeros, and Σ s·d with r for s·d at infinity.
template <class T>
void countSpecial(const T* r, const T* s, const Block<T>& block, DivisionSums& sums)
{
    for (std::int64_t i = 0; i < block.count; ++i) {
        const T d = block.d[i];
        const auto arrived = static_cast<double>(r[i]);
        sums.overZero += d == T{0} ? arrived : 0;
        sums.product += std::isinf(d) ? arrived : static_cast<double>(s[i]) * static_cast<double>(d);
    }
}

template <class T>
DivisionAmounts amountsOf(const T* r, const T* s, const Block<T>& block, bool hasBias)
{
    DivisionAmounts amounts;
    amounts.sums.dividend = blockSum(r, block.count);
    if (blockHasZeroOrInfinity(block.d, block.count)) {
        countSpecial(r, s, block, amounts.sums);
    } else {
        amounts.sums.product = blockDot(s, block.d, block.count);
    }
    amounts.bias = hasBias ? blockDot(s, block.bias.data(), block.count) : 0;
    return amounts;
}

/// All of one division. r, base and s are dense in one order.
template <class T>
struct Division
{
    const T* r;
    const T* base;
    T* s; ///< may be base
    std::int64_t size;
    BiasRow<T> bias;
    bool isBiasIn;
    const Stabiliser& stabiliser;

    void load(Block<T>& block, std::int64_t at, bool wantsBias) const
    {
        const bool adds = bias.data != nullptr && !isBiasIn;
        if (adds || (bias.data != nullptr && wantsBias)) {
            bias.fill(block.bias.data(), at, block.count);
        }
        block.d = base + at;
        if (adds) {
            for (std::int64_t i = 0; i < block.count; ++i) {
                const auto to = static_cast<std::size_t>(i);
                block.sums[to] = base[at + i] + block.bias[to];
            }
        } else if (s == base) { // which is about to be written over
            std::copy(block.d, block.d + block.count, block.sums.begin());
        }
        block.d = adds || s == base ? block.sums.data() : block.d;
    }

    [[nodiscard]] DivisionAmounts chunk(std::int64_t begin, std::int64_t end, bool sums) const
    {
        Block<T> block;
        DivisionAmounts amounts;
        for (std::int64_t at = begin; at < end; at += block.count) {
            block.count = std::min(kSumBlock, end - at);
            load(block, at, sums);
            const T* const x = r + at;
            T* const out = s + at;
            blockQuotient(x, block.d, stabiliser, out, block.count);
            if (sums) {
                amounts += amountsOf(x, out, block, bias.data != nullptr);
            }
        }
        return amounts;
    }

    [[nodiscard]] DivisionAmounts run(bool sums) const
    {
        std::vector<DivisionAmounts> parts(static_cast<std::size_t>((size + kSumChunk - 1) / kSumChunk));
        parallelFor(static_cast<std::int64_t>(parts.size()), 4, [&](std::int64_t first, std::int64_t last) {
            for (std::int64_t i = first; i < last; ++i) {
                parts[static_cast<std::size_t>(i)] = chunk(i * kSumChunk, std::min(size, (i + 1) * kSumChunk), sums);
            }
        });
        return pairwise(parts.data(), parts.size());
    }
};

/// A bias whose extents are 1 but for one axis, seen along a dense tensor; no data when it is another kind of bias.
template <class T>
BiasRow<T> rowOf(const Tensor& bias, const Tensor& base)
{
    BiasRow<T> row;
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

bool isDividedHere(const Denominator& denominator, const Stabiliser& stabiliser)
{
    const Tensor& bias = denominator.bias;
    return stabiliser.kind != StabiliserKind::RmsScaled && denominator.base.isDense() &&
           (!bias.isValid() || (bias.isContiguous() && bias.rank() <= denominator.base.rank()));
}

/// The same in steps, for what the one walk does not cover.
Tensor divideInSteps(const Tensor& r, const Denominator& denominator, const Stabiliser& stabiliser,
                     DivisionAmounts* amounts)
{
    const auto& [base, bias, isBiasIn] = denominator;
    const Tensor d = bias.isValid() && !isBiasIn ? addBroadcast(base, bias) : base;
    const Tensor s = stabilisedQuotient(r, d, stabiliser);
    if (amounts != nullptr) {
        *amounts = {divisionSums(r, s, d), bias.isValid() ? dot(s, broadcastTo(bias, s.shape())) : 0};
    }
    return s;
}

template <class T>
Tensor divideAtOnce(const Tensor& r, Denominator denominator, const BiasRow<T>& bias, const Stabiliser& stabiliser,
                    DivisionAmounts* amounts)
{
    Tensor& base = denominator.base;
    const Tensor dividend = withStrides(r, base.strides());
    const tensor::Shape shape = base.shape();
    const tensor::Shape strides = base.strides();
    T* out = writable<T>(base);
    std::optional<tensor::TensorBuffer> buffer;
    if (out == nullptr) {
        buffer.emplace(base.dtype(), shape, strides);
        out = buffer->template data<T>();
    }
    const Division<T> division{dividend.data<T>(),   base.data<T>(), out, base.size(), bias,
                               denominator.isBiasIn, stabiliser};
    const DivisionAmounts made = division.run(amounts != nullptr);
    if (amounts != nullptr) {
        *amounts = made;
    }
    return buffer ? std::move(*buffer).freeze() : std::move(base);
}

} // namespace

Tensor stabilisedDivision(const Tensor& r, Denominator denominator, const Stabiliser& stabiliser,
                          DivisionAmounts* amounts)
{
    assert(r.shape() == denominator.base.shape());
    if (!isDividedHere(denominator, stabiliser)) {
        return divideInSteps(r, denominator, stabiliser, amounts);
    }
    return visitFloat(r.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const BiasRow<T> bias =
            denominator.bias.isValid() ? rowOf<T>(denominator.bias, denominator.base) : BiasRow<T>();
        return denominator.bias.isValid() && bias.data == nullptr
                   ? divideInSteps(r, denominator, stabiliser, amounts)
                   : divideAtOnce(r, std::move(denominator), bias, stabiliser, amounts);
    });
}

} // namespace retro::ops::algebra
