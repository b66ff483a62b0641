// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/boundoperator.h"

#include <initializer_list>

/// Checks that bind functions share. Every error is an Input error that names node, operator, opset and shapes.
namespace retro::ops
{

/// Largest number of elements of one tensor; beyond it a model is refused instead of asking for the memory.
inline constexpr std::int64_t kMaxElements = 1LL << 34;

/// Operands 0 … least − 1 are present, no operand beyond `most`, between 1 and `outputs` outputs.
[[nodiscard]] base::Result<void> expectArity(const BindContext& context, std::size_t least, std::size_t most,
                                             std::size_t outputs = 1);
/// As expectArity for operators without upper bounds on their operands.
inline constexpr std::size_t kAnyNumber = static_cast<std::size_t>(-1);

/// All present operands are float32 or float64, all of one type.
[[nodiscard]] base::Result<void> expectFloats(const BindContext& context);
/// Operand `slot`, if present, is float32, float64, int32 or int64.
[[nodiscard]] base::Result<void> expectNumber(const BindContext& context, std::size_t slot);
/// All operands are present and have one type: float32, float64, int32 or int64.
[[nodiscard]] base::Result<void> expectNumbers(const BindContext& context);

/// Kind of an attribute's value, in the order of graph::Attribute.
enum class AttributeKind : std::size_t { Int, Float, Text, Tensor, Ints, Floats, Texts };
struct AttributeSpec
{
    std::string_view name;
    AttributeKind kind;
};
/// Those of the named attributes that the node has are of their kind.
[[nodiscard]] base::Result<void> expectAttributes(const BindContext& context,
                                                  std::initializer_list<AttributeSpec> attributes);

/// Which types a node's operands may have.
enum class OperandTypes : std::uint8_t {
    Any,        ///< whatever they are
    Floats,     ///< float32 or float64, all present ones alike
    Numbers,    ///< all present, float32, float64, int32 or int64, all alike
    AllNumbers, ///< all present, float32, float64 or any integer type, all alike
    Integers,   ///< all present, any integer type, all alike
    Booleans,   ///< all present, bool
    Alike       ///< all present, of one type, whatever it is
};

/// What an operator takes, as far as every operator says it in the same way.
struct Signature
{
    std::size_t least = 1;   ///< operands that must be present
    std::size_t most = 1;    ///< operands that may be present
    std::size_t outputs = 1; ///< outputs that can be computed
    OperandTypes types = OperandTypes::Any;
    std::initializer_list<AttributeSpec> attributes = {};
};
/// expectArity, expectFloats or expectNumbers, and expectAttributes in one.
[[nodiscard]] base::Result<void> expect(const BindContext& context, const Signature& signature);

/// What operators of two numbers take.
inline constexpr Signature kNumberPair{.least = 2, .most = 2, .types = OperandTypes::AllNumbers};

/// Operand 0's type. Operand 0 must be present.
[[nodiscard]] inline const TensorType& firstType(const BindContext& context) { return context.operandTypes[0]; }
/// One per slot; that of an absent operand is empty.
[[nodiscard]] std::vector<tensor::Shape> operandShapes(const BindContext& context);

/// `axis` counted from the front; negative counts from the end.
[[nodiscard]] base::Result<std::size_t> axisWithin(const BindContext& context, std::int64_t axis, std::size_t rank);
/// As axisWithin for several, ascending, no axis twice.
[[nodiscard]] base::Result<std::vector<std::size_t>>
axesWithin(const BindContext& context, const std::vector<std::int64_t>& axes, std::size_t rank);
/// Integers from the constant operand `slot` from opset `operandSince` on, before that from the attribute; empty when
/// missing.
[[nodiscard]] base::Result<std::vector<std::int64_t>> intsFrom(const BindContext& context, std::string_view attribute,
                                                               std::size_t slot, std::int64_t operandSince);
/// Operand `slot`, if present, has one axis: a list, not one number. `what` names it.
[[nodiscard]] base::Result<void> expectList(const BindContext& context, std::size_t slot, std::string_view what);
/// True when intsFrom would find something.
[[nodiscard]] bool hasInts(const BindContext& context, std::string_view attribute, std::size_t slot,
                           std::int64_t operandSince);

/// The common shape of two by broadcasting.
[[nodiscard]] base::Result<tensor::Shape> broadcastShape(const BindContext& context, const tensor::Shape& a,
                                                         const tensor::Shape& b);
/// Before opset 7, operand 1 was repeated to operand 0's shape on demand, from an axis on. Accepts what broadcasting
/// does in the same way, which is alignment at the last axis; refuses the rest.
[[nodiscard]] base::Result<void> expectOldBroadcast(const BindContext& context);
/// No negative extent and at most kMaxElements elements, also without axes of extent 0. `what` names the tensor.
[[nodiscard]] base::Result<void> expectSize(const BindContext& context, const tensor::Shape& shape,
                                            std::string_view what = "the result");

} // namespace retro::ops
