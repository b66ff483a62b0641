// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/structure.h"

namespace retro::lrp
{

using tensor::Tensor;

/// Is told by a rule how relevance went through the weights and the bias of a linear map, or the constant operands of a
/// normalisation (parameterrelevance.h).
class ParameterSink
{
public:
    virtual ~ParameterSink() = default;

    /// factor · Σ x·W′ ⊙ s, taken apart by weights: each gets factor · W′ · (xᵀs). `x` has the shape of the map's
    /// operand, `s` that of its result.
    virtual void throughWeights(const Tensor& x, ops::WeightVariant weight, const Tensor& s, double factor) = 0;
    /// factor · b′ ⊙ s, taken apart by elements of the bias.
    virtual void throughBias(ops::WeightVariant bias, const Tensor& s, double factor) = 0;
    /// What arrived is the gradient of the map's result.
    virtual void gradient(const Tensor& arrived) = 0;
    /// Of a function z of several operands: s = R / stab(z), so that an operand's share is itself times the gradient of
    /// Σ s·z by it.
    virtual void throughOperands(const Tensor& s) = 0;
};

} // namespace retro::lrp
