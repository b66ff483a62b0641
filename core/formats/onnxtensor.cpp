// SPDX-License-Identifier: Apache-2.0
#include "core/formats/onnxtensor.h"

#include "core/base/mappedfile.h"
#include "core/formats/onnxexternal.h"
#include "core/formats/onnxschema.pb.h"
#include "core/ops/numbertypes.h"
#include "core/tensor/checkedshape.h"
#include "core/tensor/narrow.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace retro::formats
{

using base::inputError;
using base::Result;
using onnxschema::TensorProto;
using tensor::DType;
using tensor::Tensor;
using tensor::TensorBuffer;

namespace
{

/// Copies one of the typed lists into elements of type `To`. Every number must fit.
template <class To, class List>
Result<void> copyList(const List& list, std::string_view field, const tensor::Shape& shape, std::span<std::byte> to)
{
    const std::size_t count = to.size() / sizeof(To);
    if (static_cast<std::size_t>(list.size()) != count) {
        return inputError(
            fmt::format("it has {} numbers but the shape {} needs {}", list.size(), tensor::toText(shape), count),
            fmt::format("field '{}'", field));
    }
    std::byte* out = to.data();
    for (const auto number : list) {
        if constexpr (std::is_integral_v<To>) {
            if (!std::in_range<To>(number)) {
                return inputError(fmt::format("the number {} does not fit into the element type", number),
                                  fmt::format("field '{}'", field));
            }
        }
        const auto element = static_cast<To>(number);
        std::memcpy(out, &element, sizeof element);
        out += sizeof element;
    }
    return {};
}

template <class To, class List>
Result<void> copyList(const List& list, std::string_view field, TensorBuffer& buffer)
{
    return copyList<To>(list, field, buffer.shape(), {buffer.rawData(), buffer.bytes()});
}

/// Elements of a narrow type that lie in a file without gaps.
void unpackInto(TensorBuffer& buffer, DType dtype, std::span<const std::byte> packed)
{
    tensor::unpack(dtype, packed, {buffer.rawData(), buffer.bytes()});
}

/// Bytes of int32_data's numbers for a narrow type: each holds what a byte of raw_data does; of 6 bits, an element.
Result<void> copyNarrowList(const TensorProto& proto, DType dtype, TensorBuffer& buffer)
{
    const bool isPacked = tensor::bitsOf(dtype) < 6;
    std::vector<std::byte> bytes(isPacked ? tensor::packedBytes(dtype, buffer.bytes()) : buffer.bytes());
    RETRO_CHECK(copyList<std::uint8_t>(proto.int32_data(), "int32_data", buffer.shape(), bytes));
    if (isPacked) {
        unpackInto(buffer, dtype, bytes);
    } else {
        std::copy(bytes.begin(), bytes.end(), buffer.rawData());
    }
    return {};
}

/// Copies int32_data, which serves every type of at most 32 bits that has no list of its own.
Result<void> copyInt32List(const TensorProto& proto, DType dtype, TensorBuffer& buffer)
{
    constexpr std::string_view kField = "int32_data";
    if (tensor::isNarrow(dtype)) {
        return copyNarrowList(proto, dtype, buffer);
    }
    switch (dtype) {
    case DType::Int8:
        return copyList<std::int8_t>(proto.int32_data(), kField, buffer);
    case DType::UInt8:
    case DType::Bool:
        return copyList<std::uint8_t>(proto.int32_data(), kField, buffer);
    case DType::Int16:
        return copyList<std::int16_t>(proto.int32_data(), kField, buffer);
    case DType::UInt16:
    case DType::Float16:
    case DType::BFloat16:
        return copyList<std::uint16_t>(proto.int32_data(), kField, buffer);
    default:
        return copyList<std::int32_t>(proto.int32_data(), kField, buffer);
    }
}

Result<void> copyTyped(const TensorProto& proto, DType dtype, TensorBuffer& buffer)
{
    switch (dtype) {
    case DType::Float32:
        return copyList<float>(proto.float_data(), "float_data", buffer);
    case DType::Float64:
        return copyList<double>(proto.double_data(), "double_data", buffer);
    case DType::Int64:
        return copyList<std::int64_t>(proto.int64_data(), "int64_data", buffer);
    case DType::UInt64:
        return copyList<std::uint64_t>(proto.uint64_data(), "uint64_data", buffer);
    case DType::UInt32:
        return copyList<std::uint32_t>(proto.uint64_data(), "uint64_data", buffer);
    default:
        return copyInt32List(proto, dtype, buffer);
    }
}

Result<void> checkRawSize(std::uint64_t bytes, const tensor::Shape& shape, DType dtype, std::uint64_t expected)
{
    if (bytes == expected) {
        return {};
    }
    return inputError(fmt::format("it has {} bytes but the shape {} of {} needs {}", bytes, tensor::toText(shape),
                                  tensor::nameOf(dtype), expected),
                      "field 'raw_data'");
}

/// Elements that the typed lists hold; protects against a large shape without data.
std::size_t typedCount(const TensorProto& proto)
{
    return static_cast<std::size_t>(std::max({proto.float_data_size(), proto.int32_data_size(), proto.int64_data_size(),
                                              proto.double_data_size(), proto.uint64_data_size()}));
}

/// The typed list that a type is read from.
struct TypedList
{
    std::string_view field;
    int count = 0;
};

TypedList typedListOf(const TensorProto& proto, DType dtype)
{
    switch (dtype) {
    case DType::Float32:
        return {"float_data", proto.float_data_size()};
    case DType::Float64:
        return {"double_data", proto.double_data_size()};
    case DType::Int64:
        return {"int64_data", proto.int64_data_size()};
    case DType::UInt64:
    case DType::UInt32:
        return {"uint64_data", proto.uint64_data_size()};
    default:
        return {"int32_data", proto.int32_data_size()};
    }
}

/// The typed list has the numbers that the shape, which was checked, promises.
Result<void> checkHasData(const TensorProto& proto, const tensor::Shape& shape, DType dtype)
{
    const auto elements = static_cast<std::size_t>(tensor::elementCount(shape));
    if (elements > 0 && typedCount(proto) == 0) {
        return inputError(fmt::format("it has the shape {} but no data; the weights were probably left out when the "
                                      "model was saved",
                                      tensor::toText(shape)),
                          "field 'raw_data'");
    }
    const bool isPacked = tensor::isNarrow(dtype) && tensor::bitsOf(dtype) < 6;
    const std::size_t needed = isPacked ? tensor::packedBytes(dtype, elements) : elements;
    const TypedList list = typedListOf(proto, dtype);
    if (static_cast<std::size_t>(list.count) != needed) {
        return inputError(
            fmt::format("it has {} numbers but the shape {} needs {}", list.count, tensor::toText(shape), needed),
            fmt::format("field '{}'", list.field));
    }
    return {};
}

/// Some writers set an empty raw_data beside a typed list.
bool usesRaw(const TensorProto& proto)
{
    return proto.has_raw_data() && (!proto.raw_data().empty() || typedCount(proto) == 0);
}

Result<void> checkIsWhole(const TensorProto& proto)
{
    if (proto.has_segment()) {
        return inputError("tensors in segments are not read; save the tensor in one piece", "field 'segment'");
    }
    return {};
}

/// Checks, before any memory is taken, that the message has the data that its shape promises.
Result<void> checkData(const TensorProto& proto, const tensor::Shape& shape, DType dtype, std::uint64_t bytes)
{
    RETRO_CHECK(checkIsWhole(proto));
    return usesRaw(proto) ? checkRawSize(proto.raw_data().size(), shape, dtype, bytes)
                          : checkHasData(proto, shape, dtype);
}

/// Data inside the message.
Result<Tensor> readInternal(const TensorProto& proto, tensor::Shape shape, DType dtype, std::uint64_t bytes)
{
    RETRO_CHECK(checkData(proto, shape, dtype, bytes));
    TensorBuffer buffer(dtype, std::move(shape));
    if (usesRaw(proto) && tensor::isNarrow(dtype)) {
        unpackInto(buffer, dtype, std::as_bytes(std::span(proto.raw_data())));
    } else if (usesRaw(proto)) {
        std::copy_n(proto.raw_data().data(), bytes, reinterpret_cast<char*>(buffer.rawData()));
    } else {
        RETRO_CHECK(copyTyped(proto, dtype, buffer));
    }
    return std::move(buffer).freeze();
}

/// From this size on external data is mapped; below, a copy is cheaper than a mapping.
constexpr std::uint64_t kLeastMapped = 64U << 10;

/// The bytes of the file themselves, without a copy.
Result<Tensor> mapExternal(const ExternalData& place, tensor::Shape shape, DType dtype, std::uint64_t bytes)
{
    RETRO_TRY(std::shared_ptr<const base::MappedFile> file, base::MappedFile::open(place.file, place.offset, bytes));
    const std::span<const std::byte> data = file->data();
    auto storage = std::make_shared<const tensor::Storage>(std::move(file), data);
    tensor::Shape strides = tensor::rowMajorStrides(shape);
    return Tensor(dtype, std::move(shape), std::move(strides), 0, std::move(storage));
}

/// Data in a file beside the model.
Result<Tensor> readExternal(const TensorProto& proto, const std::filesystem::path& folder, tensor::Shape shape,
                            DType dtype, std::uint64_t bytes)
{
    RETRO_TRY(const ExternalData place, findExternalData(proto, folder, bytes));
    const bool isPacked = tensor::isNarrow(dtype) && tensor::bitsOf(dtype) < 8;
    if (!isPacked && bytes >= kLeastMapped && place.offset % tensor::sizeOf(dtype) == 0) {
        return mapExternal(place, std::move(shape), dtype, bytes);
    }
    TensorBuffer buffer(dtype, std::move(shape));
    if (isPacked) {
        std::vector<std::byte> packed(bytes);
        RETRO_CHECK(readExternalData(place, packed));
        unpackInto(buffer, dtype, packed);
    } else {
        RETRO_CHECK(readExternalData(place, {buffer.rawData(), bytes}));
    }
    return std::move(buffer).freeze();
}

} // namespace

Result<DType> dtypeOfOnnx(int dataType)
{
    if (const auto known = ops::dtypeOfOnnx(dataType)) {
        return *known;
    }
    if (dataType == TensorProto::UNDEFINED) {
        return inputError("the element type is not stated");
    }
    if (TensorProto::DataType_IsValid(dataType)) {
        return inputError(fmt::format("the element type {} is not supported; bool, integers of 2 to 64 bits and floats "
                                      "of 4 to 64 bits are; save the model with its weights in one of these",
                                      TensorProto::DataType_Name(static_cast<TensorProto::DataType>(dataType))));
    }
    return inputError(fmt::format("the element type {} is not one that ONNX defines", dataType));
}

Result<TensorOutline> outlineOf(const TensorProto& proto)
{
    RETRO_TRY(auto dtype, base::within(dtypeOfOnnx(proto.data_type()), "field 'data_type'"));
    tensor::Shape shape(proto.dims().begin(), proto.dims().end());
    RETRO_TRY(auto bytes, base::within(tensor::checkedBytes(shape, dtype, kMaxOnnxTensorBytes), "field 'dims'"));
    if (tensor::isNarrow(dtype)) {
        bytes = tensor::packedBytes(dtype, bytes);
    }
    return TensorOutline{dtype, std::move(shape), bytes};
}

Result<Tensor> fromTensorProto(const TensorProto& proto, const std::filesystem::path& folder)
{
    RETRO_TRY(TensorOutline outline, outlineOf(proto));
    if (proto.data_location() == TensorProto::EXTERNAL) {
        return readExternal(proto, folder, std::move(outline.shape), outline.dtype, outline.bytes);
    }
    return readInternal(proto, std::move(outline.shape), outline.dtype, outline.bytes);
}

Result<Tensor> fromRawData(const TensorProto& proto, std::uint64_t bytes, const RawReader& read)
{
    RETRO_TRY(TensorOutline outline, outlineOf(proto));
    RETRO_CHECK(checkIsWhole(proto));
    RETRO_CHECK(checkRawSize(bytes, outline.shape, outline.dtype, outline.bytes));
    TensorBuffer buffer(outline.dtype, std::move(outline.shape));
    if (tensor::isNarrow(outline.dtype)) {
        std::vector<std::byte> packed(bytes);
        RETRO_CHECK(read(packed));
        unpackInto(buffer, outline.dtype, packed);
    } else {
        RETRO_CHECK(read({buffer.rawData(), bytes}));
    }
    return std::move(buffer).freeze();
}

void toTensorProto(const Tensor& tensor, TensorProto& proto)
{
    const Tensor plain = tensor.contiguous();
    proto.set_data_type(static_cast<int>(ops::onnxOf(plain.dtype())));
    proto.mutable_dims()->Add(plain.shape().begin(), plain.shape().end());
    if (tensor::isNarrow(plain.dtype())) {
        const auto count = static_cast<std::size_t>(plain.size());
        std::string packed(tensor::packedBytes(plain.dtype(), count), '\0');
        tensor::pack(plain.dtype(), {plain.rawData(), count}, std::as_writable_bytes(std::span(packed)));
        proto.set_raw_data(std::move(packed));
        return;
    }
    proto.set_raw_data(plain.rawData(), static_cast<std::size_t>(plain.bytes()));
}

} // namespace retro::formats
