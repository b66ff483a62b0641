// SPDX-License-Identifier: Apache-2.0
#include "core/ops/kernel/elementmap.h"

#include "core/base/memorylimit.h"
#include "core/ops/kernel/visitnumber.h"
#include "core/ops/threads.h"

#include <algorithm>
#include <cstring>

namespace retro::ops
{

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

namespace
{

constexpr std::int64_t kGrain = 16384;

/// Calls f(Word{}) for an unsigned word as wide as the type.
template <class F>
void visitWord(DType type, const F& f)
{
    switch (tensor::sizeOf(type)) {
    case 1:
        return f(std::uint8_t{});
    case 2:
        return f(std::uint16_t{});
    case 4:
        return f(std::uint32_t{});
    default:
        return f(std::uint64_t{});
    }
}

bool isInside(std::int64_t position, std::int64_t count)
{
    return static_cast<std::uint64_t>(position) < static_cast<std::uint64_t>(count);
}

template <class Word>
Word fillOf(const Tensor& fill)
{
    Word word{};
    if (fill.isValid()) {
        std::memcpy(&word, fill.rawData(), sizeof(Word));
    }
    return word;
}

} // namespace

Tensor gathered(const Tensor& x, std::span<const std::int64_t> map, const Shape& shape, const Tensor& fill)
{
    const Tensor source = x.contiguous();
    tensor::TensorBuffer buffer(x.dtype(), shape);
    const std::int64_t count = source.size();
    visitWord(x.dtype(), [&](auto zero) {
        using Word = decltype(zero);
        const auto* in = reinterpret_cast<const Word*>(source.rawData());
        auto* out = reinterpret_cast<Word*>(buffer.rawData());
        const Word none = fillOf<Word>(fill);
        parallelFor(static_cast<std::int64_t>(map.size()), kGrain, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const std::int64_t position = map[static_cast<std::size_t>(i)];
                out[i] = isInside(position, count) ? in[position] : none;
            }
        });
    });
    return std::move(buffer).freeze();
}

Tensor scatterSum(const Tensor& s, std::span<const std::int64_t> map, const Shape& shape)
{
    const Tensor source = s.contiguous();
    tensor::TensorBuffer buffer(s.dtype(), shape);
    buffer.clear();
    const std::int64_t count = tensor::elementCount(shape);
    visitFloat(s.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T* in = source.data<T>();
        T* out = buffer.data<T>();
        for (std::size_t i = 0; i < map.size(); ++i) {
            if (isInside(map[i], count)) {
                out[map[i]] += in[i];
            }
        }
    });
    return std::move(buffer).freeze();
}

Tensor overwritten(const Tensor& x, std::span<const std::int64_t> map, const Tensor& updates)
{
    const Tensor source = x.contiguous();
    const Tensor parts = updates.contiguous();
    tensor::TensorBuffer buffer(x.dtype(), x.shape());
    std::memcpy(buffer.rawData(), source.rawData(), buffer.bytes());
    const std::int64_t count = source.size();
    visitWord(x.dtype(), [&](auto zero) {
        using Word = decltype(zero);
        const auto* in = reinterpret_cast<const Word*>(parts.rawData());
        auto* out = reinterpret_cast<Word*>(buffer.rawData());
        for (std::size_t i = 0; i < map.size(); ++i) {
            if (isInside(map[i], count)) {
                out[map[i]] = in[i];
            }
        }
    });
    return std::move(buffer).freeze();
}

AxisView::AxisView(const Shape& shape, std::size_t axis) : extent(shape[axis])
{
    for (std::size_t i = 0; i < shape.size(); ++i) {
        (i < axis ? outer : inner) *= i == axis ? 1 : shape[i];
    }
}

ElementMap roomForPositions(std::int64_t count)
{
    const auto positions = static_cast<std::uint64_t>(std::max<std::int64_t>(count, 0));
    base::claimMemory(sizeof(std::int64_t) * positions);
    ElementMap map;
    map.reserve(positions);
    return map;
}

ElementMap alongAxis(const Shape& shape, std::size_t axis, std::span<const std::int64_t> index)
{
    const AxisView view(shape, axis);
    ElementMap map = roomForPositions(view.outer * view.inner * static_cast<std::int64_t>(index.size()));
    for (std::int64_t o = 0; o < view.outer; ++o) {
        for (const std::int64_t e : index) {
            for (std::int64_t i = 0; i < view.inner; ++i) {
                map.push_back(isInside(e, view.extent) ? view.at(o, e, i) : -1);
            }
        }
    }
    return map;
}

std::vector<std::int64_t> integersOf(const Tensor& t)
{
    const Tensor wide = t.to(DType::Int64).contiguous();
    const auto values = wide.span<std::int64_t>();
    return {values.begin(), values.end()};
}

} // namespace retro::ops
