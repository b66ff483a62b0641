// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/lut/lut.h"

#include <span>

namespace retro::ops
{

/// The layer with its numbers; borrows all of them.
template <class T>
[[nodiscard]] lut::LayerDescription<T> descriptionOf(const LutStructure& layer, std::span<const T> weights,
                                                     std::span<const T> codes)
{
    lut::LayerDescription<T> description;
    description.shape = layer.shape;
    description.anchors = layer.anchors;
    description.weights = weights;
    description.isSparse = layer.isSparse;
    description.rowStarts = layer.rowStarts;
    description.columns = layer.columns;
    description.codes = codes;
    description.forwardGroup = layer.forwardGroup;
    description.backwardGroup = layer.backwardGroup;
    return description;
}

} // namespace retro::ops
