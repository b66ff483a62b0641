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
    TypeNumber{1, "FLOAT", DType::Float32},
    TypeNumber{2, "UINT8", DType::UInt8},
    TypeNumber{3, "INT8", DType::Int8},
    TypeNumber{4, "UINT16", DType::UInt16},
    TypeNumber{5, "INT16", DType::Int16},
    TypeNumber{6, "INT32", DType::Int32},
    TypeNumber{7, "INT64", DType::Int64},
    TypeNumber{9, "BOOL", DType::Bool},
    TypeNumber{10, "FLOAT16", DType::Float16},
    TypeNumber{11, "DOUBLE", DType::Float64},
    TypeNumber{12, "UINT32", DType::UInt32},
    TypeNumber{13, "UINT64", DType::UInt64},
    TypeNumber{16, "BFLOAT16", DType::BFloat16},
    TypeNumber{17, "FLOAT8E4M3FN", DType::Float8E4M3FN},
    TypeNumber{18, "FLOAT8E4M3FNUZ", DType::Float8E4M3FNUZ},
    TypeNumber{19, "FLOAT8E5M2", DType::Float8E5M2},
    TypeNumber{20, "FLOAT8E5M2FNUZ", DType::Float8E5M2FNUZ},
    TypeNumber{21, "UINT4", DType::UInt4},
    TypeNumber{22, "INT4", DType::Int4},
    TypeNumber{23, "FLOAT4E2M1", DType::Float4E2M1},
    TypeNumber{24, "FLOAT8E8M0", DType::Float8E8M0},
    TypeNumber{25, "UINT2", DType::UInt2},
    TypeNumber{26, "INT2", DType::Int2},
    TypeNumber{27, "FLOAT6E2M3", DType::Float6E2M3},
    TypeNumber{28, "FLOAT6E3M2", DType::Float6E3M2},
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

base::Result<tensor::NarrowRounding> narrowRounding(const BindContext& context)
{
    tensor::NarrowRounding rounding;
    rounding.isSaturating = context.intAttribute("saturate", 1) != 0;
    const std::string mode = context.textAttribute("round_mode", "up");
    if (mode != "up" && mode != "down" && mode != "nearest") {
        return context.error(fmt::format("round_mode '{}' is unknown; only 'up', 'down' and 'nearest' are", mode));
    }
    rounding.power = mode == "up"     ? tensor::PowerRounding::Up
                     : mode == "down" ? tensor::PowerRounding::Down
                                      : tensor::PowerRounding::Nearest;
    return rounding;
}

} // namespace retro::ops
