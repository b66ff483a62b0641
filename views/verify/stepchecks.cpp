// SPDX-License-Identifier: Apache-2.0
#include "views/verify/stepchecks.h"

#include "core/event/partevent.h"
#include "core/trace/gradientrun.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace retro::views
{

namespace
{

/// Places of nodes (in-edges, outputs) that are marked; long runs have a million of them.
class PlaceMarks
{
public:
    explicit PlaceMarks(std::size_t nodes) : m_first(nodes, 0) {}

    /// False when it was marked already.
    bool insert(std::uint32_t node, std::uint32_t place)
    {
        if (!isLow(node, place)) {
            return m_others.insert({node, place}).second;
        }
        const std::uint64_t bit = std::uint64_t{1} << place;
        const bool isNew = (m_first[node] & bit) == 0;
        m_first[node] |= bit;
        return isNew;
    }
    void erase(std::uint32_t node, std::uint32_t place)
    {
        if (isLow(node, place)) {
            m_first[node] &= ~(std::uint64_t{1} << place);
        } else {
            m_others.erase({node, place});
        }
    }

private:
    [[nodiscard]] bool isLow(std::uint32_t node, std::uint32_t place) const
    {
        return node < m_first.size() && place < 64;
    }

    std::vector<std::uint64_t> m_first; ///< per node the first 64 places
    std::set<std::pair<std::uint32_t, std::uint32_t>> m_others;
};

/// Share of what arrived at a rule that may be unexplained, as the breakpoint `violation` has it.
constexpr double kTolerance = 1e-4;

/// True for a run whose parts were added in the order of the tape: every rule is the plain gradient, and the program
/// that recorded it knew that order.
bool addsAsTape(const trace::Run& run)
{
    const auto isOther = [](const trace::NodeRule& one) { return !one.rule.empty() && !trace::isPlainGradient(one); };
    return run.facts.numbers.contains(trace::kGradientNumber) && trace::carriesGradient(run) &&
           std::ranges::none_of(run.rules, isOther);
}

} // namespace

/// Walks over the events of a run once and keeps for every invariant on which it was checked and where it broke.
class StepChecks::Walk
{
public:
    Walk(const trace::Run& run, StepChecks& checks);

    void see(std::uint64_t step);

private:
    void note(Invariant invariant, std::uint64_t step, bool holds, base::NodeId node, base::NodeId other = {});
    void checkLanding(std::uint64_t step, const trace::Event& e);
    void checkSlot(std::uint64_t step, const trace::Event& e, base::NodeId from);
    void checkSender(std::uint64_t step, const trace::Event& e, base::NodeId from);
    void checkRule(std::uint64_t step, const trace::Event& e);
    void checkLedger(std::uint64_t step, const trace::Event& e);
    [[nodiscard]] bool declares(base::NodeId from, std::uint32_t slot, base::NodeId node) const;
    [[nodiscard]] bool isOperandOf(base::ValueId operand, base::NodeId node) const;
    [[nodiscard]] bool isRepeated(base::NodeId from, std::uint32_t slot);
    [[nodiscard]] bool hasShapeOf(std::uint32_t handle, base::ValueId value) const;
    [[nodiscard]] base::ValueId valueAt(const trace::Event& landing, base::NodeId from) const;
    [[nodiscard]] bool carriesNothing(std::uint32_t node) const;
    [[nodiscard]] bool isNode(std::uint32_t id) const { return id < m_run.graph->nodeCount(); }
    [[nodiscard]] bool isInput(std::uint32_t id) const { return !isNode(id) && id < m_run.graph->runNodeCount(); }

    const trace::Run& m_run;
    StepChecks& m_checks;
    std::vector<std::uint8_t> m_ruleRan;  // per node
    std::vector<std::int64_t> m_places;   // per node: places of its slot; 0 = nothing landed yet
    std::vector<std::uint32_t> m_written; // per node: how often something landed
    PlaceMarks m_filled;                  // in-edges that hold a part
    PlaceMarks m_known;                   // outputs whose relevance is known
    base::NodeId m_repeatedOf;            // whose operands m_repeated is about
    std::vector<std::uint8_t> m_repeated; // per operand slot: an earlier one reads the same value
};

StepChecks::Walk::Walk(const trace::Run& run, StepChecks& checks)
    : m_run(run), m_checks(checks), m_ruleRan(run.graph->runNodeCount(), 0), m_places(m_ruleRan.size(), 0),
      m_written(m_ruleRan.size(), 0), m_filled(m_ruleRan.size()), m_known(m_ruleRan.size())
{}

void StepChecks::Walk::see(std::uint64_t step)
{
    const trace::Event& e = m_run.events[step];
    switch (e.kind) {
    case event::EventKind::Land:
        checkLanding(step, e);
        break;
    case event::EventKind::Take:
        m_filled.erase(e.node, e.slot);
        break;
    case event::EventKind::Rule:
        checkRule(step, e);
        break;
    case event::EventKind::Relevance: {
        const base::NodeId node(e.node);
        note(Invariant::KnownOnce, step, m_known.insert(e.node, e.slot), node);
        const bool isKnown = node.index() < m_ruleRan.size() && e.slot < m_run.graph->outputsOf(node).size();
        if (isKnown && !hasShapeOf(e.handle, m_run.graph->outputsOf(node)[e.slot])) {
            note(Invariant::Shapes, step, false, node);
        }
        break;
    }
    default:
        break;
    }
}

void StepChecks::Walk::note(Invariant invariant, std::uint64_t step, bool holds, base::NodeId node, base::NodeId other)
{
    Track& track = m_checks.m_tracks[at(invariant)];
    if (!track.isKnown) {
        return;
    }
    if (counterOf(invariant) == invariant) {
        track.steps.push_back(step);
    }
    if (!holds) {
        track.breaches.push_back({step, node, other});
    }
}

void StepChecks::Walk::checkLanding(std::uint64_t step, const trace::Event& e)
{
    const bool isSeed = e.other >= m_run.graph->runNodeCount(); // it came from nowhere
    const base::NodeId node(e.node);
    const base::NodeId from = isSeed ? base::NodeId() : base::NodeId(e.other);
    const bool isEarlier = isSeed || (isNode(e.other) && (!isNode(e.node) || e.node < e.other));
    note(Invariant::Earlier, step, isEarlier, node, from);
    note(Invariant::OncePerPlace, step, m_filled.insert(e.node, e.slot), node, from);
    if (e.node < m_ruleRan.size()) {
        checkSlot(step, e, from);
    }
    note(Invariant::Leaves, step, !isInput(e.other), node, from);
    if (from.isValid() && isNode(e.other)) {
        checkSender(step, e, from);
    }
}

/// What landed, as the slot of its node sees it.
void StepChecks::Walk::checkSlot(std::uint64_t step, const trace::Event& e, base::NodeId from)
{
    const base::NodeId node(e.node);
    note(Invariant::Final, step, m_ruleRan[e.node] == 0, node, from);
    note(Invariant::Untracked, step, !carriesNothing(e.node), node, from);
    std::int64_t& places = m_places[e.node];
    const bool isSame = (places == 0 || places == e.extra) && std::int64_t{e.slot} < e.extra;
    note(Invariant::Places, step, isSame, node, from);
    places = places == 0 ? e.extra : places;
    const std::uint32_t count = ++m_written[e.node];
    note(Invariant::Writes, step, std::int64_t{count} <= places, node, from);
    if (m_checks.m_most.empty() || count > m_checks.m_most.back().count) {
        m_checks.m_most.push_back({step, node, count});
    }
}

/// What landed, as the node that sent it sees it.
void StepChecks::Walk::checkSender(std::uint64_t step, const trace::Event& e, base::NodeId from)
{
    const base::NodeId node(e.node);
    note(Invariant::Declared, step, declares(from, e.branch2, node), node, from);
    const base::ValueId value = valueAt(e, from);
    note(Invariant::Shapes, step, !value.isValid() || hasShapeOf(e.handle, value), node, from);
    if (m_checks.isKnown(Invariant::Joined)) {
        note(Invariant::Joined, step, event::isJoined(e) == isRepeated(from, e.branch2), node, from);
    }
}

void StepChecks::Walk::checkRule(std::uint64_t step, const trace::Event& e)
{
    const base::NodeId node(e.node);
    if (e.node < m_ruleRan.size()) {
        note(Invariant::OneRule, step, m_ruleRan[e.node] == 0, node);
        m_ruleRan[e.node] = 1;
        if (isInput(e.node)) {
            note(Invariant::Leaves, step, false, node, node);
        }
        if (carriesNothing(e.node)) {
            note(Invariant::Untracked, step, false, node);
        }
    }
    checkLedger(step, e);
}

void StepChecks::Walk::checkLedger(std::uint64_t step, const trace::Event& e)
{
    if (e.extra < 0 || static_cast<std::size_t>(e.extra) >= m_run.ledger.size()) {
        return;
    }
    const event::LedgerEntry& row = m_run.ledger[static_cast<std::size_t>(e.extra)];
    note(Invariant::ZeroKept, step, row.magnitude != 0 || row.handedOn == 0, base::NodeId(e.node));
    note(Invariant::Balance, step, std::abs(row.unexplained()) <= kTolerance * row.magnitude, base::NodeId(e.node));
}

/// Runs that were recorded before events told the operand have 0 there: then any operand will do.
bool StepChecks::Walk::declares(base::NodeId from, std::uint32_t slot, base::NodeId node) const
{
    const std::vector<base::ValueId>& operands = m_run.graph->node(from).inputs;
    return (slot < operands.size() && isOperandOf(operands[slot], node)) ||
           std::ranges::any_of(operands, [&](base::ValueId operand) { return isOperandOf(operand, node); });
}

/// The tokens of an embedding stand for the input that they are, past what rearranges them.
bool StepChecks::Walk::isOperandOf(base::ValueId operand, base::NodeId node) const
{
    if (!operand.isValid() || node.index() >= m_run.graph->runNodeCount()) {
        return false;
    }
    const bool isTokens = m_run.graph->isInput(node) && m_run.graph->value(operand).kind == graph::ValueKind::Result;
    return isTokens || m_run.graph->nodeOf(operand) == node;
}

/// True when an earlier operand slot of the node reads the same value. What a node sends lands in one go, so it is
/// looked at once.
bool StepChecks::Walk::isRepeated(base::NodeId from, std::uint32_t slot)
{
    if (m_repeatedOf != from) {
        m_repeatedOf = from;
        m_repeated.clear();
        std::set<base::ValueId> seen;
        for (const base::ValueId operand : m_run.graph->node(from).inputs) {
            m_repeated.push_back(seen.insert(operand).second ? 0 : 1);
        }
    }
    return slot < m_repeated.size() && m_repeated[slot] != 0;
}

/// Promises have no tensor yet, and graphs without concrete shapes nothing to compare with.
bool StepChecks::Walk::hasShapeOf(std::uint32_t handle, base::ValueId value) const
{
    const bool isComparable = handle < m_run.handles.size() && value.index() < m_run.shapes.size();
    return !isComparable || m_run.handles[handle].shape == m_run.shapes[value.index()];
}

/// The value that a part is for; invalid where the events do not tell.
base::ValueId StepChecks::Walk::valueAt(const trace::Event& landing, base::NodeId from) const
{
    const std::vector<base::ValueId>& operands = m_run.graph->node(from).inputs;
    const base::NodeId node(landing.node);
    const bool isTold = landing.branch2 < operands.size() && operands[landing.branch2].isValid() &&
                        node.index() < m_run.graph->runNodeCount() &&
                        m_run.graph->nodeOf(operands[landing.branch2]) == node;
    return isTold ? operands[landing.branch2] : base::ValueId();
}

bool StepChecks::Walk::carriesNothing(std::uint32_t node) const
{
    return isNode(node) && node < m_run.rules.size() && m_run.rules[node].rule.empty();
}

Invariant StepChecks::counterOf(Invariant invariant)
{
    switch (invariant) {
    case Invariant::KnownOnce:
    case Invariant::OneRule:
    case Invariant::ZeroKept:
        return invariant;
    case Invariant::Balance:
        return Invariant::ZeroKept;
    default:
        return Invariant::Earlier; // of every landing
    }
}

StepChecks::StepChecks(const trace::Run& run)
{
    m_tracks[at(Invariant::ZeroKept)].isKnown = !run.ledger.empty();
    m_tracks[at(Invariant::Balance)].isKnown = !run.ledger.empty() && !trace::carriesGradient(run);
    m_tracks[at(Invariant::Joined)].isKnown = addsAsTape(run);
    m_tracks[at(Invariant::Untracked)].isKnown = !run.rules.empty();
    Walk walk(run, *this);
    for (std::uint64_t step = 0; step < run.events.size(); ++step) {
        walk.see(step);
    }
}

std::uint64_t StepChecks::checked(Invariant invariant, std::uint64_t position) const
{
    const std::vector<std::uint64_t>& steps = m_tracks[at(counterOf(invariant))].steps;
    return static_cast<std::uint64_t>(std::ranges::lower_bound(steps, position) - steps.begin());
}

const StepChecks::Breach* StepChecks::firstBreach(Invariant invariant, std::uint64_t position) const
{
    const std::vector<Breach>& breaches = m_tracks[at(invariant)].breaches;
    return !breaches.empty() && breaches.front().step < position ? &breaches.front() : nullptr;
}

const StepChecks::Most* StepChecks::mostWrites(std::uint64_t position) const
{
    const auto end = std::ranges::lower_bound(m_most, position, {}, &Most::step);
    return end == m_most.begin() ? nullptr : &*std::prev(end);
}

} // namespace retro::views
