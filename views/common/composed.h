// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"
#include "views/common/viewcontext.h"

namespace retro::views
{

/// The relevance of a value as the composite means it: some mean the gradient of an input times the input, and the run
/// holds the gradient. Anything else is returned as it is.
[[nodiscard]] tensor::Tensor asComposed(const RunModel& model, base::ValueId value, const tensor::Tensor& relevance);

} // namespace retro::views
