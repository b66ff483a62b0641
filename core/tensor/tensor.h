// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/failure.h"
#include "core/tensor/dtype.h"
#include "core/tensor/shape.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace retro::tensor
{

/// Bytes of a tensor. Its own are 64-byte aligned, booked to MemoryAccount::tensors(), and released with the last
/// tensor that shares them; borrowed ones (a mapped file) are read-only, not booked, and keep their owner alive.
class Storage
{
public:
    /// Throws a base::Failure (Memory) where base::MemoryLimit or the system does not have so many.
    explicit Storage(std::size_t bytes);
    /// Borrows `data`, which `owner` keeps in place; data must be aligned for its element type.
    Storage(std::shared_ptr<const void> owner, std::span<const std::byte> data);
    ~Storage();
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;

    /// First byte.
    [[nodiscard]] std::byte* data()
    {
        base::guard(!m_owner, "memory that is only read is not written");
        return m_data;
    }
    [[nodiscard]] const std::byte* data() const { return m_data; }
    [[nodiscard]] std::size_t size() const { return m_bytes; }
    /// False for borrowed bytes.
    [[nodiscard]] bool isOwn() const { return !m_owner; }

private:
    std::byte* m_data = nullptr;
    std::size_t m_bytes = 0;
    std::shared_ptr<const void> m_owner; ///< of borrowed bytes; null for own ones
};

/// An immutable view of shared storage: element type, shape, strides (in elements) and offset. Copying shares. A
/// default-constructed tensor is empty ("no tensor"); isValid() tells. Channels-last activations are ordinary tensors
/// whose logical shape is N×C×H×W and whose strides put C last.
class Tensor
{
public:
    Tensor() = default;
    /// A view of `storage`. Throws a base::Failure where an element lies outside of it.
    Tensor(DType dtype, Shape shape, Shape strides, std::int64_t offset, std::shared_ptr<const Storage> storage);

    /// Row-major tensor with a copy of `values`; values.size() must equal the element count.
    template <class T>
    [[nodiscard]] static Tensor of(Shape shape, std::span<const T> values);
    /// One element of rank 0.
    template <class T>
    [[nodiscard]] static Tensor scalar(T value);
    /// Row-major tensor of zeros.
    [[nodiscard]] static Tensor zeros(DType dtype, Shape shape);
    /// Row-major tensor with every element `value` (floating types and integers).
    [[nodiscard]] static Tensor full(DType dtype, Shape shape, double value);

    [[nodiscard]] bool isValid() const { return m_storage != nullptr; }
    [[nodiscard]] DType dtype() const { return m_dtype; }
    [[nodiscard]] const Shape& shape() const { return m_shape; }
    [[nodiscard]] const Shape& strides() const { return m_strides; }
    [[nodiscard]] std::int64_t offset() const { return m_offset; }
    [[nodiscard]] std::size_t rank() const { return m_shape.size(); }
    [[nodiscard]] std::int64_t size() const { return elementCount(m_shape); }
    /// Bytes of the elements (not of the shared storage).
    [[nodiscard]] std::int64_t bytes() const { return size() * static_cast<std::int64_t>(sizeOf(m_dtype)); }
    [[nodiscard]] const std::shared_ptr<const Storage>& storage() const { return m_storage; }

    /// Row-major without gaps.
    [[nodiscard]] bool isContiguous() const;
    /// Without gaps in some axis order (row-major or channels-last, …): data() spans exactly size() elements.
    [[nodiscard]] bool isDense() const;
    /// Pointer to the element at index 0…0. T must match dtype.
    template <class T>
    [[nodiscard]] const T* data() const
    {
        base::guard(DTypeOf<T>::value == m_dtype && m_storage != nullptr, "a tensor is read as the type that it has");
        return reinterpret_cast<const T*>(m_storage->data()) + m_offset;
    }
    [[nodiscard]] const std::byte* rawData() const
    {
        return m_storage->data() + m_offset * static_cast<std::int64_t>(sizeOf(m_dtype));
    }
    /// Elements in row-major order; the tensor must be contiguous.
    template <class T>
    [[nodiscard]] std::span<const T> span() const
    {
        base::guard(isContiguous(), "a tensor is read in a row only where it has no gaps");
        return {data<T>(), static_cast<std::size_t>(size())};
    }

    /// The same values row-major (itself when it already is).
    [[nodiscard]] Tensor contiguous() const;
    /// The same values in `dtype`, row-major unless the type is already right. Float to integer truncates towards zero.
    [[nodiscard]] Tensor to(DType dtype) const;
    /// Another shape over the same elements in row-major order; element counts must agree.
    [[nodiscard]] Tensor reshaped(Shape shape) const;
    /// View with axes permuted: axis i of the result is axis `order[i]` of this.
    [[nodiscard]] Tensor permuted(std::span<const std::int64_t> order) const;

    /// Element at a row-major position as double, whatever the type. Slow; for inspection and tests.
    [[nodiscard]] double at(std::int64_t rowMajorIndex) const;
    /// Equal type, shape and bits of every element (NaN equals the same NaN).
    [[nodiscard]] bool bitEqual(const Tensor& other) const;

private:
    std::shared_ptr<const Storage> m_storage;
    Shape m_shape;
    Shape m_strides;
    std::int64_t m_offset = 0;
    DType m_dtype = DType::Float32;
};

/// A tensor while it is being filled: row-major or with given dense strides; freeze() makes it immutable. Making one
/// throws a base::Failure as elementCount(), Storage and Tensor do.
class TensorBuffer
{
public:
    /// Row-major, uninitialised.
    TensorBuffer(DType dtype, Shape shape);
    /// Dense with the given strides (a permutation of row-major), uninitialised.
    TensorBuffer(DType dtype, Shape shape, Shape strides);

    template <class T>
    [[nodiscard]] T* data()
    {
        base::guard(DTypeOf<T>::value == m_dtype && m_storage != nullptr, "a tensor is filled as the type that it has");
        return reinterpret_cast<T*>(m_storage->data());
    }
    template <class T>
    [[nodiscard]] std::span<T> span()
    {
        return {data<T>(), static_cast<std::size_t>(elementCount(m_shape))};
    }
    /// First byte of the memory to fill.
    [[nodiscard]] std::byte* rawData() { return m_storage->data(); }
    [[nodiscard]] std::size_t bytes() const { return m_storage->size(); }
    [[nodiscard]] const Shape& shape() const { return m_shape; }
    /// Sets every byte to zero.
    void clear();
    /// The finished tensor; the buffer must not be used afterwards.
    [[nodiscard]] Tensor freeze() &&;

private:
    std::shared_ptr<Storage> m_storage;
    Shape m_shape;
    Shape m_strides;
    DType m_dtype;
};

/// Strides of an N×C×spatial… tensor whose channel axis is innermost; rank ≥ 3, else row-major.
[[nodiscard]] Shape channelsLastStrides(const Shape& shape);

/// float16 / bfloat16 bit patterns to float and back (round to nearest even).
[[nodiscard]] float halfToFloat(std::uint16_t bits);
[[nodiscard]] std::uint16_t floatToHalf(float value);
[[nodiscard]] float bfloatToFloat(std::uint16_t bits);
[[nodiscard]] std::uint16_t floatToBfloat(float value);

template <class T>
Tensor Tensor::of(Shape shape, std::span<const T> values)
{
    base::guard(static_cast<std::int64_t>(values.size()) == elementCount(shape), "a tensor gets a value per element");
    TensorBuffer buffer{DTypeOf<T>::value, std::move(shape)};
    std::copy(values.begin(), values.end(), buffer.data<T>());
    return std::move(buffer).freeze();
}

template <class T>
Tensor Tensor::scalar(T value)
{
    return of<T>({}, std::span<const T>(&value, 1));
}

} // namespace retro::tensor
