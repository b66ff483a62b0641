// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/structure.h"

#include <span>

namespace retro::ops
{

/// A linear map that does the same to every sample (entry of the first axis), whatever their number: what all samples
/// of a batch have in common is computed once.
class SampleWiseMap
{
public:
    virtual ~SampleWiseMap() = default;
    /// LinearMap::apply(x, variant) for one sample that is `perChannel` everywhere: one number, or one for each entry
    /// of its axis 1. The last answer of each variant is kept, since bounds are asked for in every pass.
    [[nodiscard]] virtual Tensor applyToConstant(std::span<const double> perChannel, WeightVariant variant) const = 0;
};

} // namespace retro::ops
