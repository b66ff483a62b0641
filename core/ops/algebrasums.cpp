// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebrasums.h"

#include "core/base/failure.h"
#include "core/ops/algebra.h"
#include "core/ops/algebraover.h"
#include "core/ops/kernel/blocksums.h"
#include "core/ops/kernel/mapover.h"
#include "core/ops/kernel/visitnumber.h"
#include "core/ops/threads.h"

#include <array>
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

SumAndMagnitude operator+(const SumAndMagnitude& a, const SumAndMagnitude& b)
{
    return {a.sum + b.sum, a.magnitude + b.magnitude};
}

/// Of a block of an addition.
struct AdditionSums
{
    SumAndMagnitude sums;
    double lost = 0;
};

AdditionSums operator+(const AdditionSums& a, const AdditionSums& b) { return {a.sums + b.sums, a.lost + b.lost}; }

// `block(begin, length)` gives the sums of a block. Halves until blocks are short: the error grows with the logarithm
// of the length.
template <class Block>
auto pairwise(std::int64_t begin, std::int64_t length, const Block& block) -> decltype(block(begin, length))
{
    if (length > kSumBlock) {
        const std::int64_t half = length / 2;
        const auto left = pairwise(begin, half, block);
        return left + pairwise(begin + half, length - half, block);
    }
    return block(begin, length);
}

// As they are where they are dense and lie alike, else row-major.
template <class... Others>
std::array<Tensor, 1 + sizeof...(Others)> laidAlike(const Tensor& first, const Others&... others)
{
    const bool share = first.isDense() && ((others.strides() == first.strides()) && ...);
    return share ? std::array{first, others...} : std::array{first.contiguous(), others.contiguous()...};
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
        return pairwise(0, plain.size(), [data](std::int64_t begin, std::int64_t length) {
            return blockMagnitude(data + begin, length);
        });
    });
}

namespace
{

// On one thread; null where a's memory cannot be written over, or b does not lie as it does.
template <class T>
std::optional<SumAndMagnitude> multipliedInPlace(Tensor& a, const Tensor& b, double factor)
{
    T* const out = writable<T>(a);
    if (out == nullptr || a.shape() != b.shape() || a.strides() != b.strides()) {
        return std::nullopt;
    }
    const T* const in = b.data<T>();
    const T f = static_cast<T>(factor);
    return pairwise(0, a.size(), [out, in, f](std::int64_t begin, std::int64_t length) {
        blockMultiply(out + begin, in + begin, f, length);
        return blockMagnitude(out + begin, length);
    });
}

} // namespace

SummedTensor multiplyAndSum(Tensor a, const Tensor& b, double factor)
{
    if (threads() == 1) {
        const auto sums =
            visitFloat(a.dtype(), [&](auto zero) { return multipliedInPlace<decltype(zero)>(a, b, factor); });
        if (sums) {
            return {std::move(a), *sums};
        }
    }
    Tensor product = multiplyScaledOver(std::move(a), b, factor); // several threads gain more by multiplying together
    const SumAndMagnitude sums = sumAndMagnitude(product);
    return {std::move(product), sums};
}

double lostInSum(const Tensor& a, const Tensor& b, const Tensor& sum)
{
    const auto t = laidAlike(a, b, sum);
    return visitFloat(a.dtype(), [&t](auto zero) {
        using T = decltype(zero);
        return pairwise(0, t[0].size(), [&t](std::int64_t begin, std::int64_t length) {
            return blockLost(t[0].data<T>() + begin, t[1].data<T>() + begin, t[2].data<T>() + begin, length);
        });
    });
}

namespace
{

// On one thread, of dense tensors that lie alike.
template <class T>
SummedAddition addedAndSummed(const Tensor& a, const Tensor& b)
{
    const T* const x = a.data<T>();
    const T* const y = b.data<T>();
    tensor::TensorBuffer buffer(a.dtype(), a.shape(), a.strides());
    T* const out = buffer.data<T>();
    const AdditionSums made = pairwise(0, a.size(), [=](std::int64_t begin, std::int64_t length) {
        blockAdd(x + begin, y + begin, out + begin, length);
        return AdditionSums{blockMagnitude(out + begin, length), blockLost(x + begin, y + begin, out + begin, length)};
    });
    return {std::move(buffer).freeze(), made.sums, made.lost};
}

} // namespace

SummedAddition addAndSum(const Tensor& a, const Tensor& b)
{
    base::guard(a.dtype() == b.dtype() && a.shape() == b.shape(), "two tensors of one type and shape are summed");
    if (threads() == 1 && a.isDense() && a.strides() == b.strides()) {
        return visitFloat(a.dtype(), [&](auto zero) { return addedAndSummed<decltype(zero)>(a, b); });
    }
    Tensor whole = add(a, b); // several threads gain more by adding together
    const SumAndMagnitude sums = sumAndMagnitude(whole);
    const double lost = lostInSum(a, b, whole);
    return {std::move(whole), sums, lost};
}

double sum(const Tensor& a) { return sumAndMagnitude(a).sum; }

double sumAbsolute(const Tensor& a) { return sumAndMagnitude(a).magnitude; }

double dot(const Tensor& a, const Tensor& b)
{
    base::guard(a.dtype() == b.dtype() && a.shape() == b.shape(), "two tensors of one type and shape are summed");
    const auto t = laidAlike(a, b);
    return visitFloat(a.dtype(), [&t](auto zero) {
        using T = decltype(zero);
        return pairwise(0, t[0].size(), [&t](std::int64_t begin, std::int64_t length) {
            return blockDot(t[0].data<T>() + begin, t[1].data<T>() + begin, length); // as the reference's pairwiseSum
        });
    });
}

DivisionSums divisionSums(const Tensor& r, const Tensor& s, const Tensor& d)
{
    const auto t = laidAlike(r, s, d);
    return visitFloat(r.dtype(), [&t](auto zero) {
        using T = decltype(zero);
        return pairwise(0, t[0].size(), [&t](std::int64_t begin, std::int64_t length) {
            return sumsOfBlock(t[0].data<T>() + begin, t[1].data<T>() + begin, t[2].data<T>() + begin, length);
        });
    });
}

} // namespace retro::ops::algebra
