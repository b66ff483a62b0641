// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/check.h"

namespace retro::diagnosis
{

/// What a node loses to one cause, as shares of 0 … 1.
struct LostShare
{
    base::NodeId node;
    double share = 0;   ///< of Σ|R| that arrives there
    double ofStart = 0; ///< of Σ|R| at the target
};

/// Calls `look` with the loss of every node that relevance reached, in the order of the graph, and writes each down as
/// measured.
template <class F>
void forLostShares(const Facts& facts, Probe& probe, event::Cause cause, const F& look)
{
    const double start = facts.start();
    for (std::size_t i = 0; i < facts.graph().nodeCount(); ++i) {
        const base::NodeId node(i);
        const trace::NodeBalance& balance = facts.balance(node);
        if (balance.rows == 0 || !(balance.magnitude > 0)) {
            continue;
        }
        const double share = facts.share(node, cause);
        probe.measured(facts.graph().labelOf(node), share);
        look(LostShare{node, share, start > 0 ? share * balance.magnitude / start : 0});
    }
}

} // namespace retro::diagnosis
