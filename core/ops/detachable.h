// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"

#include <span>

namespace retro::ops
{

/// What a self-normalisation y = (x − mean)/deviation · scale + bias offers beside its gradient, when it can be looked
/// at with the deviation held constant: then y is linear in x (AttnLRP; detached-deviation in docs/composites.md).
class Detachable
{
public:
    virtual ~Detachable() = default;
    /// False: only divided by the root mean square.
    [[nodiscard]] virtual bool isCentred() const = 0;
    /// Gradient of Σ s·y with respect to operand 0, the deviation constant: g − mean(g) over each group with g =
    /// s·scale/deviation, or g itself when it is not centred. `operands` as forward() gets them, s of y's shape.
    [[nodiscard]] virtual tensor::Tensor detachedPullback(const tensor::Tensor& s,
                                                          std::span<const tensor::Tensor> operands) const = 0;
    /// Its transpose, y of a direction v of x's shape: (v − mean(v)) · scale/deviation, without the mean where it is
    /// not centred. `operands` as forward() gets them.
    [[nodiscard]] virtual tensor::Tensor detachedForward(const tensor::Tensor& v,
                                                         std::span<const tensor::Tensor> operands) const = 0;
    /// Sums over all elements of y that one element of scale was multiplied into, of what `perElement` (y's shape) says
    /// of them; in scale's shape. Only where there is a scale.
    [[nodiscard]] virtual tensor::Tensor sumsPerScale(const tensor::Tensor& perElement) const = 0;
};

} // namespace retro::ops
