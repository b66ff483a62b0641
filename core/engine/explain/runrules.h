// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/trace/run.h"

#include <stop_token>
#include <string>
#include <vector>

namespace retro::engine
{

/// The rules that a composite (a name with parameters, or a file) gives the nodes of a recorded run, by NodeId: what
/// another tool was set to on the same model. The run's graph is bound again with the run's shapes; weights that a run
/// file leaves out count as zeros, since no rule is chosen by their numbers. Errors: Usage (unknown composite), Input
/// (a node gets no rule, a graph that cannot be bound), Cancelled.
[[nodiscard]] base::Result<std::vector<trace::NodeRule>> rulesFor(const trace::Run& run, const std::string& composite,
                                                                  const std::stop_token& stop = {});

} // namespace retro::engine
