// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/simulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

namespace retro::schedule
{

namespace
{

using analysis::Op;
using analysis::OpValue;
using analysis::Phase;

/// Where a value is.
struct Place
{
    bool isLive = false;
    bool isLeaving = false; ///< live, and on its way to a tier
    std::uint32_t tier = kNone;
    double ready = 0;        ///< when a prefetch ends
    std::uint32_t since = 0; ///< step from which it is live
};

/// A copy to a tier that has not ended.
struct Leaving
{
    OpValueId value = 0;
    double end = 0;
};

class Machine
{
public:
    Machine(const OpGraph& graph, const Plan& plan, const SimulationOptions& options)
        : m_graph(graph), m_plan(plan), m_options(options), m_places(graph.values().size())
    {
        m_budget = options.budget ? options.budget : plan.budget;
        m_result.runs.assign(graph.size(), 0);
        m_result.steps.reserve(plan.steps.size());
        for (OpValueId id = 0; id < m_places.size(); ++id) {
            m_places[id].isLive = graph.value(id).producer == kNone; // given from the start
        }
    }

    Simulation run()
    {
        if (m_plan.graphHash != m_graph.hash()) {
            fail(PlanErrorKind::WrongGraph, std::nullopt, "the plan was made for another graph");
            return std::move(m_result);
        }
        for (m_at = 0; m_at < m_plan.steps.size() && m_result.ok(); ++m_at) {
            apply(m_plan.steps[m_at]);
        }
        if (m_result.ok()) {
            finish();
        }
        return std::move(m_result);
    }

private:
    void fail(PlanErrorKind kind, std::optional<std::size_t> step, std::string text)
    {
        m_result.error = PlanError{kind, step, std::move(text)};
    }

    bool failHere(PlanErrorKind kind, std::string text)
    {
        fail(kind, m_at, fmt::format("step {}: {}", m_at, text));
        return false;
    }

    void apply(const Step& step)
    {
        const bool isOp = step.kind == StepKind::Compute;
        if (step.id >= (isOp ? m_graph.size() : m_places.size())) {
            failHere(PlanErrorKind::UnknownId,
                     fmt::format("the graph has no {} {}", isOp ? "operator" : "value", step.id));
            return;
        }
        m_row = {};
        m_row.start = m_now;
        releaseUntil(m_now);
        m_row.before = m_live;
        switch (step.kind) {
        case StepKind::Compute:
            compute(step.id);
            break;
        case StepKind::Free:
            free(step.id);
            break;
        case StepKind::Offload:
            offload(step.id, step.tier);
            break;
        case StepKind::Prefetch:
            prefetch(step.id);
            break;
        }
        m_row.transient = std::max(m_row.transient, m_live);
        m_row.after = m_live;
        notePeak(step);
        m_result.steps.push_back(m_row);
    }

    void notePeak(const Step& step)
    {
        if (m_at == 0 || m_row.transient > m_result.peak) {
            m_result.peak = m_row.transient;
            m_result.peakAt = m_at;
            m_peakStep = step;
        }
    }

    // --- computations

    [[nodiscard]] bool mayRun(OpId id)
    {
        const Op& op = m_graph.op(id);
        for (const OpValueId input : m_graph.reads(id)) {
            const Place& place = m_places[input];
            if (!place.isLive || place.isLeaving) {
                return failHere(PlanErrorKind::MissingInput,
                                fmt::format("{} needs {}, which is not in memory", op.name, m_graph.value(input).name));
            }
        }
        for (const OpValueId output : op.outputs) {
            if (m_places[output].isLive && !m_graph.value(output).isPinned) {
                return failHere(PlanErrorKind::AlreadyLive,
                                fmt::format("{} is already in memory", m_graph.value(output).name));
            }
        }
        return m_result.runs[id] == 0 || mayRunAgain(op);
    }

    [[nodiscard]] bool mayRunAgain(const Op& op)
    {
        if (op.phase == Phase::Gradient) {
            return failHere(PlanErrorKind::GradientTwice, fmt::format("gradient {} runs a second time", op.name));
        }
        if (!op.isRecomputable || op.isEffectful) {
            return failHere(PlanErrorKind::NotRepeatable, fmt::format("{} may run only once", op.name));
        }
        if (op.isStochastic && !m_options.restoresRandomState) {
            return failHere(PlanErrorKind::NotRepeatable,
                            fmt::format("{} draws random numbers and would draw others", op.name));
        }
        return true;
    }

