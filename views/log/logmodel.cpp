// SPDX-License-Identifier: Apache-2.0
#include "views/log/logmodel.h"

#include "views/common/numbertext.h"
#include "views/common/paint/marks.h"
#include "views/common/viewcontext.h"
#include "views/log/eventwords.h"

#include <algorithm>

namespace retro::views
{

LogModel::LogModel(QObject* parent)
    : ColumnTable({{tr("Event"), Cells::Figures},
                   {tr("Visit"), Cells::Figures},
                   {tr("Mode")},
                   {tr("Kind")},
                   {tr("Node")},
                   {tr("Promise")},
                   {tr("Bytes"), Cells::Figures},
                   {tr("What happened")}},
                  parent)
{}

void LogModel::setRun(std::shared_ptr<const trace::Run> run)
{
    beginResetModel();
    m_run = std::move(run);
    m_rows.clear();
    m_isFiltered = false;
    m_position = 0;
    m_modes.assign(m_run ? m_run->visitCount() : 0, event::Mode::None);
    for (std::size_t step = 0; step < eventCount(); ++step) {
        const trace::Event& e = m_run->events[step];
        if (e.kind == event::EventKind::Visit && e.visit < m_modes.size()) {
            m_modes[e.visit] = e.mode;
        }
    }
    endResetModel();
}

void LogModel::setRows(std::vector<std::uint32_t> steps)
{
    beginResetModel();
    m_rows = std::move(steps);
    m_isFiltered = true;
    endResetModel();
}

void LogModel::clearRows()
{
    if (m_isFiltered) {
        beginResetModel();
        m_rows.clear();
        m_isFiltered = false;
        endResetModel();
    }
}

void LogModel::setPosition(std::uint64_t position)
{
    if (position == m_position) {
        return;
    }
    const int before = cursorRow();
    m_position = position;
    const int after = cursorRow();
    if (rowCount() > 0 && before != after) {
        emit dataChanged(index(std::max(0, std::min(before, after)), 0),
                         index(std::max(0, std::max(before, after)), ColumnCount - 1));
    }
}

std::uint64_t LogModel::stepAt(int row) const
{
    return m_isFiltered ? m_rows[static_cast<std::size_t>(row)] : static_cast<std::uint64_t>(row);
}

int LogModel::rowBefore(std::uint64_t position) const
{
    if (!m_isFiltered) {
        return static_cast<int>(std::min<std::uint64_t>(position, eventCount())) - 1;
    }
    const auto after = std::lower_bound(m_rows.begin(), m_rows.end(), position);
    return static_cast<int>(after - m_rows.begin()) - 1;
}

event::Mode LogModel::modeAt(std::uint64_t step) const
{
    const bool isInVisit = !m_run->visitStart.empty() && step >= m_run->visitStart.front();
    const std::uint32_t visit = m_run->events[step].visit;
    return isInVisit && visit < m_modes.size() ? m_modes[visit] : event::Mode::None;
}

QString LogModel::nodeAt(std::uint64_t step) const
{
    const std::uint32_t node = m_run->events[step].node;
    return node < m_run->graph->runNodeCount() ? RunModel::placeLabel(*m_run->graph, base::NodeId(node)) : QString();
}

std::optional<std::int64_t> LogModel::bytesOf(std::uint64_t step) const
{
    const std::uint32_t handle = m_run->events[step].handle;
    return handle < m_run->handles.size() ? std::optional(m_run->handles[handle].bytes) : std::nullopt;
}

std::optional<std::uint32_t> LogModel::promiseOf(std::uint64_t step) const
{
    const std::uint32_t promise = m_run->events[step].promise;
    return promise != base::PromiseId::kInvalid ? std::optional(promise) : std::nullopt;
}

/// In full; what happened also says what columns without room would.
QString LogModel::tipAt(std::uint64_t step, int column) const
{
    const std::uint32_t node = m_run->events[step].node;
    if (column == NodeColumn && node < m_run->graph->runNodeCount()) {
        return QString::fromStdString(m_run->graph->labelOf(base::NodeId(node)));
    }
    QStringList lines{textAt(step, column)};
    for (const int more : {PromiseColumn, BytesColumn}) {
        const QString text = column == WhatColumn ? textAt(step, more) : QString();
        lines.append(text.isEmpty() ? QStringList() : QStringList{text});
    }
    return lines.join(QLatin1Char('\n'));
}

QString LogModel::textAt(std::uint64_t step, int column) const
{
    const trace::Event& e = m_run->events[step];
    switch (column) {
    case EventColumn:
        return countText(static_cast<std::int64_t>(step) + 1);
    case VisitColumn:
        return modeAt(step) == event::Mode::None ? QString() : countText(std::int64_t{e.visit} + 1);
    case ModeColumn:
        return letterOf(modeAt(step));
    case KindColumn:
        return eventKindWord(e.kind);
    case NodeColumn:
        return nodeAt(step);
    case PromiseColumn: {
        const std::optional<std::uint32_t> promise = promiseOf(step);
        return promise ? QStringLiteral("P%1").arg(*promise) : QString();
    }
    case BytesColumn: {
        const std::optional<std::int64_t> bytes = bytesOf(step);
        return bytes ? bytesText(*bytes) : QString();
    }
    default:
        return eventWords(*m_run, step);
    }
}

QVariant LogModel::detailOf(int row, int column, int role) const
{
    const std::uint64_t step = stepAt(row);
    switch (role) {
    case Qt::ToolTipRole:
        return tipAt(step, column);
    case Qt::AccessibleTextRole:
        return column == ModeColumn ? wordOf(modeAt(step)) : textAt(step, column);
    case ModeRole:
        return static_cast<int>(modeAt(step));
    case IsLaterRole:
        return step >= m_position;
    case IsCursorRole:
        return row == cursorRow();
    default:
        return {};
    }
}

} // namespace retro::views

#include "moc_logmodel.cpp"
