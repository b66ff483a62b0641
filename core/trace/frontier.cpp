// SPDX-License-Identifier: Apache-2.0
#include "core/trace/runstate.h"

#include <unordered_set>

namespace retro::trace
{

namespace
{

/// Lists every tensor once, where it is met first.
class Members
{
public:
    void add(HandleId handle, NodeId node, bool heldByPromise)
    {
        if (handle.isValid() && m_seen.insert(handle.value).second) {
            m_members.push_back({handle, node, heldByPromise});
        }
    }
    std::vector<FrontierMember> take() { return std::move(m_members); }

private:
    std::vector<FrontierMember> m_members;
    std::unordered_set<std::uint32_t> m_seen;
};

void addLanded(Members& members, const NodeState& node, NodeId id)
{
    for (const Part& part : node.parts) {
        members.add(part.handle, id, false);
    }
}

void addHeld(Members& members, const PromiseState& promise)
{
    for (const BranchState& branch : promise.branches) {
        const bool isHeld = branch.holdsArgument && !promise.isComplete;
        members.add(isHeld ? branch.argument : HandleId(), promise.start, true);
        members.add(branch.holdsRelevance() ? branch.relevance : HandleId(), promise.start, true);
    }
    for (const HandleId relevance : promise.relevance) {
        members.add(promise.isComplete ? HandleId() : relevance, promise.start, true);
    }
}

} // namespace

std::vector<FrontierMember> RunState::frontier() const
{
    Members members;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        addLanded(members, nodes[i], NodeId(i));
    }
    for (const PlannedTensor& one : planned) {
        members.add(one.handle, one.node, false);
    }
    for (const PromiseState& promise : promises) {
        addHeld(members, promise);
    }
    return members.take();
}

} // namespace retro::trace
