// SPDX-License-Identifier: Apache-2.0
#include "views/plan/schedulematrix.h"

#include <algorithm>
#include <utility>

namespace retro::views
{

namespace
{

using analysis::kNone;
using analysis::OpGraph;
using analysis::OpId;
using analysis::OpValueId;
using analysis::Phase;
using schedule::StepKind;

using Names = std::unordered_map<std::string_view, OpValueId>;

/// The value that a gradient ("d:NAME") or relevance ("r:NAME") belongs to; kNone for others.
OpValueId ownerOf(const Names& names, std::string_view name)
{
    const bool isMade = name.starts_with("d:") || name.starts_with("r:");
    const auto at = isMade ? names.find(name.substr(2)) : names.end();
    return at == names.end() ? kNone : at->second;
}

Names namesOf(const OpGraph& graph)
{
    Names names;
    for (OpValueId id = 0; id < graph.values().size(); ++id) {
        names.emplace(graph.value(id).name, id);
    }
    return names;
}

/// Starts of the runs of equal rows in what is sorted by row.
template <class Thing>
std::vector<std::uint32_t> startsOf(const std::vector<Thing>& things, std::size_t rows)
{
    std::vector<std::uint32_t> starts(rows + 1, 0);
    for (const Thing& thing : things) {
        ++starts[thing.row + 1];
    }
    for (std::size_t i = 1; i < starts.size(); ++i) {
        starts[i] += starts[i - 1];
    }
    return starts;
}

template <class Thing>
std::span<const Thing> partOf(const std::vector<Thing>& things, const std::vector<std::uint32_t>& starts,
                              std::uint32_t row)
{
    return row + 1 < starts.size() ? std::span(things).subspan(starts[row], starts[row + 1] - starts[row])
                                   : std::span<const Thing>();
}

} // namespace

ScheduleMatrix::ScheduleMatrix(const analysis::JointGraph& joint, const schedule::Plan& plan,
                               const schedule::Simulation& run)
{
    addRows(joint, plan);
    addColumns(joint, plan, run);
    addCells(joint);
    addSpans(plan, run);
    index();
    decide(joint);
}

void ScheduleMatrix::addRows(const analysis::JointGraph& joint, const schedule::Plan& plan)
{
    const OpGraph& graph = joint.graph;
    const Names names = namesOf(graph);
    m_rowOfValue.assign(graph.values().size(), kNone);
    m_isOwnRow.assign(graph.values().size(), false);
    std::vector<bool> wasSeen(graph.size(), false);
    for (const schedule::Step& step : plan.steps) {
        if (step.kind != StepKind::Compute || wasSeen[step.id]) {
            continue;
        }
        wasSeen[step.id] = true;
        addRowsOf(graph, step.id, names);
    }
    m_rowsOfPosition.push_back(static_cast<std::uint32_t>(m_rows.size()));
}

void ScheduleMatrix::addRowsOf(const OpGraph& graph, OpId op, const Names& names)
{
    const bool isGradient = graph.op(op).phase == Phase::Gradient;
    if (!isGradient) {
        m_rowsOfPosition.push_back(static_cast<std::uint32_t>(m_rows.size()));
    }
    for (const OpValueId id : graph.op(op).outputs) {
        addRow(id, op, isGradient ? ownerOf(names, graph.value(id).name) : kNone);
    }
}

void ScheduleMatrix::addRow(OpValueId value, OpId op, OpValueId owner)
{
    if (owner != kNone) {
        m_rowOfValue[value] = m_rowOfValue[owner]; // kNone for the gradient of an input
        return;
    }
    m_rowOfValue[value] = static_cast<std::uint32_t>(m_rows.size());
    m_isOwnRow[value] = true;
    m_rows.push_back({value, op, 0, 0, 0, Decision::Pass});
}

ScheduleColumn ScheduleMatrix::columnOf(const OpGraph& graph, const schedule::Step& step, bool isRecompute) const
{
    ScheduleColumn column;
    column.kind = step.kind;
    if (step.kind != StepKind::Compute) {
        column.cell = step.kind == StepKind::Offload ? CellKind::Offload : CellKind::Prefetch;
        column.row = m_rowOfValue[step.id];
        return column;
    }
    const analysis::Op& op = graph.op(step.id);
    column.op = step.id;
    column.row = op.outputs.empty() ? kNone : m_rowOfValue[op.outputs.front()];
    column.cell = op.phase == Phase::Gradient ? CellKind::Gradient
                  : isRecompute               ? CellKind::Recompute
                                              : CellKind::Compute;
    return column;
}

void ScheduleMatrix::addColumns(const analysis::JointGraph& joint, const schedule::Plan& plan,
                                const schedule::Simulation& run)
{
    const std::size_t count = std::min(plan.steps.size(), run.steps.size());
    for (std::size_t i = 0; i < count; ++i) {
        if (plan.steps[i].kind != StepKind::Free) {
            m_columns.push_back(columnOf(joint.graph, plan.steps[i], run.steps[i].isRecompute));
            m_columns.back().step = static_cast<std::uint32_t>(i);
            m_columns.back().bytes = run.steps[i].transient;
        }
    }
    findPeak();
}

void ScheduleMatrix::findPeak()
{
    const auto most = std::ranges::max_element(m_columns, {}, &ScheduleColumn::bytes);
    if (most != m_columns.end()) {
        m_peak = most->bytes;
        m_peakAt = static_cast<std::uint32_t>(most - m_columns.begin());
    }
    const auto first = std::ranges::find(m_columns, CellKind::Gradient, &ScheduleColumn::cell);
    m_firstGradient = static_cast<std::uint32_t>(first - m_columns.begin());
}

ScheduleMatrix ScheduleMatrix::over(std::vector<ScheduleColumn> columns, std::vector<ScheduleCell> cells,
                                    std::vector<ScheduleSpan> spans) const
{
    ScheduleMatrix other = *this;
    other.m_columns = std::move(columns);
    other.m_cells = std::move(cells);
    other.m_spans = std::move(spans);
    std::ranges::stable_sort(other.m_cells, [](const ScheduleCell& a, const ScheduleCell& b) {
        return std::pair(a.row, a.column) < std::pair(b.row, b.column);
    });
    std::ranges::sort(other.m_spans, [](const ScheduleSpan& a, const ScheduleSpan& b) {
        return std::pair(a.row, a.from) < std::pair(b.row, b.from);
    });
    other.findPeak();
    other.countLive();
    other.countWaiting();
    other.index();
    for (std::uint32_t row = 0; row < other.m_rows.size(); ++row) {
        const auto own = other.cellsOf(row);
        const auto stays = other.spansOf(row);
        other.m_rows[row].first = own.empty() ? 0 : own.front().column;
        other.m_rows[row].last = stays.empty() ? other.m_rows[row].first : stays.back().until - 1;
    }
    return other;
}

void ScheduleMatrix::countLive()
{
    std::vector<std::int64_t> change(m_columns.size() + 1, 0);
    for (const ScheduleSpan& span : m_spans) {
        ++change[span.from];
        --change[span.until];
    }
    std::int64_t live = 0;
    for (std::size_t i = 0; i < m_columns.size(); ++i) {
        live += change[i];
        m_columns[i].live = static_cast<std::uint32_t>(live);
    }
}

std::optional<std::uint32_t> ScheduleMatrix::nextTurn(std::uint32_t column, bool isForward) const
{
    std::optional<std::uint32_t> best;
    const auto offer = [&](std::uint32_t turn) {
        if (isForward ? turn > column && turn < best.value_or(kNone) : turn < column && turn >= best.value_or(0)) {
            best = turn;
        }
    };
    for (std::size_t i = 1; i < m_spans.size(); ++i) {
        if (m_spans[i].row == m_spans[i - 1].row && m_spans[i - 1].until < m_spans[i].from) {
            offer(m_spans[i - 1].until);
            offer(m_spans[i].from);
        }
    }
    return best;
}

void ScheduleMatrix::countWaiting()
{
    std::vector<std::int64_t> change(m_columns.size() + 1, 0);
    for (std::size_t i = 1; i < m_spans.size(); ++i) {
        if (m_spans[i].row == m_spans[i - 1].row && m_spans[i - 1].until < m_spans[i].from) {
            ++change[m_spans[i - 1].until];
            --change[m_spans[i].from];
        }
    }
    std::int64_t waiting = 0;
    for (std::size_t i = 0; i < m_columns.size(); ++i) {
        waiting += change[i];
        m_columns[i].waiting = static_cast<std::uint32_t>(waiting);
    }
}

void ScheduleMatrix::addCell(std::uint32_t row, std::uint32_t column)
{
    if (row != kNone) {
        m_cells.push_back({row, column, m_columns[column].cell});
    }
}

void ScheduleMatrix::addCells(const analysis::JointGraph& joint)
{
    for (std::uint32_t at = 0; at < m_columns.size(); ++at) {
        if (m_columns[at].op == kNone) {
            addCell(m_columns[at].row, at);
            continue;
        }
        for (const OpValueId id : joint.graph.op(m_columns[at].op).outputs) {
            addCell(m_rowOfValue[id], at);
        }
    }
    std::ranges::stable_sort(m_cells, {}, &ScheduleCell::row); // columns ascend already
}

void ScheduleMatrix::addSpans(const schedule::Plan& plan, const schedule::Simulation& run)
{
    std::vector<std::uint32_t> columnsBefore(plan.steps.size() + 1, 0); // of a step
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
        columnsBefore[i + 1] = columnsBefore[i] + (plan.steps[i].kind == StepKind::Free ? 0 : 1);
    }
    const auto columnOf = [&](std::uint32_t step) {
        return columnsBefore[std::min<std::size_t>(step, plan.steps.size())];
    };
    for (const schedule::Stay& stay : run.stays) {
        const std::uint32_t row = m_rowOfValue[stay.value];
        const std::uint32_t from = columnOf(stay.from);
        const std::uint32_t until = std::max(columnOf(stay.until), from);
        if (row == kNone || !m_isOwnRow[stay.value] || from >= until || until > m_columns.size()) {
            continue;
        }
        m_spans.push_back({row, from, until});
    }
    countLive();
    std::ranges::sort(m_spans, [](const ScheduleSpan& a, const ScheduleSpan& b) {
        return std::pair(a.row, a.from) < std::pair(b.row, b.from);
    });
    countWaiting();
}

