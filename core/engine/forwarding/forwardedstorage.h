// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/liveness.h"
#include "core/engine/forwarding/forwardneeds.h"

#include <vector>

namespace retro::engine
{

/// A pass as memory sees it: values by numbers, inputs first, then results in the order of the nodes.
struct ForwardedStorage
{
    analysis::StorageProblem problem;  ///< bytes; cost in floating-point operations
    std::vector<base::ValueId> values; ///< by number
};

/// The pass of `needs`, from its first target on. Each computation of an operator costs `overhead` beside its
/// operations. Linear in the graph.
[[nodiscard]] ForwardedStorage forwardedStorage(const ForwardNeeds& needs, double overhead);

} // namespace retro::engine