    void compute(OpId id)
    {
        if (!mayRun(id)) {
            return;
        }
        const Op& op = m_graph.op(id);
        double start = m_now;
        for (const OpValueId input : m_graph.reads(id)) {
            start = std::max(start, m_places[input].ready);
        }
        const std::uint64_t made = m_graph.outputBytes(id, false);
        if (!makeRoom(made + op.workspace, start, op.name)) {
            return;
        }
        m_row.stall = start - m_now;
        m_row.isRecompute = m_result.runs[id] > 0;
        m_row.transient = m_live + made + op.workspace;
        m_live += made;
        for (const OpValueId output : op.outputs) {
            m_places[output] = {true, false, kNone, 0, static_cast<std::uint32_t>(m_at)};
        }
        countRun(id, op, start);
    }

    void countRun(OpId id, const Op& op, double start)
    {
        const double seconds = op.cost * m_options.secondsPerCost;
        m_result.byteSeconds += static_cast<double>(m_row.transient) * (start - m_now + seconds);
        m_result.stalls += start - m_now;
        m_now = start + seconds;
        m_result.cost += op.cost;
        m_result.recomputeCost += m_row.isRecompute ? op.cost : 0;
        m_result.recomputeFlops += m_row.isRecompute ? op.flops : 0;
        m_result.recomputations += m_row.isRecompute ? 1 : 0;
        ++m_result.runs[id];
    }

    /// Lets copies to tiers end, later and later, until `bytes` fit; moves `start` to when they do.
    [[nodiscard]] bool makeRoom(std::uint64_t bytes, double& start, const std::string& name)
    {
        releaseUntil(start);
        while (m_budget && m_live + bytes > *m_budget && !m_leaving.empty()) {
            start = std::max(start, m_leaving.front().end);
            releaseUntil(start);
        }
        if (m_budget && m_live + bytes > *m_budget) {
            return failHere(PlanErrorKind::OverBudget, fmt::format("{} needs {} bytes in memory, the budget is {}",
                                                                   name, m_live + bytes, *m_budget));
        }
        return true;
    }

    // --- memory

    void releaseUntil(double time)
    {
        while (!m_leaving.empty() && m_leaving.front().end <= time) {
            endStay(m_leaving.front().value);
            m_leaving.pop_front();
        }
    }

    void endStay(OpValueId id)
    {
        m_result.stays.push_back({id, m_places[id].since, static_cast<std::uint32_t>(m_at)});
        m_places[id].isLive = false;
        m_places[id].isLeaving = false;
        m_live -= m_graph.value(id).bytes;
    }

    [[nodiscard]] bool mayMove(OpValueId id, const char* what)
    {
        const OpValue& value = m_graph.value(id);
        if (value.isPinned || value.producer == kNone) {
            return failHere(PlanErrorKind::PinnedMoved, fmt::format("{} is pinned and cannot be {}", value.name, what));
        }
        if (!m_places[id].isLive || m_places[id].isLeaving) {
            return failHere(PlanErrorKind::DeadFree,
                            fmt::format("{} is not in memory and cannot be {}", value.name, what));
        }
        return true;
    }

    void free(OpValueId id)
    {
        if (!mayMove(id, "freed")) {
            return;
        }
        m_now = std::max(m_now, m_places[id].ready); // a copy that still writes it has to end
        m_row.transient = m_live;
        endStay(id);
        ++m_result.frees;
    }

    // --- copies

    void offload(OpValueId id, std::uint32_t tier)
    {
        if (tier >= m_plan.tiers.size() || !(m_plan.tiers[tier].bytesPerSecond > 0)) {
            failHere(PlanErrorKind::UnknownId, fmt::format("the plan has no tier {} with a bandwidth", tier));
            return;
        }
        if (!mayMove(id, "moved")) {
            return;
        }
        Place& place = m_places[id];
        const double end = copy(id, tier, std::max(m_now, place.ready));
        place.isLeaving = true;
        place.tier = tier;
        m_leaving.push_back({id, end});
    }

