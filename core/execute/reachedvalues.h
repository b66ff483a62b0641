// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/boundmodel.h"

#include <span>
#include <vector>

namespace retro::execute
{

/// Per value: true when it is floating and depends on one of `inputs` by operators that pass a gradient.
[[nodiscard]] std::vector<bool> reachedValues(const BoundModel& model, std::span<const ValueId> inputs);

} // namespace retro::execute
