// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/bind/operatorbase.h"

namespace retro::ops
{

/// ExpertProduct of the domain retrograde: x·Wᵀ + b of one layer (attribute `expert`) out of a stack of constants.
/// Operands: x, tokens × columns; weights, experts × rows × columns, or with `bits` levels packed in bytes of uint8;
/// bias, experts × rows (may be absent); scales and zero points of packed weights, per row, or per block of
/// `block_size` columns. Errors (Input): constants that do not fit.
[[nodiscard]] BoundResult bindExpertProduct(const BindContext& context);

} // namespace retro::ops