void ScheduleMatrix::index()
{
    m_cellStart = startsOf(m_cells, m_rows.size());
    m_spanStart = startsOf(m_spans, m_rows.size());
}

void ScheduleMatrix::decide(const analysis::JointGraph& joint)
{
    const auto isMade = [](const ScheduleCell& cell) {
        return cell.kind == CellKind::Compute || cell.kind == CellKind::Recompute;
    };
    for (std::uint32_t row = 0; row < m_rows.size(); ++row) {
        ScheduleRow& one = m_rows[row];
        const auto cells = cellsOf(row);
        const auto spans = spansOf(row);
        one.first = cells.empty() ? 0 : cells.front().column;
        one.last = spans.empty() ? one.first : spans.back().until - 1;
        one.runs = static_cast<std::uint32_t>(std::ranges::count_if(cells, isMade));
        one.decision = decisionOf(row, joint.graph.op(one.op).phase == Phase::Forward);
    }
}

Decision ScheduleMatrix::decisionOf(std::uint32_t row, bool isForward) const
{
    if (m_rows[row].runs > 1) {
        return Decision::Recompute;
    }
    return isForward && isLive(row, m_firstGradient) ? Decision::Keep : Decision::Pass;
}

std::span<const ScheduleCell> ScheduleMatrix::cellsOf(std::uint32_t row) const
{
    return partOf(m_cells, m_cellStart, row);
}

std::span<const ScheduleSpan> ScheduleMatrix::spansOf(std::uint32_t row) const
{
    return partOf(m_spans, m_spanStart, row);
}

const ScheduleCell* ScheduleMatrix::cellAt(std::uint32_t row, std::uint32_t column) const
{
    const auto cells = cellsOf(row);
    const auto at = std::ranges::lower_bound(cells, column, {}, &ScheduleCell::column);
    return at != cells.end() && at->column == column ? &*at : nullptr;
}

bool ScheduleMatrix::isLive(std::uint32_t row, std::uint32_t column) const
{
    const auto spans = spansOf(row);
    const auto behind = std::ranges::upper_bound(spans, column, {}, &ScheduleSpan::from);
    return behind != spans.begin() && column < (behind - 1)->until;
}

std::uint32_t ScheduleMatrix::rowOf(analysis::OpValueId value) const
{
    return value < m_rowOfValue.size() ? m_rowOfValue[value] : kNone;
}

} // namespace retro::views
