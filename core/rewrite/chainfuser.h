// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/rewrite/pattern.h"
#include "core/rewrite/rewrite.h"

#include <map>
#include <optional>

namespace retro::rewrite
{

/// Replaces chains of nodes by one node of the standard and says so; a chain whose inner values are read by others, and
/// of which no shorter part can be replaced, is named with the reason.
class ChainFuser
{
public:
    ChainFuser(Draft& draft, std::vector<RewriteStep>& steps, std::string rewrite)
        : m_draft(draft), m_steps(steps), m_rewrite(std::move(rewrite))
    {}

    /// Tries every node as the end of a chain, last nodes first, so that the longest chain wins. `match` answers what a
    /// chain becomes, having read it through the pattern; it may add constants to the draft.
    template <class Match>
    void run(const Match& match)
    {
        for (std::size_t i = m_draft.nodeCount(); i-- > 0 && !m_draft.isStopped();) {
            if (!m_draft.isRemoved(NodeId(i)) && m_draft.node(NodeId(i)).outputs.size() == 1) {
                Pattern pattern(m_draft, NodeId(i));
                if (const std::optional<Fusion> fusion = match(m_draft, pattern)) {
                    take(pattern, *fusion);
                }
            }
        }
        sayObstacles();
    }

    /// Puts the node in the place of the members of the pattern, or keeps the reason why that is not possible. True:
    /// it stands there.
    bool take(const Pattern& pattern, const Fusion& fusion);
    /// Says what was left as it is.
    void sayObstacles();

private:
    Draft& m_draft;
    std::vector<RewriteStep>& m_steps;
    std::string m_rewrite;
    std::map<std::size_t, std::string> m_obstacles; // by the chain's operand
};

} // namespace retro::rewrite
