// SPDX-License-Identifier: Apache-2.0
#include "core/trace/motion.h"

#include "core/event/partevent.h"
#include "core/tensor/visit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace retro::trace
{

using event::EventKind;

namespace
{

constexpr double kFadeShare = 0.3; // of the event, in which the dashed line goes
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// Σ of the positive elements, however they lie in memory; NaN for a tensor that was not kept.
double positiveOf(const Tensor& tensor)
{
    if (!tensor.isValid()) {
        return kUnknown;
    }
    const Tensor dense = tensor.isDense() ? tensor : tensor.contiguous();
    double sum = 0;
    tensor::visitStored(dense.dtype(), [&](auto tag) {
        using Type = decltype(tag);
        const auto* data = reinterpret_cast<const typename Type::Bits*>(dense.rawData());
        for (std::int64_t i = 0; i < dense.size(); ++i) {
            const auto value = static_cast<double>(Type::load(data[i]));
            sum += value > 0 ? value : 0.0;
        }
    });
    return sum;
}

} // namespace

/// Calls visit(i) for every interval with begin ≤ step ≤ end, by begin.
template <class Visit>
void Motion::Index::around(std::uint64_t step, Visit visit) const
{
    if (m_intervals.empty()) {
        return;
    }
    const auto chunk = std::min<std::size_t>(static_cast<std::size_t>(step / m_stride), m_offsets.size() - 2);
    for (std::uint32_t at = m_offsets[chunk]; at < m_offsets[chunk + 1]; ++at) {
        if (m_intervals[m_alive[at]].end >= step) {
            visit(m_alive[at]);
        }
    }
    const std::uint64_t start = chunk * m_stride;
    auto next = std::partition_point(m_intervals.begin(), m_intervals.end(),
                                     [start](const Interval& each) { return each.begin < start; });
    for (; next != m_intervals.end() && next->begin <= step; ++next) {
        if (next->end >= step) {
            visit(static_cast<std::uint32_t>(next - m_intervals.begin()));
        }
    }
}

/// Walks over the events once.
struct Motion::Reader
{
    Motion& out;
    const Run& run;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> open; // (node, slot): its last landing
    std::vector<std::uint64_t> lastTake;
    std::vector<NodeId> lastSender;
    std::vector<std::vector<std::uint64_t>> relevanceOf; // per node: steps of Relevance

    Reader(Motion& motion, const Run& of)
        : out(motion), run(of), lastTake(of.graph->runNodeCount(), of.events.size()),
          lastSender(of.graph->runNodeCount()), relevanceOf(of.graph->runNodeCount())
    {}

    [[nodiscard]] bool isNode(std::uint32_t node) const { return node < lastTake.size(); }
    [[nodiscard]] Branch* branchOf(std::uint32_t promise, std::uint32_t branch) const
    {
        if (promise >= out.m_promises.size() || branch >= out.m_promises[promise].branches.size()) {
            return nullptr;
        }
        return &out.m_promises[promise].branches[branch];
    }

    void read(const Event& e, std::uint64_t step)
    {
        switch (e.kind) {
        case EventKind::Visit:
            out.m_visits.push_back({step, NodeId(e.node)});
            break;
        case EventKind::Land:
            land(e, step);
            break;
        case EventKind::Take:
            take(e, step);
            break;
        case EventKind::NewPromise:
            begin(e, step);
            break;
        case EventKind::Relevance:
            known(e, step);
            break;
        default:
            promise(e, step);
            break;
        }
    }

    void land(const Event& e, std::uint64_t step)
    {
        if (!isNode(e.node)) {
            return;
        }
        Landing landing;
        landing.step = step;
        landing.taken = out.m_count;
        landing.from = isNode(e.other) ? NodeId(e.other) : NodeId();
        landing.node = NodeId(e.node);
        landing.slot = e.slot;
        landing.handle = HandleId(e.handle);
        landing.promise = PromiseId(e.promise);
        landing.branch = e.branch;
        landing.isJoined = event::isJoined(e);
        open[{e.node, e.slot}] = out.m_landings.size();
        if (Branch* branch = branchOf(e.promise, e.branch)) {
            if (branch->nodes.empty()) {
                branch->nodes.push_back(out.m_promises[e.promise].start);
            }
            branch->nodes.push_back(landing.node);
            branch->hops.push_back({step, step + 1, e.slot, out.m_count});
        }
        out.m_landings.push_back(landing);
    }

    void take(const Event& e, std::uint64_t step)
    {
        if (!isNode(e.node)) {
            return;
        }
        lastTake[e.node] = step;
        lastSender[e.node] = isNode(e.other) ? NodeId(e.other) : NodeId();
        const auto found = open.find({e.node, e.slot});
        if (found == open.end()) {
            return;
        }
        Landing& landing = out.m_landings[found->second];
        landing.taken = step;
        Branch* branch = branchOf(landing.promise.value, landing.branch);
        if (branch != nullptr && !branch->hops.empty() && branch->hops.back().step == landing.step) {
            branch->hops.back().taken = step;
        }
        open.erase(found);
    }

    void begin(const Event& e, std::uint64_t step)
    {
        if (e.promise >= run.events.size()) {
            return;
        }
        if (out.m_promises.size() <= e.promise) {
            out.m_promises.resize(std::size_t{e.promise} + 1, {NodeId(), out.m_count, out.m_count, out.m_count});
        }
        Promise& promise = out.m_promises[e.promise];
        promise.start = NodeId(e.node);
        promise.opened = step;
        promise.branches.resize(e.slot, {{}, {}, out.m_count, HandleId()});
    }

    void known(const Event& e, std::uint64_t step)
    {
        if (!isNode(e.node)) {
            return;
        }
        relevanceOf[e.node].push_back(step);
        if (out.m_known[e.node] != out.m_count) {
            return;
        }
        out.m_known[e.node] = step;
        const bool isJustTaken = lastTake[e.node] < step && run.visitOf(lastTake[e.node]) == run.visitOf(step);
        out.m_fillFrom[e.node] = isJustTaken ? lastTake[e.node] : step;
        out.m_fillSender[e.node] = lastSender[e.node];
        out.m_fills.emplace_back(step, NodeId(e.node));
    }

    void promise(const Event& e, std::uint64_t step)
    {
        if (e.promise >= out.m_promises.size()) {
            return;
        }
        Promise& promise = out.m_promises[e.promise];
        if (e.kind == EventKind::Complete) {
            promise.complete = step;
        } else if (e.kind == EventKind::PromiseRelevance) {
            promise.held.push_back(HandleId(e.handle));
            promise.heldFrom.push_back(step);
        } else if (Branch* branch = branchOf(e.promise, e.branch)) {
            if (e.kind == EventKind::Arg) {
                branch->foundAt = step;
            } else if (e.kind == EventKind::BranchRelevance) {
                promise.released = std::min(promise.released, step);
                branch->relevance = HandleId(e.handle);
            }
        }
    }

    /// A head is on its way until the end of the visit that takes the search up, when that is this one or the next.
    void setArrivals(Branch& branch) const
    {
        for (Hop& hop : branch.hops) {
            if (hop.taken < out.m_count && run.visitOf(hop.taken) <= run.visitOf(hop.step) + 1) {
                hop.arrive = std::max(hop.step + 1, run.endOfVisit(run.visitOf(hop.taken)));
            }
        }
        for (std::size_t i = 1; i < branch.hops.size(); ++i) {
            branch.hops[i - 1].arrive =
                std::max(branch.hops[i - 1].step + 1, std::min(branch.hops[i - 1].arrive, branch.hops[i].step));
        }
    }

    /// A part rests at its port until it is taken, or until the relevance of the node is known.
    void setRest(Branch& branch, std::uint64_t complete) const
    {
        branch.restUntil = complete;
        if (branch.hops.empty() || complete == out.m_count) {
            return;
        }
        if (branch.hops.back().taken > complete) {
            branch.restUntil = branch.hops.back().taken;
            branch.isTaken = branch.restUntil < out.m_count;
            return;
        }
        const std::vector<std::uint64_t>& steps = relevanceOf[branch.nodes.back().index()];
        const auto next = std::upper_bound(steps.begin(), steps.end(), complete);
        branch.isTaken = next != steps.end();
        branch.restUntil = branch.isTaken ? *next : complete;
    }

    /// How much of what was handed on is positive, of tensors that the run still has.
    void readSign(HandleId handle)
    {
        std::vector<double>& positives = out.m_positives;
        const bool isKept = handle.isValid() && handle.index() < std::min(run.tensors.size(), positives.size());
        if (isKept && std::isnan(positives[handle.index()])) {
            positives[handle.index()] = positiveOf(run.tensors[handle.index()]);
        }
    }

    /// In the class of visits all pulses of a visit leave with its first event.
    [[nodiscard]] std::uint64_t leavesAt(const Landing& landing) const
    {
        const bool isBeforeVisits = run.visitStart.empty() || landing.step < run.visitStart.front();
        const std::uint64_t begin = isBeforeVisits ? 0 : run.visitStart[run.visitOf(landing.step)];
        return std::min(begin, landing.step);
    }

    void indexLandings()
    {
        std::vector<Index::Interval> intervals;
        intervals.reserve(out.m_landings.size());
        for (const Landing& landing : out.m_landings) {
            out.m_ways.push_back(landing.from.isValid() ? landing.from : landing.node);
            out.m_ways.push_back(landing.node);
            intervals.push_back({leavesAt(landing), landing.taken});
            readSign(landing.handle);
        }
        out.m_aliveLandings = Index(std::move(intervals), out.m_count);
    }

    /// The step until which something of a promise is seen.
    std::uint64_t settle(Promise& promise)
    {
        promise.faded = promise.complete;
        if (promise.complete < out.m_count) {
            const double end = out.m_pace.visitsAt(static_cast<double>(promise.complete + 1)) + kSnapVisits;
            promise.faded = static_cast<std::uint64_t>(std::ceil(out.m_pace.momentAt(end)));
        }
        std::uint64_t end = promise.faded;
        for (Branch& branch : promise.branches) {
            setArrivals(branch);
            setRest(branch, promise.complete);
            readSign(branch.relevance);
            end = std::max(end, branch.restUntil);
        }
        return end;
    }

    void indexPromises()
    {
        std::vector<std::pair<Index::Interval, PromiseId>> alive;
        for (std::size_t i = 0; i < out.m_promises.size(); ++i) {
            const std::uint64_t end = settle(out.m_promises[i]);
            alive.push_back({{out.m_promises[i].opened, end}, PromiseId(i)});
        }
        std::ranges::stable_sort(alive, {}, [](const auto& each) { return each.first.begin; });
        std::vector<Index::Interval> intervals;
        for (const auto& [interval, promise] : alive) {
            intervals.push_back(interval);
            out.m_promiseOrder.push_back(promise);
        }
        out.m_alivePromises = Index(std::move(intervals), out.m_count);
    }
};

Motion::Motion(const Run& run) : m_pace(run), m_count(run.events.size())
{
    const std::size_t nodes = run.graph != nullptr ? run.graph->runNodeCount() : 0;
    m_known.assign(nodes, m_count);
    m_fillFrom.assign(nodes, m_count);
    m_fillSender.assign(nodes, NodeId());
    m_visitStart = run.visitStart;
    if (nodes == 0) {
        return;
    }
    Reader reader(*this, run);
    for (std::uint64_t step = 0; step < m_count; ++step) {
        reader.read(run.events[step], step);
    }
    m_sums.reserve(run.handles.size());
    for (const HandleInfo& handle : run.handles) {
        m_sums.push_back(handle.sum);
    }
    m_positives.assign(m_sums.size(), kUnknown);
    reader.indexLandings();
    reader.indexPromises();
}

/// The moment as a frame sees it.
struct Motion::Clock
{
    const Pace& pace;
    double moment = 0;
    std::uint64_t step = 0;
    double fraction = 0;
    SpeedClass speed = SpeedClass::Each;
    bool isReduced = false;

    /// It has begun: the moment lies behind the start of the event.
    [[nodiscard]] bool isBehind(std::uint64_t step_) const { return moment > static_cast<double>(step_); }
    [[nodiscard]] bool isOver(std::uint64_t step_) const { return moment >= static_cast<double>(step_) + 1; }
    /// How far the event at a step is, 0…1.
    [[nodiscard]] double of(std::uint64_t event) const
    {
        return std::clamp(moment - static_cast<double>(event), 0.0, 1.0);
    }
};

Pulse Motion::pulseOf(HandleId handle) const
{
    Pulse pulse;
    pulse.handle = handle;
    pulse.positive = kUnknown;
    if (handle.isValid() && handle.index() < m_sums.size()) {
        pulse.sum = m_sums[handle.index()];
        pulse.positive = m_positives[handle.index()];
    }
    return pulse;
}

void Motion::addPulses(const Clock& clock, MotionFrame& out) const
{
    m_aliveLandings.around(clock.step, [&](std::uint32_t i) {
        const Landing& landing = m_landings[i];
        const bool goesTogether = clock.speed == SpeedClass::Visit && !clock.isReduced;
        std::uint64_t begin = landing.step;
        std::uint64_t end = landing.step + 1;
        if (goesTogether && !m_visitStart.empty() && landing.step >= m_visitStart.front()) {
            const auto next = std::upper_bound(m_visitStart.begin(), m_visitStart.end(), landing.step);
            begin = *(next - 1);
            end = next == m_visitStart.end() ? m_count : *next;
            end = std::max(std::min(end, landing.taken), landing.step + 1);
        }
        if (!landing.handle.isValid() || !clock.isBehind(begin) || clock.isOver(landing.taken)) {
            return;
        }
        Pulse pulse = pulseOf(landing.handle);
        pulse.way = std::span(m_ways).subspan(2 * std::size_t{i}, 2);
        pulse.slot = landing.slot;
        pulse.travelled = easedInOut(clock.pace.share(clock.moment, begin, end));
        pulse.entered = landing.taken < m_count ? easedInOut(clock.of(landing.taken)) : 0;
        pulse.isJoined = landing.isJoined;
        out.pulses.push_back(pulse);
    });
}

/// The parts into which a promise has split its relevance: all leave at once and are equally far.
void Motion::addParts(const Clock& clock, const Promise& promise, PromiseId id, MotionFrame& out) const
{
    if (promise.complete == m_count || !clock.isBehind(promise.released)) {
        return;
    }
    const double travelled = easedInOut(clock.pace.share(clock.moment, promise.released, promise.complete + 1));
    for (const Branch& branch : promise.branches) {
        if (branch.hops.empty() || !branch.relevance.isValid() || clock.isOver(branch.restUntil)) {
            continue;
        }
        Pulse pulse = pulseOf(branch.relevance);
        pulse.way = branch.nodes;
        pulse.slot = branch.hops.back().slot;
        pulse.promise = id;
        pulse.travelled = travelled;
        pulse.entered = branch.isTaken ? easedInOut(clock.of(branch.restUntil)) : 0;
        out.pulses.push_back(pulse);
    }
}

double Motion::heldBy(const Clock& clock, const Promise& promise) const
{
    double held = kUnknown;
    for (std::size_t i = 0; i < promise.held.size(); ++i) {
        if (clock.isOver(promise.heldFrom[i]) && promise.held[i].isValid() && promise.held[i].index() < m_sums.size()) {
            held = (std::isnan(held) ? 0 : held) + m_sums[promise.held[i].index()];
        }
    }
    return held;
}

void Motion::addSearchLines(const Clock& clock, const Promise& promise, PromiseId id, MotionFrame& out) const
{
    if (!clock.isBehind(promise.opened) || clock.isBehind(promise.complete)) {
        return;
    }
    const double held = heldBy(clock, promise);
    for (std::size_t b = 0; b < promise.branches.size(); ++b) {
        const Branch& branch = promise.branches[b];
        const auto behind = std::partition_point(branch.hops.begin(), branch.hops.end(),
                                                 [&](const Hop& hop) { return clock.isBehind(hop.step); });
        const auto hops = static_cast<std::size_t>(behind - branch.hops.begin());
        if (hops == 0) {
            continue;
        }
        const Hop& last = branch.hops[hops - 1];
        SearchLine searchLine;
        searchLine.promise = id;
        searchLine.branch = static_cast<std::uint32_t>(b);
        searchLine.nodes = std::span(branch.nodes).first(hops + 1);
        const bool jumps = clock.isReduced || clock.speed == SpeedClass::Visit;
        searchLine.head = jumps ? 1 : easedInOut(clock.pace.share(clock.moment, last.step, last.arrive));
        searchLine.answer = branch.foundAt < m_count ? easedInOut(clock.of(branch.foundAt)) : 0;
        searchLine.isFound = clock.isOver(branch.foundAt);
        searchLine.held = held;
        out.searchLines.push_back(searchLine);
    }
}

void Motion::addSnaps(const Clock& clock, const Promise& promise, PromiseId id, MotionFrame& out) const
{
    if (promise.complete == m_count || !clock.isBehind(promise.complete)) {
        return;
    }
    const double done = m_pace.visitsAt(static_cast<double>(promise.complete + 1));
    const double age = std::max(0.0, m_pace.visitsAt(clock.moment) - done);
    if (age >= kSnapVisits) {
        return;
    }
    for (std::size_t b = 0; b < promise.branches.size(); ++b) {
        if (!promise.branches[b].hops.empty()) {
            const double share = clock.of(promise.complete);
            out.snaps.push_back({id, static_cast<std::uint32_t>(b), std::span<const NodeId>(promise.branches[b].nodes),
                                 std::min(1.0, share / kFadeShare), share, age});
        }
    }
}

void Motion::addFills(const Clock& clock, MotionFrame& out) const
{
    const auto from = std::partition_point(m_fills.begin(), m_fills.end(),
                                           [&](const auto& fill) { return clock.isOver(fill.first); });
    const std::uint64_t visitEnd = [&] {
        const auto next = std::upper_bound(m_visitStart.begin(), m_visitStart.end(), clock.step);
        return next == m_visitStart.end() ? m_count : *next;
    }();
    for (auto fill = from; fill != m_fills.end() && fill->first < visitEnd; ++fill) {
        const std::uint64_t begin = m_fillFrom[fill->second.index()];
        if (clock.isBehind(begin)) {
            out.fills.push_back({fill->second, m_fillSender[fill->second.index()],
                                 easedOut(clock.pace.share(clock.moment, begin, fill->first + 1))});
        }
    }
}

void Motion::addRing(const Clock& clock, MotionFrame& out) const
{
    const auto next = std::partition_point(m_visits.begin(), m_visits.end(),
                                           [&](const VisitMark& visit) { return clock.isBehind(visit.step); });
    if (next == m_visits.begin()) {
        return;
    }
    const VisitMark& visit = *(next - 1);
    out.now = visit.node;
    out.before = next - 1 != m_visits.begin() ? (next - 2)->node : NodeId();
    out.arrived = clock.speed == SpeedClass::Each ? easedInOut(clock.of(visit.step)) : 1;
}

void Motion::addFront(std::uint64_t position, std::vector<NodeId>& out) const
{
    m_aliveLandings.around(position, [&](std::uint32_t i) {
        const Landing& landing = m_landings[i];
        if (landing.handle.isValid() && landing.step < position && position <= landing.taken) {
            out.push_back(landing.node);
        }
    });
    m_alivePromises.around(position, [&](std::uint32_t i) {
        const Promise& promise = m_promises[m_promiseOrder[i].index()];
        const bool isHolding = !promise.heldFrom.empty() && promise.heldFrom.front() < position;
        if (isHolding && position <= promise.complete) {
            out.push_back(promise.start);
        }
        for (const Branch& branch : promise.branches) {
            if (promise.complete < position && branch.isTaken && position <= branch.restUntil) {
                out.push_back(branch.nodes.back());
            }
        }
    });
    std::ranges::sort(out);
    out.erase(std::unique(out.begin(), out.end()), out.end());
}

void Motion::frame(double moment, SpeedClass speed, bool isReduced, MotionFrame& out) const
{
    out.pulses.clear();
    out.searchLines.clear();
    out.snaps.clear();
    out.fills.clear();
    out.frontBefore.clear();
    out.frontAfter.clear();
    out.before = {};
    out.now = {};
    out.arrived = 1;
    const double at = std::clamp(moment, 0.0, static_cast<double>(m_count));
    out.step = static_cast<std::uint64_t>(at);
    out.fraction = isReduced ? 0 : at - static_cast<double>(out.step);
    const Clock clock{m_pace, static_cast<double>(out.step) + out.fraction, out.step, out.fraction, speed, isReduced};
    addRing(clock, out);
    addFront(out.step, out.frontBefore);
    if (out.fraction > 0) {
        addFront(out.step + 1, out.frontAfter);
    } else {
        out.frontAfter = out.frontBefore;
    }
    if (speed == SpeedClass::Sum) {
        return;
    }
    addPulses(clock, out);
    if (!isReduced) {
        addFills(clock, out);
    }
    m_alivePromises.around(clock.step, [&](std::uint32_t i) {
        const PromiseId id = m_promiseOrder[i];
        const Promise& promise = m_promises[id.index()];
        addSearchLines(clock, promise, id, out);
        addParts(clock, promise, id, out);
        addSnaps(clock, promise, id, out);
    });
}

std::span<const Motion::Landing> Motion::landingsBetween(std::uint64_t from, std::uint64_t to) const
{
    const auto at = [&](std::uint64_t step) {
        return std::partition_point(m_landings.begin(), m_landings.end(),
                                    [step](const Landing& each) { return each.step < step; });
    };
    const auto first = at(from);
    const auto last = std::max(first, at(to));
    return {first, last};
}

double Motion::sumOf(const Landing& landing) const
{
    HandleId handle = landing.handle;
    if (!handle.isValid() && landing.promise.isValid() && landing.promise.index() < m_promises.size()) {
        const std::vector<Branch>& branches = m_promises[landing.promise.index()].branches;
        handle = landing.branch < branches.size() ? branches[landing.branch].relevance : HandleId();
    }
    return handle.isValid() && handle.index() < m_sums.size() ? m_sums[handle.index()] : kUnknown;
}

std::span<const NodeId> Motion::chainOf(PromiseId promise, std::uint32_t branch, double moment) const
{
    if (!promise.isValid() || promise.index() >= m_promises.size() ||
        branch >= m_promises[promise.index()].branches.size()) {
        return {};
    }
    const Branch& of = m_promises[promise.index()].branches[branch];
    const auto behind = std::partition_point(of.hops.begin(), of.hops.end(),
                                             [&](const Hop& hop) { return static_cast<double>(hop.step) < moment; });
    const auto hops = static_cast<std::size_t>(behind - of.hops.begin());
    return hops == 0 ? std::span<const NodeId>() : std::span(of.nodes).first(hops + 1);
}

} // namespace retro::trace
