// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/boundoperator.h"
#include "core/ops/kernel/weightrows.h"

#include <memory>

namespace retro::ops
{

/// The weights of a MatMulNBits node, (u − z)·s, depth × columns: what operand 0 is multiplied with. They stay packed.
/// Errors (Input): operands that are computed or do not fit, a form that is not supported.
[[nodiscard]] base::Result<std::shared_ptr<const PackedMatrix>> packedNBits(const BindContext& context);

/// The same in float32 or float64. Errors (Input): also more than `most` bytes.
[[nodiscard]] base::Result<Tensor> nBitsWeight(const BindContext& context, tensor::DType type, std::uint64_t most);

} // namespace retro::ops
