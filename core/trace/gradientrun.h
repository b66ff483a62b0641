// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"

#include <span>

namespace retro::trace
{

/// True when what flows is a gradient (`gradient`, `gradient_x_input`, `guided_backprop`, `deconvnet`, `beta_smooth`):
/// every linear map and every product of two computed operands that relevance passes has the rule "gradient". Nothing
/// of a gradient is conserved on its way, so shares of what started mean nothing for it. False when there is no such
/// node.
[[nodiscard]] bool carriesGradient(std::span<const NodeRule> rules);

} // namespace retro::trace
