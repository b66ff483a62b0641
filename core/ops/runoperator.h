// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/failure.h"
#include "core/ops/boundoperator.h"

#include <string>

namespace retro::ops
{

/// A node in messages: "node 'conv1' (Conv)".
[[nodiscard]] std::string placeOf(const graph::Node& node);

/// op.run(operands) for a node. Errors, with the node as their place: Memory; Engine where a shape would have led
/// to wrong memory (base::guard).
[[nodiscard]] base::Result<std::vector<Tensor>> runForward(const BoundOperator& op, const graph::Node& node,
                                                           std::span<const Tensor> operands);
/// The same for callers that give back no Result: the error leaves as a base::Failure.
[[nodiscard]] std::vector<Tensor> forwardOrFail(const BoundOperator& op, const graph::Node& node,
                                                std::span<const Tensor> operands);

} // namespace retro::ops
