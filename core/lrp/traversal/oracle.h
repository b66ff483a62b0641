// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/savedvalues.h"
#include "core/lrp/composite/composite.h"
#include "core/lrp/traversal/traversalgraph.h"

#include <span>
#include <stop_token>
#include <vector>

namespace retro::lrp
{

/// Relevance of every (node, output): index by NodeId, then output. Invalid where nothing arrived.
using RelevanceTable = std::vector<std::vector<Tensor>>;

/// The plain loop that the engine is compared with (docs/traversal.md, section 3): nodes in decreasing post-order
/// index, every value at hand (saved under policy All), parts summed in in-edge order (sumOf), one rule application per
/// node; no stacks, no promises. `starts` per root, in the shape of its output. Errors: Cancelled.
[[nodiscard]] base::Result<RelevanceTable> oracle(const execute::SavedValues& everything, const RuleAssignment& rules,
                                                  const TraversalGraph& graph, std::span<const Tensor> starts,
                                                  std::stop_token stop = {},
                                                  std::vector<event::LedgerEntry>* ledger = nullptr);
/// As above, for a graph with one root.
[[nodiscard]] base::Result<RelevanceTable> oracle(const execute::SavedValues& everything, const RuleAssignment& rules,
                                                  const TraversalGraph& graph, const Tensor& start,
                                                  std::stop_token stop = {},
                                                  std::vector<event::LedgerEntry>* ledger = nullptr);

} // namespace retro::lrp
