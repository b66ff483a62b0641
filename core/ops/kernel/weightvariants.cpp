// SPDX-License-Identifier: Apache-2.0
#include "core/ops/kernel/weightvariants.h"

#include "core/ops/kernel/mapover.h"
#include "core/ops/kernel/matrixproduct.h"
#include "core/ops/kernel/visitnumber.h"

namespace retro::ops
{

namespace
{

/// In one walk, in the memory of `weight` where nobody else holds it: what has just been packed is turned into what is
/// used without a second tensor of its size.
template <class T>
Tensor variantOver(Tensor weight, WeightVariant variant)
{
    const T g = static_cast<T>(variant.gamma);
    switch (variant.part) {
    case WeightPart::Positive:
        return mapOver<T>(std::move(weight), [](T w) { return w < 0 ? T{0} : w; });
    case WeightPart::Negative:
        return mapOver<T>(std::move(weight), [](T w) { return w > 0 ? T{0} : w; });
    case WeightPart::GammaPositive:
        return mapOver<T>(std::move(weight), [g](T w) { return static_cast<T>(w + g * (w < 0 ? T{0} : w)); });
    case WeightPart::GammaNegative:
        return mapOver<T>(std::move(weight), [g](T w) { return static_cast<T>(w + g * (w > 0 ? T{0} : w)); });
    case WeightPart::Square:
        return mapOver<T>(std::move(weight), [](T w) { return static_cast<T>(w * w); });
    case WeightPart::Ones:
        return mapOver<T>(std::move(weight), [](T) { return T{1}; });
    case WeightPart::All:
        break;
    }
    return weight;
}

} // namespace

Tensor variantOf(Tensor weight, WeightVariant variant)
{
    if (!weight.isValid()) {
        return weight;
    }
    return visitFloat(weight.dtype(),
                      [&](auto zero) { return variantOver<decltype(zero)>(std::move(weight), variant); });
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
