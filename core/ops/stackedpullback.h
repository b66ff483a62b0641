// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/structure.h"

#include <span>
#include <vector>

namespace retro::ops
{

/// A linear map that pulls one s back along several variants of its weights in one call, where that is faster than one
/// call for each: passes that share an operand.
class StackedPullback
{
public:
    virtual ~StackedPullback() = default;
    /// LinearMap::pullback(s, variant) for every variant, in their order.
    [[nodiscard]] virtual std::vector<Tensor> pullbackAll(const Tensor& s,
                                                          std::span<const WeightVariant> variants) const = 0;
};

} // namespace retro::ops
