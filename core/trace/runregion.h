// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"

#include <string>
#include <vector>

namespace retro::trace
{

/// A region of the inputs that was asked of a run, with the weights of every value: R·w of an element is what it puts
/// there (docs/region.md). So what ends in the region is known without the model.
struct RunRegion
{
    std::string text;                     ///< the region in words
    std::vector<tensor::Tensor> masks;    ///< per graph input; invalid = nothing of it is in the region
    std::vector<tensor::Tensor> weights;  ///< by ValueId, in the value's shape; invalid = zero
    std::vector<tensor::Tensor> arriving; ///< by ValueId: of a region that is all inputs; empty where not asked for
};

} // namespace retro::trace
