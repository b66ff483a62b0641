// SPDX-License-Identifier: Apache-2.0
#include "app/python/arrays.h"

#include "app/python/errors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

namespace retro::python
{

namespace nb = nanobind;
using tensor::DType;
using tensor::Tensor;

namespace
{

struct TypePair
{
    DType ours;
    nb::dlpack::dtype theirs;
};

constexpr nb::dlpack::dtype theirType(nb::dlpack::dtype_code code, std::uint8_t bits)
{
    return {static_cast<std::uint8_t>(code), bits, 1};
}

/// Types that both sides have.
const std::array<TypePair, 13>& typePairs()
{
    using enum nb::dlpack::dtype_code;
    static const std::array<TypePair, 13> kPairs{{{DType::Float32, theirType(Float, 32)},
                                                  {DType::Float64, theirType(Float, 64)},
                                                  {DType::Float16, theirType(Float, 16)},
                                                  {DType::BFloat16, theirType(Bfloat, 16)},
                                                  {DType::Int8, theirType(Int, 8)},
                                                  {DType::UInt8, theirType(UInt, 8)},
                                                  {DType::Int16, theirType(Int, 16)},
                                                  {DType::UInt16, theirType(UInt, 16)},
                                                  {DType::Int32, theirType(Int, 32)},
                                                  {DType::UInt32, theirType(UInt, 32)},
                                                  {DType::Int64, theirType(Int, 64)},
                                                  {DType::UInt64, theirType(UInt, 64)},
                                                  {DType::Bool, theirType(Bool, 8)}}};
    return kPairs;
}

std::optional<DType> ourType(nb::dlpack::dtype type)
{
    const auto& pairs = typePairs();
    const auto* const found = std::ranges::find_if(pairs, [&](const TypePair& pair) { return pair.theirs == type; });
    return found == pairs.end() ? std::nullopt : std::optional(found->ours);
}

std::optional<nb::dlpack::dtype> theirTypeOf(DType type)
{
    const auto& pairs = typePairs();
    const auto* const found = std::ranges::find_if(pairs, [&](const TypePair& pair) { return pair.ours == type; });
    const bool isThere = found != pairs.end() && type != DType::BFloat16; // numpy does not have it
    return isThere ? std::optional(found->theirs) : std::nullopt;
}

/// Lets an array go: whoever has the tensor last may not hold the lock of the interpreter.
struct ArrayHolder
{
    explicit ArrayHolder(AnyArray held) : array(std::move(held)) {}
    ~ArrayHolder()
    {
        const nb::gil_scoped_acquire lock;
        array = AnyArray();
    }
    ArrayHolder(const ArrayHolder&) = delete;
    ArrayHolder& operator=(const ArrayHolder&) = delete;
    AnyArray array;
};

/// The same elements in memory of their own, row-major.
Tensor copied(const Tensor& view)
{
    const Tensor row = view.contiguous();
    if (row.storage() != view.storage()) {
        return row;
    }
    tensor::TensorBuffer buffer(row.dtype(), row.shape());
    if (row.bytes() > 0) {
        std::memcpy(buffer.rawData(), row.rawData(), static_cast<std::size_t>(row.bytes()));
    }
    return std::move(buffer).freeze();
}

} // namespace

Tensor tensorOf(const AnyArray& array, bool copies)
{
    const std::optional<DType> type = ourType(array.dtype());
    if (!type) {
        throw Refused(base::inputError("arrays of this element type are not taken; convert it to float32, float64, or "
                                       "the type that the model declares"));
    }
    tensor::Shape shape;
    tensor::Shape strides;
    std::int64_t reach = 1;
    bool isEmpty = false;
    for (std::size_t axis = 0; axis < array.ndim(); ++axis) {
        const auto extent = static_cast<std::int64_t>(array.shape(axis));
        const std::int64_t stride = extent > 1 ? array.stride(axis) : 1;
        if (stride < 0) {
            throw Refused(base::inputError("an array that runs backwards cannot be read in place; copy it first"));
        }
        shape.push_back(extent);
        strides.push_back(stride);
        reach += (std::max<std::int64_t>(extent, 1) - 1) * stride;
        isEmpty = isEmpty || extent == 0;
    }
    if (isEmpty) {
        return Tensor::zeros(*type, std::move(shape));
    }
    const auto bytes = static_cast<std::size_t>(reach) * tensor::sizeOf(*type);
    const std::span<const std::byte> data(static_cast<const std::byte*>(array.data()), bytes);
    const bool isAligned = reinterpret_cast<std::uintptr_t>(data.data()) % tensor::sizeOf(*type) == 0;
    if (!isAligned) {
        throw Refused(
            base::inputError("the elements of this array do not lie where their type may lie; copy it first"));
    }
    const std::shared_ptr<const void> owner = std::make_shared<ArrayHolder>(array);
    const Tensor view(*type, std::move(shape), std::move(strides), 0,
                      std::make_shared<const tensor::Storage>(owner, data));
    return copies ? copied(view) : view;
}

nb::object arrayOf(const Tensor& tensor)
{
    const std::optional<nb::dlpack::dtype> type = theirTypeOf(tensor.dtype());
    auto held = std::make_unique<Tensor>(type ? tensor : tensor.to(DType::Float32));
    std::vector<std::size_t> shape(held->shape().begin(), held->shape().end());
    const std::vector<std::int64_t> strides = held->strides();
    const std::byte* const data = held->rawData();
    const nb::capsule owner(held.get(), [](void* kept) noexcept { delete static_cast<Tensor*>(kept); });
    const std::size_t rank = held->rank();
    static_cast<void>(held.release());
    return nb::cast(nb::ndarray<nb::numpy, nb::ro>(data, rank, shape.data(), owner, strides.data(),
                                                   type.value_or(*theirTypeOf(DType::Float32))));
}

} // namespace retro::python
