// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/schedule/simulator.h"

namespace retro::schedule
{

/// Per step of a plan, and one more for the end: the values whose way to a tier ends there, as the simulator has it.
[[nodiscard]] std::vector<std::vector<OpValueId>> departures(const Plan& plan, const Simulation& predicted);

} // namespace retro::schedule
