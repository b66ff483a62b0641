// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/traversal/traversal.h"
#include "tests/core/lrp/eventlog.h"
#include "tests/core/lrp/specgraph.h"

#include <string>
#include <vector>

namespace retro::lrptest
{

/// What a traversal over formulas left behind.
struct SymbolicRun
{
    std::vector<event::Event> events;
    lrp::TraversalCounts counts;
    std::string fault; ///< what is wrong with the run; empty when all is well
};

/// Runs the traversal over formulas and checks it: it ends by itself, its events are consistent, no handle leaks, each
/// rule is applied once, and every relevance is the same formula as the oracle's (so it has the same bits).
[[nodiscard]] SymbolicRun runSymbolic(const SpecGraph& spec, const std::vector<lrp::NodeBehaviour>& behaviour);

} // namespace retro::lrptest
