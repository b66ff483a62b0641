// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"
#include "views/common/run/fusednode.h"

#include <stop_token>
#include <string>
#include <vector>

namespace retro::app
{

/// What the fused nodes of a model stand for. `shown` is the graph on screen: nodes that it does not have are left out.
[[nodiscard]] views::FusedNodes fusedNodes(const engine::LoadedModel& model, const graph::Graph& shown);

/// The same after a relevance pass, with the operators that do many steps in one, and with the nodes of these names
/// opened (names that no fused node has are ignored). A node that cannot be opened says why, the others are opened.
/// Errors: Cancelled.
[[nodiscard]] base::Result<views::FusedNodes>
openNodes(const engine::LoadedModel& model, const engine::ExplainRequest& request, const engine::ExplainResult& result,
          const std::vector<std::string>& names, const std::stop_token& stop);

} // namespace retro::app
