// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/traversal/promisequeue.h"
#include "core/lrp/traversal/traversal.h"
#include "core/lrp/traversal/view.h"

#include <limits>
#include <map>
#include <vector>

namespace retro::lrp
{

using base::PromiseId;
using event::EventKind;
using event::Mode;
using event::PromiseKind;

/// Position of a branch among all branches of a run.
using BranchIndex = std::uint32_t;
inline constexpr BranchIndex kNoBranch = std::numeric_limits<BranchIndex>::max();
inline constexpr std::uint32_t kNoSlot = std::numeric_limits<std::uint32_t>::max();

/// What lies in an in-edge slot or leaves a node through a child slot: a tensor, a branch that stands for one, or
/// nothing.
struct Part
{
    HandleId tensor;
    BranchIndex branch = kNoBranch;
    [[nodiscard]] bool isEmpty() const { return !tensor.isValid() && branch == kNoBranch; }
};

/// What the traversal knows about a node beside its in-edge slots.
struct NodeRun
{
    std::uint32_t missing = 0; ///< in-edges that have not landed
    PromiseId prePromise;
    BranchIndex waitsFor = kNoBranch;
    NodeId pathBefore; ///< neighbours in the path of the one branch that crossed this node
    NodeId pathAfter;
    std::uint32_t landing = 0;  ///< number of the last landing that reached this node
    std::uint32_t landSlot = 0; ///< first child slot of that landing that leads here
    std::uint8_t visits = 0;
    Mode lastMode = Mode::None;
    bool onNormal = false;
    bool onSearch = false;
    bool wasCrossed = false;
    bool ruleApplied = false;
    bool isKnown = false;    ///< relevance of some output is known
    bool isSearched = false; ///< by the document: a branch has landed there
    bool isDone = false;     ///< by the document: nothing is left to do there, unless it waits
};

/// One search of a promise (docs/traversal.md, section 1.3). A branch feeds at most one promise: where its search ends
/// at a promise, the search goes on in that promise's own branches.
struct Branch
{
    PromiseId promise;
    std::uint32_t operandSlot = 0; ///< operand of the start that is searched
    NodeId argNode;
    HandleId argument;
    HandleId relevance; ///< in-relevance; held until whoever the branch ended at has taken it
    NodeId pathFirst;
    NodeId pathLast;
    PromiseId feeds;                    ///< the promise whose parent this branch is
    BranchIndex nextParent = kNoBranch; ///< next parent of the same promise
    std::uint32_t feedsOutput = 0;      ///< output of the fed promise's start that this branch reads
    bool isLinked = false;              ///< the fed promise is a child: completion cascades into it
    bool hasArgument = false;
    bool endsAtArgNode = false;  ///< the arg node itself answered; the in-relevance is its relevance
    std::uint32_t completed = 0; ///< number of its promise's completion among all
};

/// By the document: a branch that landed at a node with a Pre-Promise and is no parent of it yet.
struct Unlinked
{
    BranchIndex branch = kNoBranch;
    NodeId node;
    std::uint32_t inEdge = 0;
};

/// A promise (docs/traversal.md, section 1.3). Its branches lie next to each other.
struct Promise
{
    PromiseKind kind = PromiseKind::Operator;
    NodeId start;
    BranchIndex firstBranch = 0;
    std::uint32_t branchCount = 0;
    std::uint32_t missingArguments = 0;
    std::uint32_t pendingParents = 0; ///< parents whose promise is not complete
    std::uint32_t parentCount = 0;
    BranchIndex firstParent = kNoBranch;
    BranchIndex lastParent = kNoBranch;
    BranchIndex nextToServe = kNoBranch; ///< first parent that has not been offered the forward value
    bool isOpen = false;
    bool isComplete = false;
    bool splits = false;    ///< the start's rule splits the relevance; otherwise it is handed on as it is
    bool sumsParts = false; ///< its relevance is the sum of the parts at its start (Pre, Aggregate); otherwise one
                            ///< parent brings it, or it was there from the beginning
};

/// What merging the in-edges of a node gave: nothing to do, relevance (known for its outputs now), or a branch.
struct Merged
{
    enum class What : std::uint8_t { Nothing, Relevance, Branch };
    What what = What::Nothing;
    BranchIndex branch = kNoBranch;
};

/// A pick of the traversal. Node invalid: nothing can be picked.
struct Pick
{
    Mode mode = Mode::None;
    NodeId node;
};

/// A REQUEST that is being carried out: what comes next in it.
struct Frame
{
    enum class Phase : std::uint8_t { Values, Relevance, Cascade };
    PromiseId promise;
    Phase phase = Phase::Values;
    std::uint32_t branch = 0; ///< next branch of the cascade
};

/// State and steps of the traversal; one source file per step of section 2 of docs/traversal.md.
class Traversal::Implementation
{
public:
    Implementation(const TraversalGraph& graph, Arithmetic& arithmetic, event::Sink& sink, std::vector<HandleId> starts,
                   const TraversalOptions& options);
    ~Implementation();
    Implementation(const Implementation&) = delete;
    Implementation& operator=(const Implementation&) = delete;

