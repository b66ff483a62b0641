// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"

#include <fmt/format.h>

#include <array>

namespace retro::ops
{

namespace
{

using tensor::DType;
using tensor::Shape;

/// Another element type. Between floating types this is the identity: a run has one floating type.
class Cast final : public Operator<ShapeMap>
{
public:
    Cast(TensorType output, DType from) : Operator(std::move(output)), m_from(from) {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {operands[0].to(m_outputTypes[0].dtype)};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::nothing(); }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::size_t) const override
    {
        return perOutput[0].isValid() ? perOutput[0] : Tensor::zeros(m_from, m_outputTypes[0].shape);
    }

private:
    DType m_from;
};

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

base::Result<DType> targetType(const BindContext& context)
{
    const std::int64_t number = context.intAttribute("to", 0);
    const std::string name = context.textAttribute("to", {});
    for (const TypeNumber& known : kTypeNumbers) {
        if (known.number == number || known.name == name) {
            return known.type;
        }
    }
    return context.error(fmt::format("element type {} is not supported", name.empty() ? std::to_string(number) : name));
}

BoundResult bindCast(const BindContext& context)
{
    RETRO_CHECK(expectArity(context, 1, 1));
    RETRO_TRY(DType target, targetType(context));
    const TensorType& operand = firstType(context);
    if (tensor::isFloating(target)) {
        target = tensor::isFloating(operand.dtype) ? operand.dtype : context.floatType;
    }
    return bound<Cast>(TensorType{target, operand.shape}, operand.dtype);
}

/// A tensor that is known once the types are: Shape, ConstantOfShape.
class Known final : public BoundOperator
{
public:
    explicit Known(Tensor value) : m_value(std::move(value)) { m_outputTypes = {{m_value.dtype(), m_value.shape()}}; }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor>) const override { return {m_value}; }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::nothing(); }
    [[nodiscard]] const Structure& structure() const override { return noRelevance(); }
    [[nodiscard]] std::vector<Tensor> knownResults() const override { return {m_value}; }

private:
    Tensor m_value;
};

BoundResult bindShape(const BindContext& context)
{
    RETRO_CHECK(expect(context, {.attributes = {{"start", AttributeKind::Int}, {"end", AttributeKind::Int}}}));
    const Shape& shape = firstType(context).shape;
    const auto rank = static_cast<std::int64_t>(shape.size());
    const auto plain = [rank](std::int64_t axis) {
        return std::clamp<std::int64_t>(axis < 0 ? std::max(axis, -rank) + rank : axis, 0, rank);
    };
    const std::int64_t start = plain(context.intAttribute("start", 0));
    const std::int64_t end = std::max(start, plain(context.intAttribute("end", rank)));
    const Shape part(shape.begin() + start, shape.begin() + end);
    return bound<Known>(Tensor::of<std::int64_t>({end - start}, part));
}

BoundResult bindConstantOfShape(const BindContext& context)
{
    RETRO_CHECK(expect(context, {.attributes = {{"value", AttributeKind::Tensor}}}));
    RETRO_TRY(const Shape shape, context.constantInts(0));
    RETRO_CHECK(expectSize(context, shape));
    const auto found = context.node.attributes.find("value");
    if (found == context.node.attributes.end()) {
        return bound<Known>(Tensor::zeros(context.floatType, shape));
    }
    const Tensor& value = std::get<Tensor>(found->second);
    if (value.size() != 1) {
        return context.error(fmt::format("value has {} elements, but must have one", value.size()));
    }
    const Tensor one = tensor::isFloating(value.dtype()) ? value.to(context.floatType) : value;
    return bound<Known>(Tensor(one.dtype(), shape, Shape(shape.size(), 0), one.offset(), one.storage()).contiguous());
}

} // namespace

std::span<const OperatorDeclaration> typedDeclarations()
{
    static constexpr std::array kDeclarations{
        OperatorDeclaration{"", "Cast", 1, 0, "shape map, no relevance", true, bindCast},
        OperatorDeclaration{"", "ConstantOfShape", 9, 0, "no relevance", false, bindConstantOfShape},
        OperatorDeclaration{"", "Shape", 1, 0, "no relevance", false, bindShape},
    };
    return kDeclarations;
}

} // namespace retro::ops
