// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/boundoperator.h"
#include "core/ops/elements.h"

#include <string>
#include <string_view>
#include <vector>

namespace retro::ops
{

/// Checks operand types and attributes, infers output types, and prepares the operator. Errors (Input) name node,
/// operator, opset, shape.
using BindFunction = base::Result<std::unique_ptr<BoundOperator>> (*)(const BindContext&);

/// One declaration of an operator; a new operator is one such line in its family's file.
struct OperatorDeclaration
{
    std::string_view domain; ///< "" = ai.onnx
    std::string_view op;
    std::int64_t sinceOpset = 1;
    std::int64_t untilOpset = 0; ///< inclusive; 0 = newest known (kNewestOpset for ai.onnx)
    std::string_view structure;  ///< for `ops`: which structure(s) it can take
    bool gradient = true;        ///< relevance and gradient pass through
    BindFunction bind = nullptr;
    bool takesNarrow = false;            ///< operands may be of narrow types (tensor::isNarrow)
    Elements elements = Elements::Mixed; ///< that of a structure which says it may be left out
};

/// Newest ai.onnx operator set that is known here.
inline constexpr std::int64_t kNewestOpset = 28;

/// All declarations, sorted by domain, operator, opset.
[[nodiscard]] std::span<const OperatorDeclaration> declarations();
/// The declaration for an operator at an opset; nullptr when it is not implemented.
[[nodiscard]] const OperatorDeclaration* find(std::string_view domain, std::string_view op, std::int64_t opset);
/// Binds a node, or refuses it by name: operator, domain, opset, node, and what to do. Operands and results have at
/// most kMaxElements elements each (core/ops/bind/bindcheck.h). Where the context has `numbers`, run() of the operator
/// rounds its results to the types that they have in the model. Errors: Input; Memory for what is made while it is
/// bound.
[[nodiscard]] base::Result<std::unique_ptr<BoundOperator>> bind(const BindContext& context);

/// A node whose operator is not implemented, for `info` and for error messages.
struct UnsupportedNode
{
    graph::NodeId node;
    std::string reason;
};
/// Every node of a graph that cannot be run as it is, in node order: its operator is not implemented, or the node does
/// not agree with the operator's schema.
[[nodiscard]] std::vector<UnsupportedNode> unsupported(const graph::Graph& graph);

} // namespace retro::ops
