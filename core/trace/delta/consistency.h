// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/runstate.h"

namespace retro::trace::delta
{

/// Says why `event` cannot happen in `state`, or nullptr when it can: every index must exist and everything that the
/// event says was there before must be there. Events come from files that may be damaged; apply() may only be called
/// after this.
[[nodiscard]] const char* contradiction(const Event& event, const RunState& state, const Run& run);

/// What the check of one kind of event looks at.
struct Context
{
    const Event& event;
    const RunState& state;
    const Run& run;

    [[nodiscard]] bool hasNode() const { return event.node < state.nodes.size(); }
    [[nodiscard]] bool hasPromise() const { return event.promise < state.promises.size(); }
    [[nodiscard]] bool hasHandle() const { return event.handle < run.handles.size(); }
    /// True when there is such a promise with such a branch.
    [[nodiscard]] bool hasBranch(std::uint32_t promise, std::uint32_t branch) const
    {
        return promise < state.promises.size() && branch < state.promises[promise].branches.size();
    }
    [[nodiscard]] bool hasBranch() const { return hasBranch(event.promise, event.branch); }
    [[nodiscard]] bool hasOtherBranch() const { return hasBranch(event.other, event.branch2); }
    /// The node of the event; call after hasNode().
    [[nodiscard]] const NodeState& node() const { return state.nodes[event.node]; }
    [[nodiscard]] const PromiseState& promise() const { return state.promises[event.promise]; }
    [[nodiscard]] const BranchState& branch() const { return promise().branches[event.branch]; }
    /// Outputs of a node; a graph input has one.
    [[nodiscard]] std::size_t outputCount(NodeId id) const { return run.graph->outputsOf(id).size(); }
    /// Most in-edges that a node can have: every use of its outputs, and a virtual one per output of the target.
    [[nodiscard]] std::size_t mostInEdges(NodeId id) const;
    [[nodiscard]] bool isOneOf(std::int64_t value, std::int64_t count) const { return value >= 0 && value < count; }
};

/// Checks of promise events (promiseconsistency.cpp): reason or nullptr.
[[nodiscard]] const char* checkNewPromise(const Context& at);
[[nodiscard]] const char* checkAddParent(const Context& at);
[[nodiscard]] const char* checkRecord(const Context& at);
[[nodiscard]] const char* checkAddChild(const Context& at);
[[nodiscard]] const char* checkArgNode(const Context& at);
[[nodiscard]] const char* checkArg(const Context& at);
[[nodiscard]] const char* checkReady(const Context& at);
[[nodiscard]] const char* checkJoin(const Context& at);
[[nodiscard]] const char* checkOpen(const Context& at);
[[nodiscard]] const char* checkComplete(const Context& at);
[[nodiscard]] const char* checkPromiseRelevance(const Context& at);
[[nodiscard]] const char* checkBranchRelevance(const Context& at);

/// Checks of what planners try and what a plan does (planconsistency.cpp): reason or nullptr.
[[nodiscard]] const char* checkCandidate(const Context& at);
[[nodiscard]] const char* checkSplit(const Context& at);
[[nodiscard]] const char* checkDrop(const Context& at);
[[nodiscard]] const char* checkRebuild(const Context& at);
[[nodiscard]] const char* checkCompute(const Context& at);
[[nodiscard]] const char* checkRecompute(const Context& at);
[[nodiscard]] const char* checkFree(const Context& at);
[[nodiscard]] const char* checkMove(const Context& at);
[[nodiscard]] const char* checkFetch(const Context& at);

inline constexpr const char* kNoSuchNode = "it names a node that does not exist";
inline constexpr const char* kNoSuchPromise = "it names a promise or branch that does not exist";
inline constexpr const char* kNoSuchHandle = "it names a tensor that does not exist";
inline constexpr const char* kOtherBefore = "what it says was there before is not there";

} // namespace retro::trace::delta