    /// As the functions of Traversal.
    [[nodiscard]] bool isFinished() const { return m_finished; }
    [[nodiscard]] bool hasStoppedEarly() const { return m_stoppedEarly; }
    [[nodiscard]] TraversalView view() const;
    [[nodiscard]] base::Result<void> step();
    [[nodiscard]] const TraversalCounts& counts() const { return m_counts; }
    [[nodiscard]] HandleId relevance(NodeId node, std::uint32_t k) const
    {
        return m_relevance[m_firstOutput[node.index()] + k];
    }

private:
    // traversal.cpp: the run
    void begin();
    [[nodiscard]] base::Result<void> end();
    void stopEarly();
    void setCheckpoints(const TraversalOptions& options);

    // pick.cpp: section 2.1
    [[nodiscard]] Pick pick();
    [[nodiscard]] bool isExhausted();
    [[nodiscard]] bool isFulfilled(NodeId node) const;
    [[nodiscard]] bool isUsable(NodeId node) const;
    [[nodiscard]] std::size_t usableSearchDepth() const;
    void announce(const Pick& picked);
    void pushNormal(NodeId node);
    void pushSearch(NodeId node);
    void popNormal();
    void popSearch(bool discarded);
    void enqueue(NodeId node);

    // document.cpp: section 6
    [[nodiscard]] bool rescue();
    void skipDone();
    void examine(NodeId child, std::uint32_t slot);
    void landBase(NodeId node, PromiseId id);
    void sumByArrival(NodeId node, PromiseId id);
    void pushTails(PromiseId id);
    void leaveQueue(NodeId node);

    // merge.cpp: section 2.2
    [[nodiscard]] Merged merge(const Pick& picked);
    [[nodiscard]] Merged mergeParts(NodeId node);
    [[nodiscard]] Merged fanIn(NodeId node);
    [[nodiscard]] BranchIndex aggregate(NodeId node);
    [[nodiscard]] BranchIndex beginSearch(NodeId node);
    void open(PromiseId id);
    void sumParts(NodeId node);
    void sumGathered(NodeId node);
    void gatherPart(NodeId node, std::uint32_t slot);
    [[nodiscard]] Part take(NodeId node, std::uint32_t slot);
    void stopWaiting(NodeId node);

    // propagate.cpp: section 2.3
    [[nodiscard]] bool propagate(NodeId node, const Merged& merged);
    [[nodiscard]] bool propagateRelevance(NodeId node);
    [[nodiscard]] bool propagateBranch(NodeId node, BranchIndex b);
    [[nodiscard]] bool answer(NodeId node, BranchIndex b);
    void record(NodeId node, BranchIndex b);
    void raise(NodeId node, BranchIndex parent);
    void sendBranches(PromiseId id);
    [[nodiscard]] std::vector<HandleId> applyRule(NodeId node, std::span<const HandleId> operands, PromiseId by);
    [[nodiscard]] std::uint32_t trackedSlot(NodeId node) const;

    // land.cpp: section 2.5
    void land(NodeId node);
    void landPart(NodeId node, std::uint32_t slot);
    [[nodiscard]] bool sendsTo(const ChildSlot& child, std::uint32_t slot) const
    {
        return child.child.isValid() && !m_outs[slot].isEmpty();
    }
    void answerUntracked(NodeId node, std::uint32_t slot);
    void reach(NodeId child, std::uint32_t firstSlot);
    void join(NodeId child, std::uint32_t firstSlot);
    void linkSlotsOfSameChild(NodeId node);
    [[nodiscard]] bool bringsSearch(std::uint32_t firstSlot) const;

    // request.cpp: section 2.4
    void supplyArgument(BranchIndex b, HandleId value, NodeId foundAt);
    void setArgument(BranchIndex b, HandleId value, NodeId foundAt);
    void request(PromiseId id);
    void runFrames();
    void advance();
    [[nodiscard]] bool serveParent(PromiseId id);
    [[nodiscard]] bool cascade(Frame& frame);
    [[nodiscard]] HandleId forwardValue(const Promise& ready, std::uint32_t output);
    void gatherOperands(const Promise& ready);

    // complete.cpp: relevance goes down
    void complete(PromiseId id);
    void collectRelevance(PromiseId id);
    void announceRelevance(PromiseId id);
    void split(PromiseId id);
    void carryDown(BranchIndex b);
    void settle(BranchIndex b);
    void releaseArguments(const Promise& completed);
    void setBranchRelevance(BranchIndex b, HandleId handle);
    void setRelevance(NodeId node, std::uint32_t k, HandleId handle);

    // promises.cpp: promises and their links
    [[nodiscard]] PromiseId newPromise(PromiseKind kind, NodeId start, bool isOpen, bool splits);
    void addBranch(Promise& created, PromiseId id, std::uint32_t operandSlot);
    void addParent(PromiseId id, BranchIndex b, std::uint32_t inEdge);
    void addChild(BranchIndex b);
    void setArgNode(BranchIndex b, NodeId node);
    void markIfEligible(NodeId node);
    [[nodiscard]] bool searchesOperands(NodeId node) const;

