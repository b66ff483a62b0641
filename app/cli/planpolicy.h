// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/opgraph.h"
#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/schedule/plan.h"

#include <string>

namespace retro::app
{

/// A plan of a captured run as a policy of torch.utils.checkpoint (docs/capture.md): every operator that PyTorch ran in
/// the forward pass, in order, with "save" or "recompute". What shares memory with a value that is computed again is
/// computed again as well, and so is what is changed in place later. Errors (Usage): a graph that does not name the
/// operators of PyTorch.
[[nodiscard]] base::Result<std::string> checkpointPolicy(const graph::Graph& graph, const analysis::OpGraph& joint,
                                                         const schedule::Plan& plan);

} // namespace retro::app
