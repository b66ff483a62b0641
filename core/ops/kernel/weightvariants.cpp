// SPDX-License-Identifier: Apache-2.0
#include "core/ops/kernel/weightvariants.h"

#include "core/ops/algebra.h"

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

WeightVariant WeightVariants::canonical(WeightVariant variant)
{
    const bool usesGamma = variant.part == WeightPart::GammaPositive || variant.part == WeightPart::GammaNegative;
    return {variant.part, usesGamma ? variant.gamma : 0};
}

} // namespace retro::ops