    // view.cpp: what is held at a moment
    [[nodiscard]] TraversalView::Node viewOf(NodeId id) const;
    [[nodiscard]] TraversalView::Promise viewOf(const Promise& promise) const;
    [[nodiscard]] TraversalView::BranchName nameInView(BranchIndex b) const;

    // report.cpp: what waits for what, in words
    [[nodiscard]] base::Error stuckError() const;
    [[nodiscard]] std::string whyWaiting(NodeId node) const;
    [[nodiscard]] std::string whatIsMissing(NodeId node) const;
    [[nodiscard]] std::string whyIncomplete(PromiseId id) const;
    [[nodiscard]] std::string nameOf(BranchIndex b) const;

    [[nodiscard]] NodeRun& run(NodeId node) { return m_nodes[node.index()]; }
    [[nodiscard]] const NodeRun& run(NodeId node) const { return m_nodes[node.index()]; }
    [[nodiscard]] Promise& promise(PromiseId id) { return m_promises[id.index()]; }
    [[nodiscard]] const Promise& promise(PromiseId id) const { return m_promises[id.index()]; }
    [[nodiscard]] Part& part(NodeId node, std::uint32_t slot) { return m_parts[m_graph.firstInEdge(node) + slot]; }
    [[nodiscard]] bool isLeaf(NodeId node) const { return m_graph.children(node).empty(); }
    [[nodiscard]] bool isPending(BranchIndex b) const
    {
        return b != kNoBranch && !promise(m_branches[b].promise).isComplete;
    }
    /// Output through which a node with a single consumed output is read.
    [[nodiscard]] std::uint32_t onlyOutput(NodeId node) const { return m_graph.inEdges(node)[0].output; }
    [[nodiscard]] std::span<const HandleId> relevanceOf(NodeId node) const
    {
        return {m_relevance.data() + m_firstOutput[node.index()], m_graph.outputCount(node)};
    }

    [[nodiscard]] event::Event newEvent(EventKind kind) const;
    [[nodiscard]] event::Event nodeEvent(EventKind kind, NodeId node) const;
    [[nodiscard]] event::Event promiseEvent(EventKind kind, PromiseId id) const;
    [[nodiscard]] event::Event branchEvent(EventKind kind, BranchIndex b) const;
    [[nodiscard]] event::Event partEvent(EventKind kind, NodeId node, std::uint32_t slot, const Part& landed) const;
    void emit(const event::Event& event);

    const TraversalGraph& m_graph;
    Arithmetic& m_arithmetic;
    event::Sink& m_sink;
    std::vector<HandleId> m_starts; // per root

    std::vector<NodeRun> m_nodes;
    std::vector<Part> m_parts;                // by number of the in-edge
    std::vector<std::uint32_t> m_firstOutput; // per node
    std::vector<HandleId> m_relevance;        // by number of the output; a reference is held for each
    std::vector<std::uint8_t> m_checkpoints;  // by number of the output
    std::size_t m_openCheckpoints = 0;        // that have not been taken
    bool m_stopsAtCheckpoints = false;        // as soon as there are none
    bool m_followsDocument = false;
    std::vector<Unlinked> m_unlinked;                   // by the document, in the order of landing
    std::map<std::uint32_t, std::vector<Part>> m_bases; // by promise: what an Aggregate began with, per output
    std::size_t m_nextUnlinked = 0;
    std::uint32_t m_completions = 0;
    std::vector<Promise> m_promises;
    std::vector<Branch> m_branches;
    std::vector<NodeId> m_normal; // bottom first
    std::vector<NodeId> m_search; // bottom first
    PromiseQueue m_queue;
    std::vector<Frame> m_frames;

    std::vector<Part> m_outs;                      // what the visited node sends, by child slot
    std::vector<std::uint32_t> m_nextSlot;         // by child slot: next slot that leads to the same child
    std::vector<NodeId> m_ready;                   // children that can be visited
    std::vector<NodeId> m_toSearch;                // children that a search enters
    std::vector<std::vector<HandleId>> m_gathered; // parts by output, while they are summed
    std::vector<NodeId> m_crossed;                 // nodes that a value is carried through, last one first
    std::vector<HandleId> m_operands;              // arguments by operand slot, while a promise splits

    TraversalCounts m_counts;
    NodeId m_current;
    std::uint32_t m_landing = 0;
    std::uint32_t m_rulesApplied = 0;
    std::uint32_t m_incompletePromises = 0;
    std::uint32_t m_unreadyPromises = 0;
    std::size_t m_unknownNodes = 0; // contained nodes whose relevance is not known yet
    bool m_argNodesRaise = false;   // an arg node has raised a promise: searches may interleave
    bool m_started = false;
    bool m_finished = false;
    bool m_stoppedEarly = false;
};

} // namespace retro::lrp
