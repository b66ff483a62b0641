// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/boundoperator.h"

/// Checks that bind functions share. Every error is an Input error that names node, operator, opset and shapes.
namespace retro::ops
{

/// Largest number of elements of one tensor; beyond it a model is refused instead of asking for the memory.
inline constexpr std::int64_t kMaxElements = 1LL << 34;

/// Which types a node's operands may have.
enum class OperandTypes : std::uint8_t {
    Floats,     ///< float32 or float64, all present ones alike
    AllNumbers, ///< all present, float32, float64 or any integer type, all alike
    Integers,   ///< all present, any integer type, all alike
    Booleans,   ///< all present, bool
    Alike       ///< all present, of one type, whatever it is
};

/// The operands are of such types. How many there are, and which attributes of which kind, the schema has said before.
[[nodiscard]] base::Result<void> expect(const BindContext& context, OperandTypes types);
/// The results beside the first, which the schema has, are not asked for: they cannot be computed.
[[nodiscard]] base::Result<void> expectOneOutput(const BindContext& context);
/// Numbers that a function multiplies or adds (alpha, beta, gamma, lambd) are finite, else it is none.
[[nodiscard]] base::Result<void> expectFiniteFactors(const BindContext& context);

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
