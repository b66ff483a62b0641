// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/boundoperator.h"

namespace retro::ops
{

/// Constant operand `slot` as the model stores it when that is float16 or bfloat16, else in the run's precision. For
/// maps that hold their weights and widen them where they are used (WeightVariants).
[[nodiscard]] Tensor storedWeight(const BindContext& context, std::size_t slot);

/// True when a node reads a constant operand as the model stores it: a product its matrices, Gather its table. Such an
/// operand need not be widened for binding or running the node.
[[nodiscard]] bool takesStored(const graph::Node& node, std::size_t slot);

/// Stands for a wide copy of a narrow constant where only its type and shape are asked for.
[[nodiscard]] Tensor shapeOnly(tensor::DType type, const tensor::Shape& shape);

} // namespace retro::ops
