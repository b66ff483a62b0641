// SPDX-License-Identifier: Apache-2.0
#include "views/plan/frontiercurve.h"

#include "core/analysis/frontier.h"
#include "core/event/planevent.h"
#include "views/common/csv.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

namespace retro::views
{

namespace
{

using event::Event;
using event::EventKind;

/// Place of a node on the axis: operators in their order, then mirrored; inputs at either end.
std::uint32_t placeOf(std::uint32_t node, std::uint32_t operators, bool isForward)
{
    const bool isInput = node >= operators;
    return isForward ? (isInput ? 0 : node) : (isInput ? 2 * operators : 2 * operators - 1 - node);
}

/// Follows what is in memory, and notes the most of each kind in every visit.
class FrontierWalk
{
public:
    explicit FrontierWalk(const trace::Run& run)
        : m_run(run), m_operators(static_cast<std::uint32_t>(run.graph->nodeCount())),
          m_isByPlan(std::ranges::any_of(run.events, [](const Event& one) { return one.kind == EventKind::Compute; }))
    {}

    std::vector<FrontierRow> rows()
    {
        for (const Event& event : m_run.events) {
            if (event.kind == EventKind::Visit) {
                begin(event);
            }
            take(event);
            note();
        }
        std::erase_if(m_rows, [this](const FrontierRow& row) { return row.visit < m_first; });
        return std::move(m_rows);
    }

private:
    void begin(const Event& event)
    {
        FrontierRow row;
        row.visit = event.visit;
        row.node = base::NodeId(event.node);
        row.position = placeOf(event.node, m_operators, m_isByPlan && event.mode == event::Mode::None && !m_isTurned);
        m_rows.push_back(row);
    }

    [[nodiscard]] std::int64_t bytesOf(std::uint32_t handle) const
    {
        return handle < m_run.handles.size() ? m_run.handles[handle].bytes : 0;
    }

    void take(const Event& event)
    {
        const bool isGradient = event::isOfGradient(event);
        switch (event.kind) {
        case EventKind::Candidate:
        case EventKind::Split:
        case EventKind::Drop:
        case EventKind::Rebuild:
            m_first = event.visit + 1;
            break;
        case EventKind::Compute:
            m_isTurned = m_isTurned || isGradient;
            enter(event, isGradient);
            break;
        case EventKind::Recompute:
            if (event.extra == 0) {
                enter(event, isGradient);
            }
            break;
        case EventKind::Free:
            leave(event, isGradient);
            break;
        case EventKind::Fetch:
            if (event.promise == base::PromiseId::kInvalid) {
                enter(event, isGradient);
            } else if (m_isByPlan) {
                hold(event);
            }
            break;
        case EventKind::Arg:
            if (!m_isByPlan) { // else what is kept lies there already
                hold(event);
            }
            break;
        case EventKind::Complete:
            letGo(event.promise);
            break;
        case EventKind::Land:
            if (event.handle != base::HandleId::kInvalid && m_landed[event.handle]++ == 0) {
                m_relevance += bytesOf(event.handle);
            }
            break;
        case EventKind::Take:
            takeLanded(event.handle);
            break;
        default:
            break;
        }
    }

    void enter(const Event& event, bool isGradient)
    {
        m_planned[{event.other, isGradient}] = bytesOf(event.handle);
        (isGradient ? m_relevance : m_kept) += bytesOf(event.handle);
    }

    void leave(const Event& event, bool isGradient)
    {
        const auto at = m_planned.find({event.other, isGradient});
        if (at != m_planned.end()) {
            (isGradient ? m_relevance : m_kept) -= at->second;
            m_planned.erase(at);
        }
    }

    void hold(const Event& event)
    {
        if (m_arguments[event.promise].insert(event.handle).second && m_holders[event.handle]++ == 0) {
            m_held += bytesOf(event.handle);
        }
    }

    void letGo(std::uint32_t promise)
    {
        for (const std::uint32_t handle : m_arguments[promise]) {
            m_held -= --m_holders[handle] == 0 ? bytesOf(handle) : 0;
        }
        m_arguments.erase(promise);
    }

    void takeLanded(std::uint32_t handle)
    {
        const auto at = m_landed.find(handle);
        if (at != m_landed.end() && --at->second == 0) {
            m_relevance -= bytesOf(handle);
            m_landed.erase(at);
        }
    }

    void note()
    {
        if (m_rows.empty()) {
            return;
        }
        FrontierRow& row = m_rows.back();
        const std::uint64_t now = static_cast<std::uint64_t>(m_kept + m_held + m_relevance);
        if (now >= row.sum()) { // the moment of the most
            row.kept = static_cast<std::uint64_t>(m_kept);
            row.arguments = static_cast<std::uint64_t>(m_held);
            row.relevance = static_cast<std::uint64_t>(m_relevance);
        }
    }

    const trace::Run& m_run;
    std::uint32_t m_operators;
    bool m_isByPlan;
    bool m_isTurned = false;   ///< a gradient was made
    std::uint32_t m_first = 0; ///< visit behind the search
    std::int64_t m_kept = 0;
    std::int64_t m_held = 0;
    std::int64_t m_relevance = 0;
    std::vector<FrontierRow> m_rows;
    std::map<std::pair<std::uint32_t, bool>, std::int64_t> m_planned;
    std::map<std::uint32_t, std::set<std::uint32_t>> m_arguments; ///< per promise: handles
    std::unordered_map<std::uint32_t, std::uint32_t> m_holders;
    std::unordered_map<std::uint32_t, std::uint32_t> m_landed;
};

/// Positions of the operators of a joint graph: those of the nodes that they run or whose relevance they make.
class Positions
{
public:
    Positions(const ShownPlan& plan, const trace::Run* run, std::uint32_t operators)
        : m_plan(plan), m_run(run), m_operators(operators)
    {}

