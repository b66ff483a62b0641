// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/pace.h"
#include "core/trace/run.h"

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace retro::trace
{

/// Relevance on its way, or at rest at the port of the node that has not taken it yet.
struct Pulse
{
    std::span<const NodeId> way; ///< from who sent it, over nodes that hand it on, to where it goes
    std::uint32_t slot = 0;      ///< in-edge of the last node
    HandleId handle;
    PromiseId promise;     ///< of which it is a part; invalid for an ordinary one
    double sum = 0;        ///< Σ, from the first moment on
    double positive = 0;   ///< Σ of its positive elements; NaN when the tensor was not kept
    double travelled = 0;  ///< along the whole way, 0…1
    double entered = 0;    ///< into the card of the last node, 0…1
    bool isJoined = false; ///< it is added to the part before it
};

/// A branch of a promise that looks for its operand.
struct SearchLine
{
    PromiseId promise;
    std::uint32_t branch = 0;
    std::span<const NodeId> nodes; ///< the start, then all that the search has come to; the last one is its head
    double head = 1;               ///< how far the head is from the last but one node to the last, 0…1
    bool isFound = false;          ///< the operand is known
    double answer = 0;             ///< how far the answer has run back to the start, 0…1
    double held = std::numeric_limits<double>::quiet_NaN(); ///< Σ that the promise holds; NaN when nothing
};

/// A promise that was fulfilled just now, or not long ago.
struct Snap
{
    PromiseId promise;
    std::uint32_t branch = 0;
    std::span<const NodeId> nodes;
    double fade = 1;  ///< of the dashed line: 0 before, 1 gone
    double swing = 1; ///< of the double line: 0 … 1, it rests at 1
    double age = 0;   ///< visits since then, up to kSnapVisits
};
inline constexpr double kSnapVisits = 2;

/// A card whose relevance becomes known.
struct Fill
{
    NodeId node;
    NodeId from; ///< who sent the last part; invalid when nobody did
    double share = 0;
};

/// What moves at one moment of a run; made by Motion. Spans point into it.
struct MotionFrame
{
    std::uint64_t step = 0; ///< events applied
    double fraction = 0;    ///< of the next one
    std::vector<Pulse> pulses;
    std::vector<SearchLine> searchLines;
    std::vector<Snap> snaps;
    std::vector<Fill> fills;
    NodeId before;                   ///< the node of the visit before
    NodeId now;                      ///< the node of this visit
    double arrived = 1;              ///< how far the ring is from the one to the other
    std::vector<NodeId> frontBefore; ///< who is in the frontier before the next event …
    std::vector<NodeId> frontAfter;  ///< … and behind it
};

/// How much of what happens one by one is shown.
enum class SpeedClass : std::uint8_t {
    Each,  ///< everything
    Brief, ///< no tails and no rings
    Visit, ///< the pulses of a visit leave and land together, search lines jump to their end
    Sum    ///< no single pulse: what passed is added up
};
/// The class of a speed in visits per second.
[[nodiscard]] SpeedClass speedClassOf(double visitsPerSecond);

/// Cubic, slow at both ends; and slow at the end only.
[[nodiscard]] double easedInOut(double share);
[[nodiscard]] double easedOut(double share);

/// What moves in a run at a moment: a pure function of run, moment and speed class, so that the picture does not depend
/// on where one came from. Made by one walk over the events (and, for the signs, over the tensors that were kept);
/// immutable, any thread.
class Motion
{
public:
    /// O(events + elements of landed tensors).
    explicit Motion(const Run& run);

    [[nodiscard]] const Pace& pace() const { return m_pace; }

    /// Fills `out`, whose lists keep their memory. `isReduced`: everything stands at its end, as at a whole moment.
    void frame(double moment, SpeedClass speed, bool isReduced, MotionFrame& out) const;

    /// A tensor that came over an edge.
    struct Landing
    {
        std::uint64_t step = 0;
        std::uint64_t taken = 0; ///< step of the Take; the number of events when there is none
        NodeId from;             ///< invalid for the start of relevance
        NodeId node;
        std::uint32_t slot = 0;
        HandleId handle; ///< invalid when a branch landed
        PromiseId promise;
        std::uint32_t branch = 0;
        bool isJoined = false;
    };
    /// All landings, by step.
    [[nodiscard]] std::span<const Landing> landings() const { return m_landings; }
    /// The landings with a step in [from, to).
    [[nodiscard]] std::span<const Landing> landingsBetween(std::uint64_t from, std::uint64_t to) const;
    /// Σ of the relevance that landed: its own, or what its branch got later. NaN when it never got any.
    [[nodiscard]] double sumOf(const Landing& landing) const;
    /// The chain of a promise's branch as far as the search has come at a moment, the start first.
    [[nodiscard]] std::span<const NodeId> chainOf(PromiseId promise, std::uint32_t branch, double moment) const;

private:
    /// Intervals of steps, both ends included; finds those around a step.
    class Index
    {
    public:
        struct Interval
        {
            std::uint64_t begin = 0;
            std::uint64_t end = 0;
        };
        Index() = default;
        /// `intervals` by begin.
        Index(std::vector<Interval> intervals, std::uint64_t count);
        template <class Visit>
        void around(std::uint64_t step, Visit visit) const;

    private:
        std::vector<Interval> m_intervals;
        std::uint64_t m_stride = 1;
        std::vector<std::uint32_t> m_offsets; // per chunk of steps
        std::vector<std::uint32_t> m_alive;   // at the start of the chunk
    };

    struct Hop
    {
        std::uint64_t step = 0;   // of the Land
        std::uint64_t arrive = 0; // position at which the head is there
        std::uint32_t slot = 0;
        std::uint64_t taken = 0;
    };
    struct Branch
    {
        std::vector<NodeId> nodes; // the start, then where it landed
        std::vector<Hop> hops;     // one fewer
        std::uint64_t foundAt;     // step of Arg
        HandleId relevance;
        std::uint64_t restUntil = 0; // step with which its relevance is taken up
        bool isTaken = false;
    };
    struct Promise
    {
        NodeId start;
        std::uint64_t opened = 0;
        std::uint64_t released; // first BranchRelevance
        std::uint64_t complete;
        std::uint64_t faded = 0; // position at which its snap is over
        std::vector<HandleId> held{};
        std::vector<std::uint64_t> heldFrom{};
        std::vector<Branch> branches{};
    };
    struct Reader;

    struct Clock; // the moment as the speed class sees it
    void addPulses(const Clock& clock, MotionFrame& out) const;
    void addParts(const Clock& clock, const Promise& promise, PromiseId id, MotionFrame& out) const;
    /// Relevance that a promise holds at the moment; not a number where it holds none.
    [[nodiscard]] double heldBy(const Clock& clock, const Promise& promise) const;
    void addSearchLines(const Clock& clock, const Promise& promise, PromiseId id, MotionFrame& out) const;
    void addSnaps(const Clock& clock, const Promise& promise, PromiseId id, MotionFrame& out) const;
    void addFills(const Clock& clock, MotionFrame& out) const;
    void addRing(const Clock& clock, MotionFrame& out) const;
    void addFront(std::uint64_t position, std::vector<NodeId>& out) const;
    [[nodiscard]] Pulse pulseOf(HandleId handle) const;

    Pace m_pace;
    std::uint64_t m_count = 0;
    std::vector<Landing> m_landings;
    std::vector<NodeId> m_ways; // per landing: from, node
    Index m_aliveLandings;
    std::vector<Promise> m_promises;
    std::vector<PromiseId> m_promiseOrder; // of the intervals
    Index m_alivePromises;
    std::vector<std::uint64_t> m_known;    // per node
    std::vector<std::uint64_t> m_fillFrom; // per node: step of the last take before that
    std::vector<NodeId> m_fillSender;
    std::vector<std::pair<std::uint64_t, NodeId>> m_fills; // (step of Relevance, node)
    struct VisitMark
    {
        std::uint64_t step = 0;
        NodeId node;
    };
    std::vector<VisitMark> m_visits;
    std::vector<std::uint64_t> m_visitStart;
    std::vector<double> m_sums;      // per handle
    std::vector<double> m_positives; // per handle; NaN when unknown
};

} // namespace retro::trace
