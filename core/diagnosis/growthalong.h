// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/facts.h"

#include <vector>

namespace retro::diagnosis
{

/// How Σ|R| grows from the target to the inputs.
struct GrowthAlong
{
    double decades = 0;    ///< log10(largest / nearTarget)
    double largest = 0;    ///< Σ|R| anywhere
    double nearTarget = 0; ///< largest in the last fifth of the values towards the target: where a small score of the
                           ///< head, a difference of large terms, no longer counts
    NodeId largestAt;      ///< whose result it is, or the input; invalid: no relevance is known
    double steepest = 0;   ///< largest factor of one node
    NodeId steepestAt;
};

/// The same of a run; zeros where no relevance is known.
[[nodiscard]] GrowthAlong growthAlong(const Facts& facts);

} // namespace retro::diagnosis
