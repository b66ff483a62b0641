// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/structure.h"

#include <span>

namespace retro::ops
{

/// An operator whose data decide which elements of operand 0 become its result: MaxPool and GlobalMaxPool, ReduceMax
/// and ReduceMin, TopK, MaxRoiPool. Run on other data it would pick others.
class PickedPlaces
{
public:
    virtual ~PickedPlaces() = default;
    /// What `t`, of the shape of operand 0, has at the places that were picked of `operands`: in the shape of output 0;
    /// 0 where nothing was. The transpose of what hands relevance back.
    [[nodiscard]] virtual Tensor pick(const Tensor& t, std::span<const Tensor> operands) const = 0;
};

/// The places that an operator picks; null for all else.
[[nodiscard]] inline const PickedPlaces* pickedPlacesOf(const Structure& structure)
{
    return dynamic_cast<const PickedPlaces*>(&structure);
}

} // namespace retro::ops