    [[nodiscard]] std::uint32_t of(analysis::OpId op) const
    {
        const std::uint32_t origin = op < m_plan.subject->joint.origin.size() ? m_plan.subject->joint.origin[op] : 0;
        const bool isForward = op < m_plan.subject->joint.forwardCount;
        return placeOf(nodeOf(origin), m_operators, isForward);
    }

    [[nodiscard]] std::uint32_t nodeOf(analysis::OpId forward) const
    {
        const analysis::OpGraph& graph = m_plan.subject->forward;
        if (m_run != nullptr && forward < graph.size()) {
            if (const auto node = m_run->graph->findNode(graph.op(forward).name)) {
                return node->value;
            }
            return m_operators; // an input
        }
        return std::min(forward, m_operators);
    }

private:
    const ShownPlan& m_plan;
    const trace::Run* m_run;
    std::uint32_t m_operators;
};

void addForward(const ShownPlan& plan, const Positions& positions, FrontierCurves& curves)
{
    const analysis::OpGraph& graph = plan.subject->forward;
    std::vector<analysis::OpId> order;
    std::vector<bool> isIn(graph.size(), false);
    for (const schedule::Step& step : plan.plan().steps) {
        const bool isForward = step.kind == schedule::StepKind::Compute && step.id < plan.subject->joint.forwardCount;
        const analysis::OpId origin = isForward ? plan.subject->joint.origin[step.id] : analysis::kNone;
        if (isForward && origin < graph.size() && !isIn[origin]) {
            isIn[origin] = true;
            order.push_back(origin);
        }
    }
    std::vector<analysis::OpId> whole; // inputs first
    for (analysis::OpId op = 0; op < graph.size(); ++op) {
        if (!isIn[op]) {
            whole.push_back(op);
        }
    }
    whole.insert(whole.end(), order.begin(), order.end());
    if (!analysis::isTopological(graph, whole)) {
        return;
    }
    const analysis::FrontierProfile profile = analysis::frontierProfile(graph, whole);
    for (std::size_t i = whole.size() - order.size(); i < whole.size(); ++i) {
        curves.forward.push_back({positions.nodeOf(whole[i]), profile.transient[i]});
    }
}

/// What is computed again in the second half stands at the operator of that half which follows it.
void addPlan(const ShownPlan& plan, const Positions& positions, FrontierCurves& curves)
{
    const auto& steps = plan.plan().steps;
    bool isTurned = false;
    std::uint64_t again = 0; // bytes
    for (std::size_t i = 0; i < std::min(steps.size(), plan.run.steps.size()); ++i) {
        if (steps[i].kind != schedule::StepKind::Compute) {
            continue;
        }
        const std::uint64_t bytes = plan.run.steps[i].transient;
        isTurned = isTurned || steps[i].id >= plan.subject->joint.forwardCount;
        if (isTurned && steps[i].id < plan.subject->joint.forwardCount) {
            again = std::max(again, bytes);
        } else {
            curves.plan.push_back({positions.of(steps[i].id), std::max(again, bytes)});
            again = 0;
        }
    }
}

/// One point at each position: the most bytes there.
void fromLeftToRight(std::vector<FrontierPoint>& points)
{
    std::ranges::sort(points, {}, [](const FrontierPoint& one) { return std::pair(one.position, ~one.bytes); });
    const auto rest = std::ranges::unique(points, {}, &FrontierPoint::position);
    points.erase(rest.begin(), rest.end());
}

} // namespace

std::uint64_t FrontierCurves::most() const
{
    std::uint64_t most = 1;
    for (const auto* points : {&forward, &plan}) {
        for (const FrontierPoint& point : *points) {
            most = std::max(most, point.bytes);
        }
    }
    for (const FrontierRow& row : traversal) {
        most = std::max(most, row.sum());
    }
    return most;
}

std::vector<FrontierRow> frontierRows(const trace::Run& run) { return FrontierWalk(run).rows(); }

FrontierCurves frontierCurves(const ShownPlan* plan, const trace::Run* run)
{
    FrontierCurves curves;
    curves.operators = run != nullptr    ? static_cast<std::uint32_t>(run->graph->nodeCount())
                       : plan != nullptr ? static_cast<std::uint32_t>(plan->subject->joint.forwardCount)
                                         : 0;
    if (run != nullptr) {
        curves.traversal = frontierRows(*run);
    }
    if (plan != nullptr) {
        const Positions positions(*plan, run, curves.operators);
        addForward(*plan, positions, curves);
        addPlan(*plan, positions, curves);
        fromLeftToRight(curves.forward);
        fromLeftToRight(curves.plan);
    }
    return curves;
}

std::string frontierCsv(const trace::Run& run)
{
    CsvText text({"visit", "node", "position", "kept_bytes", "argument_bytes", "relevance_bytes", "bytes"});
    for (const FrontierRow& row : frontierRows(run)) {
        const bool isKnown = row.node.isValid() && row.node.index() < run.graph->runNodeCount();
        text.add(std::int64_t{row.visit});
        text.add(isKnown ? QString::fromStdString(std::string(run.graph->labelOf(row.node))) : QString());
        text.add(std::int64_t{row.position}).add(static_cast<std::int64_t>(row.kept));
        text.add(static_cast<std::int64_t>(row.arguments)).add(static_cast<std::int64_t>(row.relevance));
        text.add(static_cast<std::int64_t>(row.sum())).endRow();
    }
    return text.take();
}

} // namespace retro::views
