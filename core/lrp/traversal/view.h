// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/traversal/traversal.h"

#include <vector>

namespace retro::lrp
{

/// What a traversal holds at a moment, in the terms of docs/traversal.md, sections 1.2 and 1.3. Plain values; for tests
/// (what events say must come to the same) and for reports. Never needed to run.
struct TraversalView
{
    /// A branch by its promise; promise invalid = none.
    struct BranchName
    {
        base::PromiseId promise;
        std::uint32_t branch = 0;
        bool operator==(const BranchName&) const = default;
    };

    /// What lies in an in-edge slot; both invalid = nothing.
    struct Slot
    {
        HandleId tensor;
        BranchName branch;
    };

    struct Branch
    {
        std::vector<NodeId> path; ///< pass-through nodes, in the order in which the search crossed them
        NodeId argNode;
        bool hasArgument = false;
        HandleId argument;     ///< while the promise holds it
        HandleId relevance;    ///< in-relevance, until it has been taken
        base::PromiseId child; ///< promise that this branch feeds; invalid = none
        bool isLinked = false; ///< that promise is listed as its child
    };

    struct Parent
    {
        BranchName branch;
        std::uint32_t output = 0; ///< of the promise's start, which this parent reads
    };

    struct Promise
    {
        event::PromiseKind kind = event::PromiseKind::Operator;
        NodeId start;
        bool isOpen = false;
        bool isReady = false;
        bool isComplete = false;
        std::uint32_t pendingParents = 0;
        std::vector<Parent> parents;
        std::vector<Branch> branches;
    };

    struct Node
    {
        event::Mode lastMode = event::Mode::None;
        std::uint32_t visits = 0;
        std::uint32_t inEdges = 0; ///< 0 for nodes that are not part of the traversal
        std::uint32_t missing = 0; ///< nodes_pending: in-edges that have not landed
        base::PromiseId prePromise;
        BranchName waitsFor;
        bool ruleApplied = false;
        std::vector<Slot> landed;        ///< by in-edge
        std::vector<HandleId> relevance; ///< per output
    };

    std::vector<Node> nodes; ///< by NodeId
    std::vector<Promise> promises;
    std::vector<NodeId> normalStack; ///< bottom first
    std::vector<NodeId> searchStack; ///< bottom first
    std::vector<NodeId> queue;       ///< oldest first
    bool isFinished = false;
};

} // namespace retro::lrp
