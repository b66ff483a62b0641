// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"

#include <span>

namespace retro::trace
{

/// Name of the number in RunFacts that says whether what flows is a gradient: 1 or 0. Older runs do not have it.
inline constexpr const char* kGradientNumber = "gradient";

/// What the text of a recorded rule says: it is the plain gradient; it hands on what arrives.
[[nodiscard]] bool isPlainGradient(const NodeRule& rule);
[[nodiscard]] bool handsOn(const NodeRule& rule);

/// True when what flows is a gradient (`gradient`, `gradient_x_input`, `guided_backprop`, `deconvnet`, `beta_smooth`).
/// Nothing of a gradient is conserved on its way, so shares of what started mean nothing for it. Told by the rules:
/// every linear map and every product of two computed operands that relevance passes has the rule "gradient"; where
/// there is none of them, every node that has a rule has one of those of gradients. False where no node has a rule.
[[nodiscard]] bool carriesGradient(std::span<const NodeRule> rules);
/// As the run's facts say; of a run that does not say it, as above.
[[nodiscard]] bool carriesGradient(const Run& run);

} // namespace retro::trace
