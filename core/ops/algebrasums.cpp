// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebrasums.h"

#include "core/ops/algebra.h"
#include "core/ops/algebraover.h"
#include "core/ops/kernel/blocksums.h"
#include "core/ops/kernel/mapover.h"
#include "core/ops/kernel/visitnumber.h"
#include "core/ops/threads.h"

#include <array>
#include <cassert>
#include <cmath>
#include <optional>
#include <utility>

namespace retro::ops::algebra
{

namespace
{

DivisionSums operator+(const DivisionSums& a, const DivisionSums& b)
{
    return {a.dividend + b.dividend, a.overZero + b.overZero, a.product + b.product};
}

constexpr std::int64_t kLanes = 8; // independent sums: an addition need not wait for the one before
using Lanes = std::array<double, kLanes>;

double total(const Lanes& lanes)
{
    return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

// Calls add(i, lane) for each element of a block.
template <class Add>
void inLanes(std::int64_t length, const Add& add)
{
    std::int64_t i = 0;
    for (; i + kLanes <= length; i += kLanes) {
        for (std::int64_t lane = 0; lane < kLanes; ++lane) {
            add(i + lane, static_cast<std::size_t>(lane));
        }
    }
    for (std::int64_t lane = 0; i < length; ++i, ++lane) {
        add(i, static_cast<std::size_t>(lane));
    }
}

template <class T>
DivisionSums sumsOfBlock(const T* r, const T* s, const T* d, std::int64_t length)
{
    Lanes dividend{};
    Lanes overZero{};
    Lanes product{};
    inLanes(length, [&](std::int64_t i, std::size_t lane) {
        const auto value = static_cast<double>(r[i]);
        dividend[lane] += value;
        overZero[lane] += d[i] == T{0} ? value : 0.0;
        product[lane] += std::isinf(d[i]) ? value : static_cast<double>(s[i]) * static_cast<double>(d[i]);
    });
    return {total(dividend), total(overZero), total(product)};
}

// Halves until blocks are short: the error grows with the logarithm of the length.
template <class T>
DivisionSums pairwiseSums(const T* r, const T* s, const T* d, std::int64_t length)
{
    if (length <= kSumBlock) {
        return sumsOfBlock(r, s, d, length);
    }
    const std::int64_t half = length / 2;
    return pairwiseSums(r, s, d, half) + pairwiseSums(r + half, s + half, d + half, length - half);
}

// As pairwiseSum of the reference, over the products of two arrays.
template <class T>
double pairwiseDot(const T* a, const T* b, std::int64_t length)
{
    if (length > kSumBlock) {
        const std::int64_t half = length / 2;
        return pairwiseDot(a, b, half) + pairwiseDot(a + half, b + half, length - half);
    }
    return blockDot(a, b, length);
}

// `block(begin, length)` gives the sums of a block.
template <class Block>
SumAndMagnitude pairwiseMagnitude(std::int64_t begin, std::int64_t length, const Block& block)
{
    if (length > kSumBlock) {
        const std::int64_t half = length / 2;
        const SumAndMagnitude left = pairwiseMagnitude(begin, half, block);
        const SumAndMagnitude right = pairwiseMagnitude(begin + half, length - half, block);
        return {left.sum + right.sum, left.magnitude + right.magnitude};
    }
    return block(begin, length);
}

// Summed as it lies in memory: bringing channels-last tensors into row-major order takes longer than the sum.
Tensor dense(const Tensor& a) { return a.isDense() ? a : a.contiguous(); }

} // namespace

SumAndMagnitude sumAndMagnitude(const Tensor& a)
{
    const Tensor plain = dense(a);
    return visitFloat(a.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T* const data = plain.data<T>();
        return pairwiseMagnitude(0, plain.size(), [data](std::int64_t begin, std::int64_t length) {
            return blockMagnitude(data + begin, length);
        });
    });
}

namespace
{

// On one thread; null where a's memory cannot be written over, or b does not lie as it does.
template <class T>
std::optional<SumAndMagnitude> multipliedInPlace(Tensor& a, const Tensor& b)
{
    T* const out = writable<T>(a);
    if (out == nullptr || a.shape() != b.shape() || a.strides() != b.strides()) {
        return std::nullopt;
    }
    const T* const in = b.data<T>();
    return pairwiseMagnitude(0, a.size(), [out, in](std::int64_t begin, std::int64_t length) {
        blockMultiply(out + begin, in + begin, length);
        return blockMagnitude(out + begin, length);
    });
}

} // namespace

SummedTensor multiplyAndSum(Tensor a, const Tensor& b)
{
    if (threads() == 1) {
        const auto sums = visitFloat(a.dtype(), [&](auto zero) { return multipliedInPlace<decltype(zero)>(a, b); });
        if (sums) {
            return {std::move(a), *sums};
        }
    }
    Tensor product = multiplyOver(std::move(a), b); // several threads gain more by multiplying together
    const SumAndMagnitude sums = sumAndMagnitude(product);
    return {std::move(product), sums};
}

double sum(const Tensor& a) { return sumAndMagnitude(a).sum; }

double sumAbsolute(const Tensor& a) { return sumAndMagnitude(a).magnitude; }

double dot(const Tensor& a, const Tensor& b)
{
    assert(a.dtype() == b.dtype() && a.shape() == b.shape());
    const bool share = a.isDense() && a.strides() == b.strides();
    const Tensor left = share ? a : a.contiguous();
    const Tensor right = share ? b : b.contiguous();
    return visitFloat(a.dtype(), [&](auto zero) {
        using T = decltype(zero);
        return pairwiseDot(left.data<T>(), right.data<T>(), left.size());
    });
}

DivisionSums divisionSums(const Tensor& r, const Tensor& s, const Tensor& d)
{
    const bool share = r.isDense() && r.strides() == s.strides() && r.strides() == d.strides();
    const Tensor plainR = share ? r : r.contiguous();
    const Tensor plainS = share ? s : s.contiguous();
    const Tensor plainD = share ? d : d.contiguous();
    return visitFloat(r.dtype(), [&](auto zero) {
        using T = decltype(zero);
        return pairwiseSums(plainR.data<T>(), plainS.data<T>(), plainD.data<T>(), r.size());
    });
}

} // namespace retro::ops::algebra
