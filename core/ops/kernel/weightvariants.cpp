// SPDX-License-Identifier: Apache-2.0
#include "core/ops/kernel/weightvariants.h"

#include "core/ops/algebra.h"
#include "core/ops/kernel/matrixproduct.h"

namespace retro::ops
{

Tensor variantOf(const Tensor& weight, WeightVariant variant)
{
    if (!weight.isValid()) {
        return weight;
    }
    switch (variant.part) {
    case WeightPart::Positive:
        return algebra::positivePart(weight);
    case WeightPart::Negative:
        return algebra::negativePart(weight);
    case WeightPart::GammaPositive:
        return algebra::addScaled(weight, algebra::positivePart(weight), variant.gamma);
    case WeightPart::GammaNegative:
        return algebra::addScaled(weight, algebra::negativePart(weight), variant.gamma);
    case WeightPart::Square:
        return algebra::multiply(weight, weight);
    case WeightPart::Ones:
        return algebra::filledLike(weight, 1);
    case WeightPart::All:
        break;
    }
    return weight;
}

namespace
{

/// In another type, in the same order in memory when a matrix is only turned.
Tensor converted(const Tensor& weight, tensor::DType type)
{
    const bool isTurned = weight.rank() >= 2 && !weight.isContiguous() && swapped(weight).isContiguous();
    return isTurned ? swapped(swapped(weight).to(type)) : weight.to(type);
}

} // namespace

Tensor WeightVariants::make(WeightVariant variant) const
{
    return isValid() ? variantOf(converted(m_weight, m_type), variant) : Tensor();
}

WeightVariant WeightVariants::canonical(WeightVariant variant)
{
    const bool usesGamma = variant.part == WeightPart::GammaPositive || variant.part == WeightPart::GammaNegative;
    return {variant.part, usesGamma ? variant.gamma : 0};
}

} // namespace retro::ops
