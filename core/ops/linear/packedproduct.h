// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/boundoperator.h"
#include "core/ops/kernel/weightrows.h"

#include <memory>

namespace retro::ops
{

/// x·W + b of packed weights, a linear map. The context is that of a MatMul: operand 0 is x, operand 1 has the type and
/// shape of the weights (its data is not read), operand 2 is a constant bias or absent. Errors (Input): shapes that do
/// not fit.
[[nodiscard]] BoundResult bindPackedProduct(const BindContext& context, std::shared_ptr<const PackedMatrix> weight);

} // namespace retro::ops
