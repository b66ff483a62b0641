// SPDX-License-Identifier: Apache-2.0
#include "core/ops/kernel/roundnumbers.h"

#include "core/ops/kernel/mapover.h"
#include "core/ops/kernel/registers.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>

namespace retro::ops
{

using tensor::DType;
using tensor::Tensor;

namespace
{

constexpr std::uint32_t kMagnitude = 0x7fffffffU;
constexpr std::uint32_t kInfinite = 0x7f800000U;

// Selections in place of branches: the loops over these vectorise.

/// The nearest number of float16. Below the smallest normal one its numbers are the multiples of 2⁻²⁴, the distance of
/// neighbours in float32 between 1/2 and 1.
struct NearestHalf
{
    static float of(float x)
    {
        const auto bits = std::bit_cast<std::uint32_t>(x);
        const std::uint32_t magnitude = bits & kMagnitude;
        const std::uint32_t near = (magnitude + 0xfffU + ((magnitude >> 13U) & 1U)) & ~0x1fffU;
        const std::uint32_t normal = near >= 0x47800000U ? kInfinite : near;
        const auto tiny = std::bit_cast<std::uint32_t>((std::bit_cast<float>(magnitude) + 0.5F) - 0.5F);
        const std::uint32_t finite = magnitude < 0x38800000U ? tiny : normal;
        return std::bit_cast<float>((bits & ~kMagnitude) | (magnitude >= kInfinite ? magnitude : finite));
    }
};

struct NearestBfloat
{
    static float of(float x)
    {
        const auto bits = std::bit_cast<std::uint32_t>(x);
        const std::uint32_t near = (bits + 0x7fffU + ((bits >> 16U) & 1U)) & 0xffff0000U;
        return std::bit_cast<float>((bits & kMagnitude) > kInfinite ? bits | 0x400000U : near);
    }
};

struct NearestFloat
{
    static float of(float x) { return x; }
};

/// How many became infinite, of so few that they can be counted beside the numbers.
template <class Nearest, class T>
std::int32_t roundPiece(T* elements, std::int64_t count)
{
    std::int32_t beyond = 0;
    onWidestRegisters([elements, count, &beyond] {
        std::int32_t lost = 0;
        for (std::int64_t i = 0; i < count; ++i) {
            const T before = elements[i];
            const T after = static_cast<T>(Nearest::of(static_cast<float>(before)));
            lost += static_cast<std::int32_t>(std::isinf(after)) - static_cast<std::int32_t>(std::isinf(before));
            elements[i] = after;
        }
        beyond = lost;
    });
    return beyond;
}

template <class Nearest, class T>
std::int64_t roundElements(T* elements, std::int64_t count)
{
    std::atomic<std::int64_t> beyond = 0;
    constexpr std::int64_t kPiece = 32768;
    parallelFor(count, kPiece, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; i += kPiece) {
            beyond += roundPiece<Nearest>(elements + i, std::min(kPiece, end - i));
        }
    });
    return beyond;
}

template <class T>
std::int64_t roundTensor(Tensor& t, DType type)
{
    T* elements = writable<T>(t);
    if (elements == nullptr) {
        const tensor::Shape strides = t.isDense() ? t.strides() : tensor::rowMajorStrides(t.shape());
        const Tensor dense = t.isDense() ? t : t.contiguous();
        tensor::TensorBuffer copy(t.dtype(), t.shape(), strides);
        std::memcpy(copy.rawData(), dense.rawData(), copy.bytes());
        t = std::move(copy).freeze();
        elements = writable<T>(t);
    }
    switch (type) {
    case DType::Float16:
        return roundElements<NearestHalf>(elements, t.size());
    case DType::BFloat16:
        return roundElements<NearestBfloat>(elements, t.size());
    default:
        return roundElements<NearestFloat>(elements, t.size());
    }
}

} // namespace

bool isWiderThan(DType stored, DType type)
{
    return tensor::isFloating(type) && tensor::sizeOf(type) < tensor::sizeOf(stored);
}

std::int64_t roundNumbers(Tensor& t, DType type)
{
    if (!tensor::isFloating(t.dtype()) || !isWiderThan(t.dtype(), type)) {
        return 0;
    }
    return t.dtype() == DType::Float64 ? roundTensor<double>(t, type) : roundTensor<float>(t, type);
}

} // namespace retro::ops
