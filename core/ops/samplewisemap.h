// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/structure.h"

namespace retro::ops
{

/// A linear map that does the same to every sample (entry of the first axis), whatever their number: what all samples
/// of a batch have in common is computed once.
class SampleWiseMap
{
public:
    virtual ~SampleWiseMap() = default;
    /// LinearMap::apply(x, variant) for an `x` of another number of samples than the operand; not 0.
    [[nodiscard]] virtual Tensor applyToSamples(const Tensor& x, WeightVariant variant) const = 0;
};

} // namespace retro::ops
