// SPDX-License-Identifier: Apache-2.0
#include "views/breakpoints/breakpointmodel.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/theme.h"

#include <algorithm>

namespace retro::views
{

BreakpointModel::BreakpointModel(BreakpointList& list, QObject* parent)
    : ColumnTable({{tr("Stop")}, {tr("Hits"), Cells::SmallFigures}}, parent), m_list(list),
      m_rows(static_cast<int>(list.entries().size()))
{
    connect(&list, &BreakpointList::changed, this, &BreakpointModel::follow);
    connect(&list, &BreakpointList::stopsChanged, this, &BreakpointModel::notifyHits);
}

void BreakpointModel::follow()
{
    const int rows = static_cast<int>(m_list.entries().size());
    if (rows == m_rows + 1) {
        beginInsertRows({}, m_rows, m_rows);
        m_rows = rows;
        endInsertRows();
    } else if (rows != m_rows) {
        beginResetModel();
        m_rows = rows;
        endResetModel();
    }
    cellsChanged();
}

/// Leaves the first column alone: a condition that is being typed must not be overwritten.
void BreakpointModel::notifyHits() { cellsChanged(HitsColumn); }

void BreakpointModel::setPosition(std::uint64_t position)
{
    if (position != m_position) {
        m_position = position;
        notifyHits();
    }
}

QString BreakpointModel::words(const BreakpointEntry& entry) const
{
    if (!entry.found || !m_list.model().hasRun()) {
        return entry.condition;
    }
    return QString::fromStdString(trace::text(m_list.model().run(), *entry.found));
}

QVariant BreakpointModel::colorOf(const BreakpointEntry& entry) const
{
    if (!entry.found) {
        return theme()[views::Role::AlarmText];
    }
    return theme()[entry.isEnabled ? views::Role::Text : views::Role::Text3];
}

QVariant BreakpointModel::conditionData(const BreakpointEntry& entry, int role) const
{
    switch (role) {
    case Qt::EditRole:
        return entry.condition;
    case Qt::CheckStateRole:
        return static_cast<int>(entry.isEnabled ? Qt::Checked : Qt::Unchecked);
    case Qt::ToolTipRole:
        return entry.found ? words(entry) : entry.problem;
    default:
        return {};
    }
}

QVariant BreakpointModel::hitsData(const BreakpointEntry& entry, int role) const
{
    switch (role) {
    case Qt::FontRole:
        return isHere(entry) ? QVariant(fonts::sized(11, QFont::Bold, true)) : QVariant();
    case Qt::ToolTipRole:
        return entry.found ? tr("How often the condition holds in this run") : entry.problem;
    default:
        return {};
    }
}

bool BreakpointModel::isHere(const BreakpointEntry& entry) const
{
    return std::binary_search(entry.stops.begin(), entry.stops.end(), m_position);
}

QString BreakpointModel::textOf(int row, int column) const
{
    const BreakpointEntry& entry = m_list.entries()[static_cast<std::size_t>(row)];
    if (column == ConditionColumn) {
        return entry.condition; // as it was typed
    }
    return entry.found ? countText(static_cast<std::int64_t>(entry.stops.size())) : QStringLiteral("–");
}

QVariant BreakpointModel::detailOf(int row, int column, int role) const
{
    const BreakpointEntry& entry = m_list.entries()[static_cast<std::size_t>(row)];
    if (role == Qt::ForegroundRole) {
        return colorOf(entry);
    }
    if (role == IsHereRole) {
        return isHere(entry);
    }
    return column == ConditionColumn ? conditionData(entry, role) : hitsData(entry, role);
}

Qt::ItemFlags BreakpointModel::flags(const QModelIndex& index) const
{
    Qt::ItemFlags flags = QAbstractTableModel::flags(index);
    if (index.isValid() && index.column() == ConditionColumn) {
        flags |= Qt::ItemIsUserCheckable | Qt::ItemIsEditable;
    }
    return flags;
}

bool BreakpointModel::setData(const QModelIndex& index, const QVariant& value, int role)
{
    if (!index.isValid() || index.column() != ConditionColumn) {
        return false;
    }
    const auto at = static_cast<std::size_t>(index.row());
    if (role == Qt::CheckStateRole) {
        m_list.setEnabled(at, value.toInt() == Qt::Checked);
        return true;
    }
    if (role != Qt::EditRole) {
        return false;
    }
    const base::Result<void> done = m_list.edit(at, value.toString());
    if (!done) {
        emit refused(QString::fromStdString(done.error().message));
    }
    return done.ok();
}

} // namespace retro::views

#include "moc_breakpointmodel.cpp"
