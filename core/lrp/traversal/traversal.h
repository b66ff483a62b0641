// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/event/sink.h"
#include "core/lrp/arithmetic/arithmetic.h"
#include "core/lrp/traversal/traversalgraph.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace retro::lrp
{

/// Counts of a traversal, for summary.json.
struct TraversalCounts
{
    std::uint32_t visits = 0;
    std::uint32_t normal = 0;
    std::uint32_t search = 0;
    std::uint32_t fulfilment = 0;
    std::uint32_t promises = 0;
    std::uint32_t visitsMax = 0; ///< most visits of one node; never above 3, 4 by the document
    std::uint32_t rescues = 0;   ///< by the document: promises that were linked because nothing could be picked
    std::uint64_t events = 0;
};

/// What a traversal does beside carrying relevance.
struct TraversalOptions
{
    /// Outputs that take a snapshot when their relevance is final: at the fan-in, never at first touch. Those that
    /// nothing reads take none.
    std::vector<NodeOutput> checkpoints;
    /// End as soon as every checkpoint has been taken; without checkpoints it means nothing.
    bool stopsAtCheckpoints = false;
    /// Take the steps as the source document has them (docs/traversal.md, section 6): other visits, the same relevance
    /// but for the order in which parts are added. Ends at the checkpoints.
    bool followsDocument = false;
};

struct TraversalView;

/// The promise traversal (docs/traversal.md, sections 1 and 2) as a resumable state machine: step() makes one visit and
/// sends its events to the sink. Uses work lists, never native recursion. Works on handles only. Invariants I1–I3, I5
/// and I7 (section 2.6 there) are checked in every build.
class Traversal
{
public:
    /// `starts` per root of the graph: the start relevance of its output; the traversal takes over the references. All
    /// other references must outlive the traversal.
    Traversal(const TraversalGraph& graph, Arithmetic& arithmetic, event::Sink& sink, std::vector<HandleId> starts,
              const TraversalOptions& options = {});
    /// As above, for a graph with one root.
    Traversal(const TraversalGraph& graph, Arithmetic& arithmetic, event::Sink& sink, HandleId start,
              const TraversalOptions& options = {});
    ~Traversal();
    Traversal(const Traversal&) = delete;
    Traversal& operator=(const Traversal&) = delete;

    /// True when the three collections are empty and the run has ended, or it has stopped at its checkpoints.
    [[nodiscard]] bool finished() const;
    /// True when the run ended because all checkpoints were taken while there was still something to visit.
    [[nodiscard]] bool stoppedEarly() const;
    /// One pick and everything that follows from it. Does nothing when finished. Error (Bug): deadlock, with the
    /// waiting-for graph in words.
    [[nodiscard]] base::Result<void> step();
    [[nodiscard]] const TraversalCounts& counts() const;
    /// Final relevance of output `k` of a node; valid after the run for every contained node whose output was consumed.
    /// Borrowed. The traversal holds a reference to each until it is destroyed: the relevance of every value is a
    /// result of the run, so memory grows to that of one relevance per value.
    [[nodiscard]] HandleId relevance(NodeId node, std::uint32_t k) const;
    /// What it holds at this moment (core/lrp/traversal/view.h). Linear in the graph: for tests and reports.
    [[nodiscard]] TraversalView view() const;

private:
    class Implementation;
    std::unique_ptr<Implementation> m_impl;
};

} // namespace retro::lrp
