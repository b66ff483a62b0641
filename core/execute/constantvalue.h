// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/boundmodel.h"

namespace retro::execute
{

/// The data of a value that depends on constants alone, in the run's precision: a constant, or what nodes compute of
/// constants (the reordered weights of a recurrent layer, in a branch that could not be folded while it was one).
/// Invalid for a value that depends on an input, or when an operator refuses its data. Runs the nodes below the value.
[[nodiscard]] Tensor constantValue(const BoundModel& model, ValueId value);

} // namespace retro::execute
