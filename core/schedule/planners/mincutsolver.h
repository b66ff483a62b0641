// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/schedule/plan.h"

namespace retro::schedule
{

/// The cheapest set of forward values to save so that everything that gradient operators read can be rebuilt without
/// running a banned operator again (docs/planning.md, `min_cut`): a minimum cut of the forward graph.
struct MinCut
{
    std::vector<OpValueId> saved; ///< ascending
    std::uint64_t bytes = 0;      ///< of their prices
};
/// `price` per value is what saving it costs; `isBanned` per operator forbids to run it again. Operators that may not
/// repeat are always banned. Saturates at 2^62. O(values² · operands) at worst, in practice near linear (Dinic).
[[nodiscard]] MinCut minimumCut(const OpGraph& joint, const std::vector<std::uint64_t>& price,
                                const std::vector<bool>& isBanned);

/// A saved set as a plan: forward once; before each gradient operator what is missing, which stays until its last
/// gradient reader.
[[nodiscard]] std::vector<OpId> sequenceOfSaved(const OpGraph& joint, const std::vector<OpId>& base,
                                                const std::vector<OpValueId>& saved);

} // namespace retro::schedule
