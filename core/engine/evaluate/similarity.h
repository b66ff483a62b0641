// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"

namespace retro::engine
{

/// How alike two attributions of equal shape are.
struct Similarity
{
    double cosine = 0;   ///< of the numbers; 0 when one of them is zero everywhere
    double spearman = 0; ///< of their ranks, ties at their mean rank; 0 when one of them is constant
};

/// Both measures.
[[nodiscard]] Similarity similarity(const tensor::Tensor& a, const tensor::Tensor& b);

} // namespace retro::engine
