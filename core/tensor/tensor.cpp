// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/tensor.h"

#include "core/base/memoryaccount.h"
#include "core/base/memorylimit.h"
#include "core/tensor/narrow.h"
#include "core/tensor/storagepool.h"
#include "core/tensor/stridedcopy.h"
#include "core/tensor/visit.h"

#include <bit>
#include <cstring>
#include <limits>
#include <numeric>

namespace retro::tensor
{

namespace
{

/// A number as another type. Floats become integers towards zero, cut to the integer's range; NaN becomes 0.
template <class To, class From>
To converted(From value)
{
    if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> && !std::is_same_v<To, bool>) {
        constexpr auto kLeast = static_cast<From>(std::numeric_limits<To>::min());
        constexpr auto kMost = static_cast<From>(std::numeric_limits<To>::max()); // may round up to one too many
        if (std::isnan(value)) {
            return 0;
        }
        if (value >= kMost) {
            return std::numeric_limits<To>::max();
        }
        return value <= kLeast ? std::numeric_limits<To>::min() : static_cast<To>(value);
    } else {
        return static_cast<To>(value);
    }
}

/// halfToFloat() by arithmetic and selections alone, so that a loop over it vectorises.
float widened(HalfType, std::uint16_t bits)
{
    const std::uint32_t magnitude = (bits & 0x7fffU) << 13U;
    const float scaled = std::bit_cast<float>(magnitude) * 0x1p112F;           // from the exponent's bias of 15 to 127
    const std::uint32_t special = magnitude >= 0x0f800000U ? 0x7f800000U : 0U; // infinite or NaN
    const std::uint32_t sign = (bits & 0x8000U) << 16U;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | special | sign);
}

float widened(BfloatType, std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U); }

template <class Narrow>
Tensor toFloat(const Tensor& source)
{
    TensorBuffer buffer(DType::Float32, source.shape());
    const auto* in = reinterpret_cast<const std::uint16_t*>(source.rawData());
    auto* out = buffer.data<float>();
    const std::int64_t count = source.size();
    for (std::int64_t i = 0; i < count; ++i) {
        out[i] = widened(Narrow{}, in[i]);
    }
    return std::move(buffer).freeze();
}

/// Element by element, between types of whole bytes.
Tensor convertedTo(const Tensor& source, DType dtype)
{
    TensorBuffer buffer(dtype, source.shape());
    const auto count = static_cast<std::size_t>(source.size());
    visitWide(source.dtype(), [&](auto fromTag) {
        visitWide(dtype, [&](auto toTag) {
            using From = decltype(fromTag);
            using To = decltype(toTag);
            const auto* in = reinterpret_cast<const typename From::Bits*>(source.rawData());
            auto* out = reinterpret_cast<typename To::Bits*>(buffer.rawData());
            for (std::size_t i = 0; i < count; ++i) {
                out[i] = To::store(converted<typename To::Value>(From::load(in[i])));
            }
        });
    });
    return std::move(buffer).freeze();
}

std::size_t bytesOf(const Shape& shape, DType dtype)
{
    std::int64_t bytes = 0;
    const auto width = static_cast<std::int64_t>(sizeOf(dtype));
    base::guard(!__builtin_mul_overflow(elementCount(shape), width, &bytes), "the bytes of a shape can be counted");
    return static_cast<std::size_t>(bytes);
}

} // namespace

Storage::Storage(std::size_t bytes) : m_bytes(bytes)
{
    base::claimMemory(bytes);
    m_data = StoragePool::newBlock(bytes);
    if (m_data == nullptr) {
        throw base::Failure(base::outOfMemory(bytes));
    }
    base::MemoryAccount::tensors().add(static_cast<std::int64_t>(bytes));
}

Storage::Storage(std::shared_ptr<const void> owner, std::span<const std::byte> data)
    : m_data(const_cast<std::byte*>(data.data())), m_bytes(data.size()), m_owner(std::move(owner))
{}

Storage::~Storage()
{
    if (m_owner) {
        return;
    }
    base::MemoryAccount::tensors().remove(static_cast<std::int64_t>(m_bytes)); // first: a pool asks the account
    StoragePool::dropBlock(m_data);
}

Tensor::Tensor(DType dtype, Shape shape, Shape strides, std::int64_t offset, std::shared_ptr<const Storage> storage)
    : m_storage(std::move(storage)), m_shape(std::move(shape)), m_strides(std::move(strides)), m_offset(offset),
      m_dtype(dtype)
{
    static_cast<void>(elementCount(m_shape)); // repeated elements (strides of 0) take no memory but are counted
    base::guard(m_storage != nullptr && liesWithin(m_shape, m_strides, m_offset,
                                                   static_cast<std::int64_t>(m_storage->size() / sizeOf(m_dtype))),
                "a view lies within the memory of its tensor");
}

Tensor Tensor::zeros(DType dtype, Shape shape)
{
    TensorBuffer buffer(dtype, std::move(shape));
    buffer.clear();
    return std::move(buffer).freeze();
}

Tensor Tensor::full(DType dtype, Shape shape, double value)
{
    TensorBuffer buffer(DType::Float64, std::move(shape));
    const std::span<double> values = buffer.span<double>();
    std::fill(values.begin(), values.end(), value);
    return std::move(buffer).freeze().to(dtype);
}

