// SPDX-License-Identifier: Apache-2.0
// Types, tensors and single tokens of the ONNX text form.
#include "core/formats/onnxtextreader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <utility>

namespace retro::formats
{

using base::Result;
using onnxschema::TensorProto;
using onnxschema::TensorShapeProto;
using onnxschema::TypeProto;

namespace
{

constexpr std::array<std::pair<std::string_view, int>, 26> kElementNames{{
    {"float", TensorProto::FLOAT},
    {"uint8", TensorProto::UINT8},
    {"int8", TensorProto::INT8},
    {"uint16", TensorProto::UINT16},
    {"int16", TensorProto::INT16},
    {"int32", TensorProto::INT32},
    {"int64", TensorProto::INT64},
    {"string", TensorProto::STRING},
    {"bool", TensorProto::BOOL},
    {"float16", TensorProto::FLOAT16},
    {"double", TensorProto::DOUBLE},
    {"uint32", TensorProto::UINT32},
    {"uint64", TensorProto::UINT64},
    {"complex64", TensorProto::COMPLEX64},
    {"complex128", TensorProto::COMPLEX128},
    {"bfloat16", TensorProto::BFLOAT16},
    {"float8e4m3fn", TensorProto::FLOAT8E4M3FN},
    {"float8e4m3fnuz", TensorProto::FLOAT8E4M3FNUZ},
    {"float8e5m2", TensorProto::FLOAT8E5M2},
    {"float8e5m2fnuz", TensorProto::FLOAT8E5M2FNUZ},
    {"float8e8m0", TensorProto::FLOAT8E8M0},
    {"float4e2m1", TensorProto::FLOAT4E2M1},
    {"uint4", TensorProto::UINT4},
    {"int4", TensorProto::INT4},
    {"uint2", TensorProto::UINT2},
    {"int2", TensorProto::INT2},
}};

constexpr std::array<std::string_view, 4> kOtherTypes{"seq", "map", "optional", "sparse_tensor"};

const std::pair<std::string_view, int>* elementNamed(std::string_view name)
{
    const auto* at = std::find_if(kElementNames.begin(), kElementNames.end(),
                                  [name](const auto& pair) { return pair.first == name; });
    return at == kElementNames.end() ? nullptr : at;
}

} // namespace

Result<void> OnnxTextReader::deeper()
{
    if (m_depth >= kMaxOnnxTextNesting) {
        return m_lexer.error(fmt::format("graphs or types are nested deeper than {}", kMaxOnnxTextNesting));
    }
    return {};
}

Result<std::string> OnnxTextReader::name()
{
    if (m_lexer.kind() != OnnxToken::Name && m_lexer.kind() != OnnxToken::Text) {
        return m_lexer.error("a name is expected here");
    }
    std::string token = m_lexer.token();
    m_lexer.advance();
    return token;
}

Result<std::string> OnnxTextReader::text()
{
    if (m_lexer.kind() != OnnxToken::Text) {
        return m_lexer.error("a text in double quotes is expected here");
    }
    std::string token = m_lexer.token();
    m_lexer.advance();
    return token;
}

Result<std::int64_t> OnnxTextReader::whole()
{
    const std::string& token = m_lexer.token();
    const std::size_t sign = token.starts_with('+') ? 1 : 0;
    std::int64_t value = 0;
    const auto [end, ec] = std::from_chars(token.data() + sign, token.data() + token.size(), value);
    if (m_lexer.kind() != OnnxToken::Whole || ec != std::errc() || end != token.data() + token.size()) {
        return m_lexer.error("a whole number is expected here");
    }
    m_lexer.advance();
    return value;
}

Result<double> OnnxTextReader::number()
{
    const std::string& token = m_lexer.token();
    const bool isWord = m_lexer.kind() == OnnxToken::Name; // inf, nan
    if (m_lexer.kind() != OnnxToken::Whole && m_lexer.kind() != OnnxToken::Float && !isWord) {
        return m_lexer.error("a number is expected here");
    }
    char* end = nullptr;
    const double value = std::strtod(token.c_str(), &end);
    if (token.empty() || end != token.c_str() + token.size()) {
        return m_lexer.error("a number is expected here");
    }
    m_lexer.advance();
    return value;
}

bool OnnxTextReader::isTypeNext() const
{
    return m_lexer.kind() == OnnxToken::Name &&
           (elementNamed(m_lexer.token()) != nullptr ||
            std::find(kOtherTypes.begin(), kOtherTypes.end(), m_lexer.token()) != kOtherTypes.end());
}

Result<void> OnnxTextReader::elementType(int& number)
{
    const auto* known = m_lexer.kind() == OnnxToken::Name ? elementNamed(m_lexer.token()) : nullptr;
    if (known == nullptr) {
        return m_lexer.error("an element type (float, int64, …) is expected here");
    }
    number = known->second;
    m_lexer.advance();
    return {};
}

Result<void> OnnxTextReader::dimension(TensorShapeProto::Dimension& dimension)
{
    if (m_lexer.accept("?")) {
        return {};
    }
    if (m_lexer.kind() == OnnxToken::Whole) {
        RETRO_TRY(const std::int64_t extent, whole());
        dimension.set_dim_value(extent);
        return {};
    }
    RETRO_TRY(*dimension.mutable_dim_param(), name());
    return {};
}

Result<void> OnnxTextReader::dimensions(TensorShapeProto& shape)
{
    do {
        RETRO_CHECK(dimension(*shape.add_dim()));
    } while (m_lexer.accept(","));
    return m_lexer.expect("]");
}

/// "float" is a scalar, "float[]" has an unknown rank.
Result<void> OnnxTextReader::tensorType(TypeProto::Tensor& type)
{
    int element = 0;
    RETRO_CHECK(elementType(element));
    type.set_elem_type(element);
    if (!m_lexer.accept("[")) {
        type.mutable_shape();
        return {};
    }
    return m_lexer.accept("]") ? Result<void>() : dimensions(*type.mutable_shape());
}

Result<void> OnnxTextReader::sparseType(TypeProto::SparseTensor& type)
{
    TypeProto::Tensor dense;
    RETRO_CHECK(tensorType(dense));
    type.set_elem_type(dense.elem_type());
    if (dense.has_shape()) {
        *type.mutable_shape() = dense.shape();
    }
    return {};
}

Result<void> OnnxTextReader::mapType(TypeProto::Map& map)
{
    int key = 0;
    RETRO_CHECK(elementType(key));
    map.set_key_type(key);
    RETRO_CHECK(m_lexer.expect(","));
    return type(*map.mutable_value_type());
}

Result<void> OnnxTextReader::type(TypeProto& to)
{
    RETRO_CHECK(deeper());
    const std::string kind = m_lexer.token();
    if (m_lexer.kind() != OnnxToken::Name ||
        std::find(kOtherTypes.begin(), kOtherTypes.end(), kind) == kOtherTypes.end()) {
        return tensorType(*to.mutable_tensor_type());
    }
    m_lexer.advance();
    RETRO_CHECK(m_lexer.expect("("));
    ++m_depth;
    if (kind == "seq") {
        RETRO_CHECK(type(*to.mutable_sequence_type()->mutable_elem_type()));
    } else if (kind == "optional") {
        RETRO_CHECK(type(*to.mutable_optional_type()->mutable_elem_type()));
    } else if (kind == "map") {
        RETRO_CHECK(mapType(*to.mutable_map_type()));
    } else {
        RETRO_CHECK(sparseType(*to.mutable_sparse_tensor_type()));
    }
    --m_depth;
    return m_lexer.expect(")");
}

Result<void> OnnxTextReader::valueInfo(onnxschema::ValueInfoProto& info)
{
    if (isTypeNext()) {
        RETRO_CHECK(type(*info.mutable_type()));
    }
    RETRO_TRY(*info.mutable_name(), name());
    return {};
}

Result<void> OnnxTextReader::element(TensorProto& tensor)
{
    switch (tensor.data_type()) {
    case TensorProto::FLOAT:
    case TensorProto::COMPLEX64: {
        RETRO_TRY(const double value, number());
        tensor.add_float_data(static_cast<float>(value));
        return {};
    }
    case TensorProto::DOUBLE:
    case TensorProto::COMPLEX128: {
        RETRO_TRY(const double value, number());
        tensor.add_double_data(value);
        return {};
    }
    case TensorProto::INT64: {
        RETRO_TRY(const std::int64_t value, whole());
        tensor.add_int64_data(value);
        return {};
    }
    case TensorProto::UINT32:
    case TensorProto::UINT64: {
        std::uint64_t value = 0;
        const std::string& token = m_lexer.token();
        const auto [end, ec] = std::from_chars(token.data(), token.data() + token.size(), value);
        if (m_lexer.kind() != OnnxToken::Whole || ec != std::errc() || end != token.data() + token.size()) {
            return m_lexer.error("a whole number that is not negative is expected here");
        }
        m_lexer.advance();
        tensor.add_uint64_data(value);
        return {};
    }
    case TensorProto::STRING: {
        RETRO_TRY(*tensor.add_string_data(), text());
        return {};
    }
    default: {
        RETRO_TRY(const std::int64_t value, whole());
        if (!std::in_range<std::int32_t>(value)) {
            return m_lexer.error(fmt::format("the number {} does not fit into the element type", value));
        }
        tensor.add_int32_data(static_cast<std::int32_t>(value));
        return {};
    }
    }
}

Result<void> OnnxTextReader::entries(google::protobuf::RepeatedPtrField<onnxschema::StringStringEntryProto>& entries)
{
    RETRO_CHECK(m_lexer.expect("["));
    if (m_lexer.accept("]")) {
        return {};
    }
    do {
        onnxschema::StringStringEntryProto& entry = *entries.Add();
        RETRO_TRY(*entry.mutable_key(), text());
        RETRO_CHECK(m_lexer.expect(":"));
        RETRO_TRY(*entry.mutable_value(), text());
    } while (m_lexer.accept(","));
    return m_lexer.expect("]");
}

Result<void> OnnxTextReader::tensorData(TensorProto& tensor)
{
    if (m_lexer.isMark("[")) {
        tensor.set_data_location(TensorProto::EXTERNAL);
        return entries(*tensor.mutable_external_data());
    }
    RETRO_CHECK(m_lexer.expect("{"));
    if (m_lexer.accept("}")) {
        return {};
    }
    do {
        RETRO_CHECK(element(tensor));
    } while (m_lexer.accept(","));
    return m_lexer.expect("}");
}

Result<void> OnnxTextReader::tensorOf(const TypeProto& type, TensorProto& tensor)
{
    if (!type.has_tensor_type()) {
        return m_lexer.error("only tensors can have data here");
    }
    tensor.set_data_type(type.tensor_type().elem_type());
    for (const TensorShapeProto::Dimension& dim : type.tensor_type().shape().dim()) {
        if (!dim.has_dim_value()) {
            return m_lexer.error("a tensor with data needs a number for each of its axes");
        }
        tensor.add_dims(dim.dim_value());
    }
    return tensorData(tensor);
}

Result<void> OnnxTextReader::tensor(TensorProto& tensor)
{
    TypeProto declared;
    RETRO_CHECK(tensorType(*declared.mutable_tensor_type()));
    if (m_lexer.kind() == OnnxToken::Name || m_lexer.kind() == OnnxToken::Text) {
        RETRO_TRY(*tensor.mutable_name(), name());
    }
    m_lexer.accept("=");
    return tensorOf(declared, tensor);
}

} // namespace retro::formats
