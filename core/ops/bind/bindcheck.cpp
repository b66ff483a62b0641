// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"

#include "core/ops/bind/operatorbase.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace retro::ops
{

using tensor::DType;
using tensor::Shape;

const Structure& noRelevance()
{
    static const NoRelevance instance;
    return instance;
}

std::vector<Shape> operandShapes(const BindContext& context)
{
    std::vector<Shape> shapes;
    for (const TensorType& type : context.operandTypes) {
        shapes.push_back(type.shape);
    }
    return shapes;
}

base::Result<void> expectOneOutput(const BindContext& context)
{
    const std::size_t outputs = context.node.outputs.size();
    return outputs == 1 ? base::Result<void>()
                        : context.error(fmt::format("{} outputs, but at most 1 can be computed here", outputs));
}

base::Result<void> expectFiniteFactors(const BindContext& context)
{
    for (const std::string_view name : {"alpha", "beta", "gamma", "lambd"}) {
        if (!std::isfinite(context.floatAttribute(name, 0))) {
            return context.error(fmt::format("attribute '{}' must be finite", name));
        }
    }
    return {};
}

namespace
{

/// All present operands are float32 or float64, all of one type.
base::Result<void> expectFloats(const BindContext& context)
{
    std::optional<DType> common;
    for (std::size_t slot = 0; slot < context.node.inputs.size(); ++slot) {
        if (!context.present(slot)) {
            continue;
        }
        const DType type = context.operandTypes[slot].dtype;
        if (type != DType::Float32 && type != DType::Float64) {
            return context.error(fmt::format("operand {} is {}, but must be float32 or float64", slot, nameOf(type)));
        }
        if (common.value_or(type) != type) {
            return context.error(fmt::format("operand {} is {}, but an operand before it is {}; insert a Cast", slot,
                                             nameOf(type), nameOf(*common)));
        }
        common = type;
    }
    return {};
}

bool isAmong(OperandTypes types, DType type)
{
    switch (types) {
    case OperandTypes::AllNumbers:
        return type != DType::Bool;
    case OperandTypes::Integers:
        return type != DType::Bool && !tensor::isFloating(type);
    case OperandTypes::Booleans:
        return type == DType::Bool;
    default:
        return true;
    }
}

std::string_view nameOf(OperandTypes types)
{
    switch (types) {
    case OperandTypes::AllNumbers:
        return "a number";
    case OperandTypes::Integers:
        return "an integer type";
    default:
        return "bool";
    }
}

/// All operands are present, of one type, and of a type among `types`.
base::Result<void> expectAlike(const BindContext& context, OperandTypes types)
{
    const DType common = firstType(context).dtype;
    for (std::size_t slot = 0; slot < context.node.inputs.size(); ++slot) {
        const DType type = context.operandTypes[slot].dtype;
        if (!context.present(slot)) {
            return context.error(fmt::format("operand {} is missing", slot));
        }
        if (!isAmong(types, type)) {
            return context.error(
                fmt::format("operand {} is {}, but must be {}", slot, tensor::nameOf(type), nameOf(types)));
        }
        if (type != common) {
            return context.error(fmt::format("operand {} is {}, but operand 0 is {}; insert a Cast", slot,
                                             tensor::nameOf(type), tensor::nameOf(common)));
        }
    }
    return {};
}

} // namespace

base::Result<void> expect(const BindContext& context, OperandTypes types)
{
    return types == OperandTypes::Floats ? expectFloats(context) : expectAlike(context, types);
}

base::Result<std::size_t> axisWithin(const BindContext& context, std::int64_t axis, std::size_t rank)
{
    const auto signedRank = static_cast<std::int64_t>(rank);
    if (axis < -signedRank || axis >= signedRank) {
        return context.error(fmt::format("axis {} is outside a tensor of rank {}", axis, rank));
    }
    return static_cast<std::size_t>(axis < 0 ? axis + signedRank : axis);
}

base::Result<std::vector<std::size_t>> axesWithin(const BindContext& context, const std::vector<std::int64_t>& axes,
                                                  std::size_t rank)
{
    std::vector<std::size_t> result;
    for (const std::int64_t axis : axes) {
        RETRO_TRY(const std::size_t plain, axisWithin(context, axis, rank));
        result.push_back(plain);
    }
    std::sort(result.begin(), result.end());
    if (std::adjacent_find(result.begin(), result.end()) != result.end()) {
        return context.error("an axis is named twice");
    }
    return result;
}

bool hasInts(const BindContext& context, std::string_view attribute, std::size_t slot, std::int64_t operandSince)
{
    return context.node.opset >= operandSince
               ? context.present(slot)
               : context.node.attributes.find(attribute) != context.node.attributes.end();
}

base::Result<void> expectList(const BindContext& context, std::size_t slot, std::string_view what)
{
    if (context.present(slot) && context.operandTypes[slot].shape.size() != 1) {
        return context.error(fmt::format("{} (operand {}) must be a list with one axis, but has the shape [{}]", what,
                                         slot, tensor::toText(context.operandTypes[slot].shape)));
    }
    return {};
}

base::Result<std::vector<std::int64_t>> intsFrom(const BindContext& context, std::string_view attribute,
                                                 std::size_t slot, std::int64_t operandSince)
{
    if (context.node.opset >= operandSince) {
        return context.constantInts(slot);
    }
    return context.intsAttribute(attribute, {});
}

namespace
{

/// Extent number `i` from the end; 1 in front of the shape.
std::int64_t extentFromEnd(const Shape& shape, std::size_t i)
{
    return i < shape.size() ? shape[shape.size() - 1 - i] : 1;
}

} // namespace

base::Result<Shape> broadcastShape(const BindContext& context, const Shape& a, const Shape& b)
{
    const std::size_t rank = std::max(a.size(), b.size());
    Shape shape(rank, 1);
    for (std::size_t i = 0; i < rank; ++i) {
        const std::int64_t left = extentFromEnd(a, i);
        const std::int64_t right = extentFromEnd(b, i);
        if (left != right && left != 1 && right != 1) {
            return context.error(
                fmt::format("[{}] and [{}] do not broadcast: extents {} and {} differ and neither is 1",
                            tensor::toText(a), tensor::toText(b), left, right));
        }
        shape[rank - 1 - i] = left == 1 ? right : left;
    }
    RETRO_CHECK(expectSize(context, shape));
    return shape;
}

base::Result<void> expectOldBroadcast(const BindContext& context)
{
    const Shape& a = context.operandTypes[0].shape;
    const Shape& b = context.operandTypes[1].shape;
    if (a == b) {
        return {};
    }
    if (context.intAttribute("broadcast", 0) == 0) {
        return context.error("the shapes differ; before opset 7 that needs broadcast = 1");
    }
    const auto atEnd = static_cast<std::int64_t>(a.size()) - static_cast<std::int64_t>(b.size());
    const std::int64_t axis = context.intAttribute("axis", atEnd);
    RETRO_TRY(const Shape common, broadcastShape(context, a, b));
    if (common != a || (axis < 0 ? axis + static_cast<std::int64_t>(a.size()) : axis) != atEnd) {
        return context.error(
            "operand 1 is repeated along an axis in the middle; convert the model to opset 7 or newer");
    }
    return {};
}

base::Result<void> expectSize(const BindContext& context, const Shape& shape, std::string_view what)
{
    if (shape.size() > tensor::kMaxRank) {
        return context.error(
            fmt::format("{} would have rank {}; at most {} is supported", what, shape.size(), tensor::kMaxRank));
    }
    if (std::any_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent < 0; })) {
        return context.error(fmt::format("{} would have the impossible shape [{}]; check pads, kernel and extents "
                                         "against the operand",
                                         what, tensor::toText(shape)));
    }
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) {
        const std::int64_t factor = std::max<std::int64_t>(extent, 1); // strides must fit as well
        if (count > kMaxElements / factor) {
            return context.error(fmt::format("{} would have the shape [{}], more than {} elements", what,
                                             tensor::toText(shape), kMaxElements));
        }
        count *= factor;
    }
    return {};
}

} // namespace retro::ops