bool Tensor::isContiguous() const
{
    std::int64_t expected = 1;
    for (std::size_t i = m_shape.size(); i-- > 0;) {
        if (m_shape[i] != 1 && m_strides[i] != expected) {
            return false;
        }
        expected *= m_shape[i];
    }
    return true;
}

bool Tensor::isDense() const
{
    std::vector<std::size_t> order(rank());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) { return m_strides[a] < m_strides[b]; });
    std::int64_t expected = 1;
    for (const std::size_t axis : order) {
        if (m_shape[axis] == 1) {
            continue;
        }
        if (m_strides[axis] != expected) {
            return false;
        }
        expected *= m_shape[axis];
    }
    return true;
}

Tensor Tensor::contiguous() const
{
    if (!isValid() || isContiguous()) {
        return *this;
    }
    TensorBuffer buffer(m_dtype, m_shape);
    copyStrided(*this, buffer.rawData(), rowMajorStrides(m_shape));
    return std::move(buffer).freeze();
}

Tensor Tensor::to(DType dtype) const
{
    if (!isValid() || dtype == m_dtype) {
        return *this;
    }
    const Tensor source = contiguous();
    if (isNarrow(dtype)) {
        return narrowed(source, dtype);
    }
    if (isNarrow(m_dtype)) {
        return widened(source).to(dtype);
    }
    const bool isHalf = m_dtype == DType::Float16 || m_dtype == DType::BFloat16;
    if (dtype == DType::Float32 && isHalf) { // weights are widened each time that they are used
        return m_dtype == DType::Float16 ? toFloat<HalfType>(source) : toFloat<BfloatType>(source);
    }
    return convertedTo(source, dtype);
}

Tensor Tensor::reshaped(Shape shape) const
{
    base::guard(elementCount(shape) == size(), "another shape has as many elements");
    const Tensor source = contiguous();
    Shape strides = rowMajorStrides(shape);
    return {m_dtype, std::move(shape), std::move(strides), source.m_offset, source.m_storage};
}

Tensor Tensor::permuted(std::span<const std::int64_t> order) const
{
    const auto isAxis = [this](std::int64_t axis) { return axis >= 0 && axis < static_cast<std::int64_t>(rank()); };
    base::guard(order.size() == rank() && std::ranges::all_of(order, isAxis), "an order names each axis");
    Shape shape(rank());
    Shape strides(rank());
    for (std::size_t i = 0; i < rank(); ++i) {
        shape[i] = m_shape[static_cast<std::size_t>(order[i])];
        strides[i] = m_strides[static_cast<std::size_t>(order[i])];
    }
    return {m_dtype, std::move(shape), std::move(strides), m_offset, m_storage};
}

double Tensor::at(std::int64_t rowMajorIndex) const
{
    base::guard(isValid() && rowMajorIndex >= 0 && rowMajorIndex < size(), "an element that is read is there");
    std::int64_t position = 0;
    for (std::size_t i = rank(); i-- > 0;) {
        position += rowMajorIndex % m_shape[i] * m_strides[i];
        rowMajorIndex /= m_shape[i];
    }
    double value = 0;
    visitStored(m_dtype, [&](auto tag) {
        using Type = decltype(tag);
        value = static_cast<double>(Type::load(reinterpret_cast<const typename Type::Bits*>(rawData())[position]));
    });
    return value;
}

bool Tensor::bitEqual(const Tensor& other) const
{
    if (isValid() != other.isValid()) {
        return false;
    }
    if (!isValid()) {
        return true;
    }
    if (m_dtype != other.m_dtype || m_shape != other.m_shape) {
        return false;
    }
    const Tensor a = contiguous();
    const Tensor b = other.contiguous();
    return std::memcmp(a.rawData(), b.rawData(), static_cast<std::size_t>(bytes())) == 0;
}

TensorBuffer::TensorBuffer(DType dtype, Shape shape) : TensorBuffer(dtype, shape, rowMajorStrides(shape)) {}

TensorBuffer::TensorBuffer(DType dtype, Shape shape, Shape strides)
    : m_storage(std::make_shared<Storage>(bytesOf(shape, dtype))), m_shape(std::move(shape)),
      m_strides(std::move(strides)), m_dtype(dtype)
{
    base::guard(liesWithin(m_shape, m_strides, 0, elementCount(m_shape)), "a tensor is filled within its memory");
}

void TensorBuffer::clear() { std::memset(m_storage->data(), 0, m_storage->size()); }

Tensor TensorBuffer::freeze() &&
{
    return {m_dtype, std::move(m_shape), std::move(m_strides), 0, std::move(m_storage)};
}

Shape channelsLastStrides(const Shape& shape)
{
    if (shape.size() < 3) {
        return rowMajorStrides(shape);
    }
    static_cast<void>(elementCount(shape)); // then no stride overflows
    Shape strides(shape.size(), 1);
    std::int64_t step = shape[1];
    for (std::size_t i = shape.size(); i-- > 2;) {
        strides[i] = step;
        step *= shape[i];
    }
    strides[0] = step;
    return strides;
}

} // namespace retro::tensor
