// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/schedule/planner.h"

namespace retro::schedule
{

// One planner per file; each is declared here once and listed in plannerlist.cpp.
extern const Planner kStoreAll;
extern const Planner kRecomputeAll;
extern const Planner kSqrt;
extern const Planner kInterval;
extern const Planner kRevolve;
extern const Planner kRotor;
extern const Planner kMinCut;
extern const Planner kKnapsack;
extern const Planner kDtr;
extern const Planner kDtrOnline;
extern const Planner kShave;
extern const Planner kAnneal;
extern const Planner kUser;
extern const Planner kTorchSecondProduct;
extern const Planner kTorchMemoryBudget;
extern const Planner kExact;
extern const Planner kCheckmate;
extern const Planner kOffload;

} // namespace retro::schedule
