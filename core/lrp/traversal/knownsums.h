// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/algebrasums.h"
#include "core/tensor/tensor.h"

#include <optional>

namespace retro::lrp
{

/// Σ and Σ|·| of a tensor, as sumAndMagnitude() gives them. Of the last few tensors of this thread they are remembered:
/// what one rule hands on is what a later one gets, often the next. Nothing may have been written over the tensor
/// since.
[[nodiscard]] ops::algebra::SumAndMagnitude knownSums(const tensor::Tensor& tensor);

/// The same where they are remembered; else nothing.
[[nodiscard]] std::optional<ops::algebra::SumAndMagnitude> rememberedSums(const tensor::Tensor& tensor);

/// Remembers the sums of a tensor that whoever made it took on the way.
void keepSums(const tensor::Tensor& tensor, const ops::algebra::SumAndMagnitude& sums);

} // namespace retro::lrp
