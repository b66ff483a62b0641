// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/bind/operatorbase.h"

namespace retro::ops
{

/// `function` (the operator of a node with graph::Node::written), computed by the nodes that the file has in its place:
/// structure and gradient are the function's, the bits of the result those of the file. The function itself where the
/// operands are no longer those that the nodes read. Errors (Input): one of the nodes cannot be bound; they make
/// another type than the function.
[[nodiscard]] BoundResult bindWritten(const BindContext& context, std::unique_ptr<BoundOperator> function);

} // namespace retro::ops
