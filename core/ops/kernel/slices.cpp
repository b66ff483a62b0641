// SPDX-License-Identifier: Apache-2.0
#include "core/ops/kernel/slices.h"

#include "core/base/failure.h"
#include "core/ops/kernel/elementloop.h"
#include "core/tensor/stridedcopy.h"

namespace retro::ops
{

using tensor::Shape;

Tensor slice(const Tensor& t, std::size_t axis, std::int64_t begin, std::int64_t count)
{
    base::guard(axis < t.rank() && begin >= 0 && count >= 0 && begin <= t.shape()[axis] - count,
                "a slice lies in its axis");
    Shape shape = t.shape();
    shape[axis] = count;
    return {t.dtype(), std::move(shape), t.strides(), t.offset() + begin * t.strides()[axis], t.storage()};
}

Tensor withAxis(const Tensor& t, std::size_t axis)
{
    Shape shape = t.shape();
    Shape strides = t.strides();
    base::guard(axis <= shape.size(), "a new axis lies beside those that are there");
    const std::int64_t step = axis < strides.size() ? strides[axis] * shape[axis] : 1;
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
    strides.insert(strides.begin() + static_cast<std::ptrdiff_t>(axis), step);
    return {t.dtype(), std::move(shape), std::move(strides), t.offset(), t.storage()};
}

Tensor withoutAxis(const Tensor& t, std::size_t axis)
{
    base::guard(axis < t.rank() && t.shape()[axis] == 1, "an axis that goes has one element");
    Shape shape = t.shape();
    Shape strides = t.strides();
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
    strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(axis));
    return {t.dtype(), std::move(shape), std::move(strides), t.offset(), t.storage()};
}

void place(tensor::TensorBuffer& buffer, const Shape& strides, std::int64_t offset, const Tensor& part)
{
    const std::size_t width = tensor::sizeOf(part.dtype());
    base::guard(tensor::liesWithin(part.shape(), strides, offset, static_cast<std::int64_t>(buffer.bytes() / width)),
                "a part is placed within the whole");
    tensor::copyStrided(part, buffer.rawData() + static_cast<std::size_t>(offset) * width, strides);
}

Tensor joined(const TensorType& type, std::span<const Tensor> parts, std::span<const std::int64_t> extents,
              std::size_t axis)
{
    const auto first = std::find_if(parts.begin(), parts.end(), [](const Tensor& t) { return t.isValid(); });
    if (first == parts.end()) {
        return Tensor::zeros(type.dtype, type.shape);
    }
    const Shape strides = stridesInOrderOf(*first, type.shape);
    tensor::TensorBuffer buffer(type.dtype, type.shape, strides);
    if (std::any_of(parts.begin(), parts.end(), [](const Tensor& t) { return !t.isValid(); })) {
        buffer.clear();
    }
    std::int64_t position = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].isValid()) {
            place(buffer, strides, position * strides[axis], parts[i]);
        }
        position += extents[i];
    }
    return std::move(buffer).freeze();
}

} // namespace retro::ops
