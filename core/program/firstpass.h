// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/event/event.h"
#include "core/graph/graph.h"
#include "core/program/program.h"

#include <set>
#include <utility>
#include <vector>

namespace retro::program
{

/// A search of a promise, as far as a program needs it.
struct SearchedBranch
{
    std::vector<NodeId> path; ///< pass-through nodes crossed, in the order in which the search met them
    NodeId foundAt;           ///< arg node that answered; invalid when a child promise or a constant did
    PromiseId feeds;          ///< the promise whose value answered; may be invalid
    std::uint32_t feedsOutput = 0;
    std::uint32_t operandSlot = 0; ///< of the promise's start
    bool isAnswered = false;
};

struct RaisedPromise
{
    event::PromiseKind kind = event::PromiseKind::Operator;
    NodeId start;
    std::vector<SearchedBranch> branches;

    /// True when the rule of the start splits its relevance among the branches; otherwise the one branch searches the
    /// start's own value.
    [[nodiscard]] bool splits(const std::vector<RaisedPromise>& all) const;
};

/// A part that landed: in-edge `inEdge` of `child`, sent through operand slot `slot` of `consumer`.
struct LandedPart
{
    NodeId child;
    NodeId consumer; ///< invalid: the start relevance
    std::uint32_t inEdge = 0;
    std::uint32_t slot = 0;
    bool isJoined = false; ///< first added to the part before it
};

/// What a program is made from, picked out of the events of a traversal in their order.
class FirstPass
{
public:
    /// The graph of the run; must outlive this.
    explicit FirstPass(const graph::Graph& graph) : m_graph(graph), m_notes(graph.runNodeCount()) {}

    /// Takes one event; those that a program does not need are passed over. Error (Input): an event names a node,
    /// promise or branch that does not exist (a damaged run file).
    [[nodiscard]] base::Result<void> take(const event::Event& event);

    [[nodiscard]] const std::vector<RaisedPromise>& promises() const { return m_promises; }
    [[nodiscard]] const std::vector<LandedPart>& landed() const { return m_landed; }
    /// True when the node's rule was applied; ruleBy() is the promise that did it, or none.
    [[nodiscard]] bool isRuleApplied(NodeId node) const { return m_notes[node.index()].isApplied; }
    [[nodiscard]] PromiseId ruleBy(NodeId node) const { return m_notes[node.index()].by; }
    /// True when the node's relevance became known.
    [[nodiscard]] bool isKnown(NodeId node) const { return m_notes[node.index()].isKnown; }
    /// True when the LRP checkpoint at this output took a snapshot.
    [[nodiscard]] bool isSnapshot(NodeId node, std::uint32_t output) const
    {
        return m_snapshots.contains({node.value, output});
    }
    [[nodiscard]] bool isFinished() const { return m_isFinished; }

private:
    struct NodeNotes
    {
        PromiseId by;
        bool isApplied = false;
        bool isKnown = false;
    };

    [[nodiscard]] SearchedBranch* branch(std::uint32_t promise, std::uint32_t branch);
    [[nodiscard]] bool takeNewPromise(const event::Event& event);
    [[nodiscard]] bool takePromise(const event::Event& event);
    [[nodiscard]] bool takeBranch(const event::Event& event);
    [[nodiscard]] bool takeNode(const event::Event& event);

    const graph::Graph& m_graph;
    std::vector<RaisedPromise> m_promises;
    std::vector<LandedPart> m_landed;
    std::vector<NodeNotes> m_notes; // by NodeId
    std::set<std::pair<std::uint32_t, std::uint32_t>> m_snapshots;
    bool m_isFinished = false;
};

} // namespace retro::program