    void prefetch(OpValueId id)
    {
        Place& place = m_places[id];
        const OpValue& value = m_graph.value(id);
        if (place.tier == kNone || (place.isLive && !place.isLeaving)) {
            failHere(PlanErrorKind::NotThere, fmt::format("{} is in no tier, or in memory already", value.name));
            return;
        }
        double start = m_now;
        while (place.isLeaving) { // it has to be out before it can come back
            start = std::max(start, m_leaving.front().end);
            releaseUntil(start);
        }
        if (!makeRoom(value.bytes, start, value.name)) {
            return;
        }
        m_row.stall = start - m_now;
        m_result.stalls += m_row.stall;
        m_now = start;
        m_live += value.bytes;
        place.isLive = true;
        place.since = static_cast<std::uint32_t>(m_at);
        place.ready = copy(id, place.tier, m_now);
        place.tier = kNone;
    }

    /// Puts a copy on the stream that may begin at `from`; its end.
    double copy(OpValueId id, std::uint32_t tier, double from)
    {
        const double begin = std::max(m_copyFree, from);
        m_copyFree = begin + static_cast<double>(m_graph.value(id).bytes) / m_plan.tiers[tier].bytesPerSecond;
        m_result.movedBytes += m_graph.value(id).bytes;
        return m_copyFree;
    }

    // --- the end

    void finish()
    {
        m_at = m_plan.steps.size();
        m_result.seconds = std::max(m_now, m_copyFree);
        releaseUntil(m_result.seconds);
        for (OpId id = 0; id < m_graph.size(); ++id) {
            if (m_result.runs[id] == 0) {
                fail(PlanErrorKind::NeverRun, std::nullopt, fmt::format("{} never runs", m_graph.op(id).name));
                return;
            }
        }
        for (OpValueId id = 0; id < m_places.size(); ++id) {
            endValue(id);
        }
        std::stable_sort(m_result.stays.begin(), m_result.stays.end(),
                         [](const Stay& a, const Stay& b) { return a.from < b.from; });
        for (const Stay& stay : m_result.stays) {
            if (stay.from <= m_result.peakAt && stay.until >= m_result.peakAt && isThereAtPeak(stay)) {
                m_result.atPeak.push_back(stay.value);
            }
        }
    }

    /// A stay that ends at the peak's own step was there only when that step freed it.
    [[nodiscard]] bool isThereAtPeak(const Stay& stay) const
    {
        return stay.until > m_result.peakAt || (m_peakStep.kind == StepKind::Free && m_peakStep.id == stay.value);
    }

    void endValue(OpValueId id)
    {
        const OpValue& value = m_graph.value(id);
        if (value.isRequired && !m_places[id].isLive && m_result.ok()) {
            fail(PlanErrorKind::RequiredMissing, std::nullopt,
                 fmt::format("{} is not in memory at the end", value.name));
        }
        const bool isOwn = m_places[id].isLive && !value.isPinned && value.producer != kNone;
        if (isOwn) {
            m_result.stays.push_back({id, m_places[id].since, static_cast<std::uint32_t>(m_at)});
        }
        if (isOwn && !value.isRequired) {
            m_result.leftAtEnd.push_back(id);
        }
    }

    const OpGraph& m_graph;
    const Plan& m_plan;
    const SimulationOptions& m_options;
    std::optional<std::uint64_t> m_budget;
    Simulation m_result;
    SimulatedStep m_row;
    Step m_peakStep;
    std::vector<Place> m_places;
    std::deque<Leaving> m_leaving; ///< in the order of their ends
    std::size_t m_at = 0;
    std::uint64_t m_live = 0;
    double m_now = 0;
    double m_copyFree = 0;
};

} // namespace

std::string_view nameOf(PlanErrorKind kind)
{
    switch (kind) {
    case PlanErrorKind::WrongGraph:
        return "wrong graph";
    case PlanErrorKind::UnknownId:
        return "unknown id";
    case PlanErrorKind::MissingInput:
        return "missing input";
    case PlanErrorKind::AlreadyLive:
        return "already in memory";
    case PlanErrorKind::DeadFree:
        return "not in memory";
    case PlanErrorKind::PinnedMoved:
        return "pinned";
    case PlanErrorKind::GradientTwice:
        return "gradient twice";
    case PlanErrorKind::NotRepeatable:
        return "not repeatable";
    case PlanErrorKind::NeverRun:
        return "never run";
    case PlanErrorKind::NotThere:
        return "in no tier";
    case PlanErrorKind::OverBudget:
        return "over budget";
    case PlanErrorKind::RequiredMissing:
        return "required value missing";
    }
    return "";
}

Simulation simulate(const OpGraph& graph, const Plan& plan, const SimulationOptions& options)
{
    return Machine(graph, plan, options).run();
}

} // namespace retro::schedule
