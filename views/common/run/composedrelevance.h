// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/viewcontext.h"

namespace retro::views
{

/// Relevance of a value as the composite means it: at an input perhaps the gradient times the input, of which the run
/// holds the gradient; else `relevance` itself.
[[nodiscard]] tensor::Tensor composedRelevance(const RunModel& model, base::ValueId value,
                                               const tensor::Tensor& relevance);

} // namespace retro::views
