// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// What nodes of each operator may have: operands, outputs and attributes, as the standard of the operator's domain
/// says. One central check, so that no operator can forget it.
namespace retro::ops
{

/// Operands, outputs and attributes of an operator from an operator set on, until the next entry of the same operator.
struct OperatorSchema
{
    std::string_view domain; ///< "" = ai.onnx
    std::string_view op;
    std::int64_t sinceOpset = 1;
    /// Names in order: "X W B?". Behind a name: '?' may be left out; at the last one '+' one or more, '*' any number.
    std::string_view operands;
    std::string_view outputs; ///< likewise
    /// "axis:int pads:ints! …": name and kind (int, flag, float, text, tensor, ints, floats, texts, graph); a flag is
    /// an integer, 0 or 1; '!' must be there. A name "*" stands for any attribute.
    std::string_view attributes;
};

/// All schemas, sorted by domain, operator, opset.
[[nodiscard]] std::span<const OperatorSchema> schemas();
/// The schema of an operator at an opset; nullptr when it has none.
[[nodiscard]] const OperatorSchema* schemaOf(std::string_view domain, std::string_view op, std::int64_t opset);

/// What of `node` its operator does not have, in words: an operand that is missing or too many, too many outputs, an
/// attribute that is unknown (names that begin with "__" are let through), missing or of another kind. Nothing when it
/// agrees, or when the operator has no schema.
[[nodiscard]] std::optional<std::string> schemaFault(const graph::Node& node);
/// The operands and outputs of schemaFault() alone. A node of an operator set before its operator is judged as one of
/// the operator's first.
[[nodiscard]] std::optional<std::string> operandFault(const graph::Node& node);
/// The first node of `graph`, or of a graph inside its nodes, with a fault, as an Input error that names it.
[[nodiscard]] base::Result<void> expectSchemas(const graph::Graph& graph);

} // namespace retro::ops
