// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/planningoptions.h"
#include "core/schedule/planner.h"

namespace retro::app
{

/// Which extent of a symbol of the inputs fits into a budget.
struct FitQuestion
{
    const PlanningOptions& planning;
    std::string fit;    ///< NAME, or NAME=N
    std::string budget; ///< as it was written
    std::string strategy;
    std::string order;
    schedule::PlanRequest request; ///< blocks, seconds and seed; what depends on the extent is filled in
};

/// Answers it: of NAME the largest extent that fits, of NAME=N whether it does. The exit code is 4 where nothing fits.
/// Errors: Usage (no budget, a share, inputs that are given, a size of the symbol beside it).
[[nodiscard]] base::Result<void> answerFit(Context& context, const FitQuestion& question);

} // namespace retro::app
