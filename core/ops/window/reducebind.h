// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/bind/bindcheck.h"

namespace retro::ops
{

/// Axes that a reduction removes (ascending), and the shape that it leaves.
struct ReducePlan
{
    std::vector<std::size_t> axes;
    tensor::Shape result;
};

/// The axes as the node gives them, an attribute before opset `operandSince` and operand 1 from it on: all when it
/// gives none, unless it asks for none; and what keepdims makes of them. Checks operands and attributes, not types.
[[nodiscard]] base::Result<ReducePlan> reducePlan(const BindContext& context, std::int64_t operandSince);

} // namespace retro::ops
