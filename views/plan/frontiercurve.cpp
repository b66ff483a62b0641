// SPDX-License-Identifier: Apache-2.0
#include "views/plan/frontiercurve.h"

#include "core/analysis/frontier.h"
#include "core/event/planevent.h"
#include "views/common/csv.h"

#include <algorithm>
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

/// The rows of a run: of every visit behind the search for a plan.
std::vector<FrontierRow> frontierRows(const trace::Timeline& timeline)
{
    const trace::Run& run = timeline.run();
    const trace::VisitSeries& series = timeline.series();
    const auto operators = static_cast<std::uint32_t>(run.graph->nodeCount());
    const auto turn = std::ranges::find_if(
        run.events, [](const Event& one) { return one.kind == EventKind::Compute && event::isOfGradient(one); });
    const std::uint32_t turned = turn == run.events.end() ? run.visitCount() : turn->visit;
    const bool isByPlan = timeline.state().isByPlan;
    std::vector<FrontierRow> rows;
    for (std::uint32_t visit = event::searchVisits(run.events); visit < run.visitCount(); ++visit) {
        const bool isForward = isByPlan && series.mode[visit] == event::Mode::None && visit <= turned;
        rows.push_back(
            {visit, series.node[visit], placeOf(series.node[visit].value, operators, isForward), series.most[visit]});
    }
    return rows;
}

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
        most = std::max(most, static_cast<std::uint64_t>(row.bytes.sum()));
    }
    return most;
}

FrontierCurves frontierCurves(const ShownPlan* plan, const trace::Timeline* timeline)
{
    FrontierCurves curves;
    const trace::Run* run = timeline != nullptr ? &timeline->run() : nullptr;
    curves.operators = run != nullptr    ? static_cast<std::uint32_t>(run->graph->nodeCount())
                       : plan != nullptr ? static_cast<std::uint32_t>(plan->subject->joint.forwardCount)
                                         : 0;
    if (run != nullptr) {
        curves.traversal = frontierRows(*timeline);
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

std::string frontierCsv(const trace::Timeline& timeline)
{
    CsvText text({"visit", "node", "position", "kept_bytes", "argument_bytes", "relevance_bytes", "bytes"});
    const graph::Graph& graph = *timeline.run().graph;
    for (const FrontierRow& row : frontierRows(timeline)) {
        const bool isKnown = row.node.isValid() && row.node.index() < graph.runNodeCount();
        text.row(row.visit, isKnown ? std::string(graph.labelOf(row.node)) : std::string(), row.position,
                 row.bytes.kept, row.bytes.arguments, row.bytes.relevance, row.bytes.sum());
    }
    return text.take();
}

} // namespace retro::views
