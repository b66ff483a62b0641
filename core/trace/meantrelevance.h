// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"

namespace retro::trace
{

/// Relevance of a value as the composite means it, of the tensor that the run holds for it: at an input of gradient ×
/// input the gradient times the input, where that was kept; else the tensor itself.
[[nodiscard]] tensor::Tensor meantRelevance(const Run& run, ValueId value, const tensor::Tensor& held);

/// Its sum, of the relevance behind a handle; 0 where there is none. Also where the tensor was not kept: then the sum
/// of what the run held.
[[nodiscard]] double meantSum(const Run& run, ValueId value, HandleId handle);

} // namespace retro::trace
