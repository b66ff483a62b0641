// SPDX-License-Identifier: Apache-2.0
#include "views/plan/runaxis.h"

#include "core/event/planevent.h"
#include "core/trace/frontierwalk.h"
#include "views/plan/shownplan.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace retro::views
{

namespace
{

using analysis::kNone;
using event::Event;
using event::EventKind;

/// Follows a run by a plan and draws it over its visits.
class AxisWalk
{
public:
    AxisWalk(const ShownPlan& plan, std::shared_ptr<const trace::Run> run, std::uint32_t firstVisit)
        : m_plan(plan), m_run(*run), m_graph(*run->graph), m_axis(std::make_shared<RunAxis>()),
          m_columns(run->visitCount() - firstVisit), m_frontier(*run), m_most(m_columns.size()),
          m_rowOf(m_graph.valueCount(), kNone), m_forwardOf(m_graph.valueCount(), kNone),
          m_gradientOf(m_graph.valueCount(), kNone)
    {
        m_axis->run = std::move(run);
        m_axis->firstVisit = firstVisit;
        findValues();
        findSteps();
    }

    void walk()
    {
        std::uint32_t visit = 0; // as a timeline counts: up to the next Visit event
        for (std::uint64_t step = 0; step < m_run.events.size(); ++step) {
            const Event& event = m_run.events[step];
            if (visit + 1 < m_run.visitCount() && step == m_run.endOfVisit(visit)) {
                ++visit;
            }
            const bool isShown = visit >= m_axis->firstVisit;
            const std::uint32_t column = isShown ? visit - m_axis->firstVisit : 0;
            m_frontier.apply(step, [&](base::HandleId handle, bool isMember) {
                if (isMember) {
                    m_stays[handle.value] = stayOf(event, handle, {column, step});
                } else {
                    end(handle.value, {column + 1, step});
                }
            });
            if (isShown && !event::isOfSearch(event)) {
                noteMost(column, step);
                take(event, column);
            }
        }
        while (!m_stays.empty()) {
            end(m_stays.begin()->first, {static_cast<std::uint32_t>(m_columns.size()), m_run.events.size()});
        }
        makeBands();
        fillColumns();
        sum();
    }

    [[nodiscard]] ShownPlanPointer shown()
    {
        auto shown = std::make_shared<ShownPlan>(m_plan);
        shown->matrix = m_plan.matrix.over(std::move(m_columns), std::move(m_cells), std::move(m_spans));
        shown->axis = m_axis;
        return shown;
    }

private:
    /// A column, and an event of the run.
    struct Place
    {
        std::uint32_t column = 0;
        std::uint64_t step = 0;
    };
    /// A tensor in memory: of which row (kNone: of none), and what it is for.
    struct Stay
    {
        Place from;
        Place until; ///< that one excluded
        std::uint32_t row = kNone;
        StackKind kind = StackKind::Relevance;
        std::uint64_t bytes = 0;
        std::string name;
        std::string why;
    };
    /// The moment of a visit at which most is in memory.
    struct Most
    {
        std::int64_t bytes = 0;
        std::uint64_t step = 0;
    };

    void findValues()
    {
        const analysis::OpGraph& joint = m_plan.graph();
        for (analysis::OpValueId id = 0; id < joint.values().size(); ++id) {
            const std::string& name = joint.value(id).name;
            if (const auto value = m_graph.findValue(name)) {
                m_forwardOf[value->index()] = id;
                m_rowOf[value->index()] = m_plan.matrix.rowOf(id);
            } else if (name.size() > 2 && (name.starts_with("d:") || name.starts_with("r:"))) {
                if (const auto of = m_graph.findValue(std::string_view(name).substr(2))) {
                    m_gradientOf[of->index()] = id;
                }
            }
        }
    }

    /// Steps at which each operator runs.
    void findSteps()
    {
        m_stepsOf.resize(m_plan.graph().size());
        const auto& steps = m_plan.plan().steps;
        for (std::uint32_t at = 0; at < steps.size(); ++at) {
            if (steps[at].kind == schedule::StepKind::Compute) {
                m_stepsOf[steps[at].id].push_back(at);
            }
        }
        m_ran.resize(m_plan.graph().size(), 0);
    }

    [[nodiscard]] std::uint64_t bytesOf(std::uint32_t handle) const
    {
        return handle < m_run.handles.size() ? static_cast<std::uint64_t>(m_run.handles[handle].bytes) : 0;
    }

    void take(const Event& event, std::uint32_t column)
    {
        switch (event.kind) {
        case EventKind::Compute:
        case EventKind::Recompute:
            takeMade(event, column);
            break;
        case EventKind::Move:
            addCell(event.other, column, CellKind::Offload, event::isOfGradient(event));
            break;
        case EventKind::Fetch:
            takeFetch(event, column);
            break;
        case EventKind::NewPromise:
            m_created[event.promise] = column;
            break;
        case EventKind::Relevance:
            takeRelevance(event, column);
            break;
        default:
            break;
        }
    }

    void addCell(std::uint32_t value, std::uint32_t column, CellKind kind, bool isGradient = false)
    {
        if (value < m_rowOf.size() && m_rowOf[value] != kNone && !isGradient) {
            m_cells.push_back({m_rowOf[value], column, kind});
        }
    }

    void noteMost(std::uint32_t column, std::uint64_t step)
    {
        const std::int64_t bytes = m_frontier.state().frontierBytes.sum();
        if (bytes >= m_most[column].bytes) {
            m_most[column] = {bytes, step};
        }
    }

    /// What a tensor is that an event brought into memory.
    [[nodiscard]] Stay stayOf(const Event& event, base::HandleId handle, const Place& from) const
    {
        Stay stay{from, {}, kNone, StackKind::Relevance, bytesOf(handle.value), {}, {}};
        const bool isValue =
            event.kind >= EventKind::Compute && event.kind <= EventKind::Fetch && event.other < m_rowOf.size();
        if (!isValue) {
            const bool isOfPromise =
                event.kind != EventKind::Land && event.promise < m_frontier.state().promises.size();
            const base::NodeId node =
                isOfPromise ? m_frontier.state().promises[event.promise].start : base::NodeId(event.node);
            const std::string label =
                node.isValid() && node.index() < m_graph.runNodeCount() ? m_graph.labelOf(node) : std::string("?");
            stay.name = "relevance at " + label;
            stay.why = "waits at " + label;
            return stay;
        }
        stay.name = m_graph.value(base::ValueId(event.other)).name;
        if (event::isOfGradient(event)) {
            stay.name.insert(0, "relevance of ");
            stay.why = "waits to be read";
            return stay;
        }
        const bool isBrought = event.promise != base::PromiseId::kInvalid;
        stay.row = m_rowOf[event.other];
        stay.kind = isBrought || event.kind == EventKind::Recompute ? StackKind::Rebuilt : StackKind::Kept;
        stay.why = isBrought                         ? "argument of P" + std::to_string(event.promise)
                   : stay.kind == StackKind::Rebuilt ? std::string("computed again")
                                                     : std::string("in memory by the plan");
        return stay;
    }

    void end(std::uint32_t handle, const Place& until)
    {
        const auto at = m_stays.find(handle);
        if (at == m_stays.end()) {
            return;
        }
        at->second.until = until;
        if (at->second.row != kNone) {
            addSpan(at->second.row, at->second.from.column, until.column);
        }
        m_ended.push_back(std::move(at->second));
        m_stays.erase(at);
    }

    void takeMade(const Event& event, std::uint32_t column)
    {
        if (event.other >= m_rowOf.size()) {
            return;
        }
        const bool isAgain = event.kind == EventKind::Recompute;
        const bool isGradient = event::isOfGradient(event);
        addCell(event.other, column, isAgain ? CellKind::Recompute : CellKind::Compute, isGradient);
        if (isAgain && event.extra == 1) {
            return; // there for a moment
        }
        const std::uint32_t id = isGradient ? m_gradientOf[event.other] : m_forwardOf[event.other];
        noteStep(id, column,
                 isGradient ? CellKind::Gradient
                 : isAgain  ? CellKind::Recompute
                            : CellKind::Compute,
                 m_rowOf[event.other]);
    }

    /// The step of the plan that a column carries out.
    void noteStep(std::uint32_t id, std::uint32_t column, CellKind kind, std::uint32_t row)
    {
        if (id == kNone || column >= m_columns.size() || m_plan.graph().value(id).producer == kNone) {
            return;
        }
        const analysis::OpId op = m_plan.graph().value(id).producer;
        const auto& steps = m_stepsOf[op];
        if (m_columns[column].op == op || steps.empty()) {
            return; // another result of it
        }
        const std::size_t run = std::min<std::size_t>(m_ran[op]++, steps.size() - 1);
        m_columns[column].op = op;
        m_columns[column].row = row;
        m_columns[column].cell = kind;
        m_columns[column].step = steps[run];
        m_hasStep.insert(column);
    }

    void takeRelevance(const Event& event, std::uint32_t column)
    {
        const auto outputs = m_graph.outputsOf(base::NodeId(event.node));
        if (event.slot >= outputs.size() || !outputs[event.slot].isValid()) {
            return;
        }
        const std::uint32_t value = outputs[event.slot].value;
        addCell(value, column, CellKind::Gradient);
        noteStep(m_gradientOf[value], column, CellKind::Gradient, m_rowOf[value]);
    }

    void addSpan(std::uint32_t row, std::uint32_t from, std::uint32_t until)
    {
        const auto end = std::min<std::uint32_t>(until, static_cast<std::uint32_t>(m_columns.size()));
        if (from < end) {
            m_spans.push_back({row, from, end});
        }
    }

    /// In a column stands what is there at the moment of its most.
    void makeBands()
    {
        const auto columnOf = [this](std::uint64_t step) {
            return static_cast<std::uint32_t>(std::ranges::lower_bound(m_most, step, {}, &Most::step) - m_most.begin());
        };
        for (Stay& stay : m_ended) {
            const std::uint32_t from = columnOf(stay.from.step);
            const std::uint32_t until = columnOf(stay.until.step);
            if (from < until && stay.bytes > 0) {
                m_axis->stack.bands.push_back(
                    {stay.row, stay.kind, from, until, stay.bytes, std::move(stay.name), std::move(stay.why)});
            }
        }
    }

    void takeFetch(const Event& event, std::uint32_t column)
    {
        if (event.promise == base::PromiseId::kInvalid) {
            addCell(event.other, column, CellKind::Prefetch, event::isOfGradient(event));
            return;
        }
        if (event.other >= m_rowOf.size() || m_rowOf[event.other] == kNone) {
            return;
        }
        const std::uint32_t row = m_rowOf[event.other];
        const auto created = m_created.find(event.promise);
        m_axis->gaps.push_back({row, created == m_created.end() ? column : created->second, column, event.promise});
        m_cells.push_back({row, column, CellKind::Return});
    }

    /// A column without a step of its own belongs to the one before.
    void fillColumns()
    {
        std::uint32_t step = 0;
        for (std::uint32_t at = 0; at < m_columns.size(); ++at) {
            ScheduleColumn& column = m_columns[at];
            if (m_hasStep.contains(at)) {
                step = column.step;
            } else {
                const base::NodeId node(m_run.events[visitEvent(at)].node);
                column.step = step;
                column.cell = CellKind::Return;
                column.row = rowOfNode(node);
            }
            column.bytes = step < m_plan.run.steps.size() ? m_plan.run.steps[step].transient : 0;
        }
    }

    /// The Visit event of a column.
    [[nodiscard]] std::size_t visitEvent(std::uint32_t column) const
    {
        std::size_t at = m_run.visitStart[m_axis->firstVisit + column];
        while (at + 1 < m_run.events.size() && m_run.events[at].kind != EventKind::Visit) {
            ++at;
        }
        return at;
    }

    [[nodiscard]] std::uint32_t rowOfNode(base::NodeId node) const
    {
        if (!node.isValid() || node.index() >= m_graph.runNodeCount()) {
            return kNone;
        }
        for (const base::ValueId output : m_graph.outputsOf(node)) {
            if (output.isValid() && m_rowOf[output.index()] != kNone) {
                return m_rowOf[output.index()];
            }
        }
        return kNone;
    }

    void sum()
    {
        std::ranges::sort(m_axis->gaps, [](const ScheduleGap& a, const ScheduleGap& b) {
            return std::pair(a.row, a.from) < std::pair(b.row, b.from);
        });
        m_axis->stack.finish(m_columns.size());
    }

    const ShownPlan& m_plan;
    const trace::Run& m_run;
    const graph::Graph& m_graph;
    std::shared_ptr<RunAxis> m_axis;
    std::vector<ScheduleColumn> m_columns;
    trace::FrontierWalk m_frontier;
    std::vector<Most> m_most; ///< per column
    std::vector<ScheduleCell> m_cells;
    std::vector<ScheduleSpan> m_spans;
    std::vector<std::uint32_t> m_rowOf;                ///< per value of the graph
    std::vector<std::uint32_t> m_forwardOf;            ///< per value of the graph: of the joint graph
    std::vector<std::uint32_t> m_gradientOf;           ///< per value of the graph: its gradient (relevance) there
    std::vector<std::vector<std::uint32_t>> m_stepsOf; ///< per operator
    std::vector<std::size_t> m_ran;                    ///< per operator: how often so far
    std::set<std::uint32_t> m_hasStep;                 ///< columns
    std::map<std::uint32_t, Stay> m_stays;             ///< per handle
    std::vector<Stay> m_ended;
    std::map<std::uint32_t, std::uint32_t> m_created; ///< per promise
};

} // namespace

const ScheduleGap* RunAxis::gapAt(std::uint32_t row, std::uint32_t column) const
{
    const auto first = std::ranges::lower_bound(gaps, row, {}, &ScheduleGap::row);
    for (auto at = first; at != gaps.end() && at->row == row; ++at) {
        if (column >= at->from && column <= at->until) {
            return &*at;
        }
    }
    return nullptr;
}

std::optional<std::uint32_t> firstPlannedVisit(const trace::Run& run)
{
    const auto made = std::ranges::find_if(run.events, [](const Event& one) { return one.kind == EventKind::Compute; });
    return made == run.events.end() ? std::nullopt : std::optional(made->visit);
}

ShownPlanPointer shownOverRun(const ShownPlanPointer& plan, std::shared_ptr<const trace::Run> run)
{
    const std::optional<std::uint32_t> first = run ? firstPlannedVisit(*run) : std::nullopt;
    if (!plan || !first || *first >= run->visitCount()) {
        return nullptr;
    }
    AxisWalk walk(*plan, std::move(run), *first);
    walk.walk();
    return walk.shown();
}

} // namespace retro::views
