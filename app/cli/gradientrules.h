// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/context.h"
#include "core/engine/gradient/gradient.h"

namespace retro::app
{

/// Prints the reverse rules of every node of a model, by type and by the operator's name, and why one cannot be
/// applied.
[[nodiscard]] base::Result<void> listGradientRules(const Context& context, const engine::LoadedModel& model,
                                                   const engine::GradientRequest& request);

} // namespace retro::app
