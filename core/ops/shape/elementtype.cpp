// SPDX-License-Identifier: Apache-2.0
#include "core/ops/shape/elementtype.h"

#include <fmt/format.h>

#include <array>

namespace retro::ops
{

using tensor::DType;

namespace
{

/// ONNX's numbers (and, in the first form, names) of element types.
struct TypeNumber
{
    std::int64_t number;
    std::string_view name;
    DType type;
};
constexpr std::array kTypeNumbers{
    TypeNumber{1, "FLOAT", DType::Float32},      TypeNumber{2, "UINT8", DType::UInt8},
    TypeNumber{3, "INT8", DType::Int8},          TypeNumber{4, "UINT16", DType::UInt16},
    TypeNumber{5, "INT16", DType::Int16},        TypeNumber{6, "INT32", DType::Int32},
    TypeNumber{7, "INT64", DType::Int64},        TypeNumber{9, "BOOL", DType::Bool},
    TypeNumber{10, "FLOAT16", DType::Float16},   TypeNumber{11, "DOUBLE", DType::Float64},
    TypeNumber{12, "UINT32", DType::UInt32},     TypeNumber{13, "UINT64", DType::UInt64},
    TypeNumber{16, "BFLOAT16", DType::BFloat16},
};

} // namespace

base::Result<DType> elementType(const BindContext& context, std::string_view attribute)
{
    const std::int64_t number = context.intAttribute(attribute, 0);
    const std::string name = context.textAttribute(attribute, {});
    for (const TypeNumber& known : kTypeNumbers) {
        if (known.number == number || known.name == name) {
            return tensor::isFloating(known.type) ? context.floatType : known.type;
        }
    }
    return context.error(fmt::format("element type {} is not supported", name.empty() ? std::to_string(number) : name));
}

} // namespace retro::ops
