// SPDX-License-Identifier: Apache-2.0
#include "views/program/programmodel.h"

#include "views/common/numbertext.h"
#include "views/common/viewcontext.h"
#include "views/common/widgets/tablecell.h"

#include <array>

namespace retro::views
{

namespace
{

constexpr std::array<const char*, ProgramModel::ColumnCount> kTitles{
    QT_TRANSLATE_NOOP("retro::views::ProgramModel", "No."),    QT_TRANSLATE_NOOP("retro::views::ProgramModel", "Makes"),
    QT_TRANSLATE_NOOP("retro::views::ProgramModel", "Does"),   QT_TRANSLATE_NOOP("retro::views::ProgramModel", "Node"),
    QT_TRANSLATE_NOOP("retro::views::ProgramModel", "From"),   QT_TRANSLATE_NOOP("retro::views::ProgramModel", "For"),
    QT_TRANSLATE_NOOP("retro::views::ProgramModel", "Lets go")};

QString namesOf(const std::vector<program::BufferId>& buffers)
{
    QStringList names;
    for (const program::BufferId buffer : buffers) {
        names.append(QString::fromStdString(program::nameOf(buffer)));
    }
    return names.join(QStringLiteral(", "));
}

} // namespace

void ProgramModel::setProgram(std::shared_ptr<const ProgramRows> rows, std::shared_ptr<const trace::Run> run)
{
    beginResetModel();
    m_rows = std::move(rows);
    m_run = std::move(run);
    m_cursorRow = m_rows->lastDone(m_position);
    endResetModel();
}

void ProgramModel::setPosition(std::uint64_t position)
{
    if (position != m_position) {
        m_position = position;
        m_cursorRow = m_rows->lastDone(position);
        repaintAll();
    }
}

void ProgramModel::setSelected(base::NodeId node, base::PromiseId promise)
{
    if (node != m_node || promise != m_promise) {
        m_node = node;
        m_promise = promise;
        repaintAll();
    }
}

void ProgramModel::repaintAll()
{
    if (rowCount() > 0) {
        emit dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1));
    }
}

bool ProgramModel::isChosen(const ProgramRows::Row& row) const
{
    return !row.isHeading &&
           ((m_node.isValid() && row.step.node == m_node) || (m_promise.isValid() && row.promise == m_promise));
}

int ProgramModel::selectedRow() const
{
    for (int row = 0; row < rowCount(); ++row) {
        if (isChosen(at(row))) {
            return row;
        }
    }
    return -1;
}

QString ProgramModel::headingOf(const ProgramRows::Row& row) const
{
    const auto count =
        static_cast<std::int64_t>(row.step.isArgument ? m_rows->arguments : m_rows->instructions - m_rows->arguments);
    return row.step.isArgument ? tr("ARGS – %1 instructions make the values that rules ask for").arg(countText(count))
                               : tr("REL – %1 instructions carry relevance").arg(countText(count));
}

QString ProgramModel::textOf(const ProgramRows::Row& row, int column) const
{
    switch (column) {
    case NumberColumn:
        return countText(std::int64_t{row.step.index});
    case MakesColumn:
        return namesOf(row.step.made);
    case DoesColumn:
        return QString::fromUtf8(program::nameOf(row.step.opcode).data());
    case NodeColumn:
        return RunModel::placeLabel(*m_run->graph, row.step.node);
    case ReadsColumn:
        return QString::fromStdString(row.step.reads);
    case PromiseColumn:
        return QString::fromStdString(row.step.promise);
    default:
        return namesOf(row.step.lastUses);
    }
}

QString ProgramModel::cellText(const ProgramRows::Row& row, int column) const
{
    if (row.isHeading) {
        return column == 0 ? headingOf(row) : QString();
    }
    return textOf(row, column);
}

int ProgramModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_rows->rows.size());
}

int ProgramModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QVariant ProgramModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid() || index.row() >= rowCount()) {
        return {};
    }
    const ProgramRows::Row& row = at(index.row());
    switch (role) {
    case Qt::DisplayRole:
        return cellText(row, index.column());
    case Qt::ToolTipRole:
        return row.isHeading ? headingOf(row) : QString::fromStdString(row.step.text);
    case Qt::TextAlignmentRole:
        return cellAlignment(index.column() == NumberColumn && !row.isHeading);
    case IsHeadingRole:
        return row.isHeading;
    case IsLaterRole:
        return !row.isHeading && row.position > m_position;
    case IsCursorRole:
        return index.row() == m_cursorRow;
    case IsChosenRole:
        return isChosen(row);
    default:
        return {};
    }
}

QVariant ProgramModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || section < 0 || section >= ColumnCount) {
        return {};
    }
    if (role == Qt::TextAlignmentRole) {
        return cellAlignment(section == NumberColumn);
    }
    return role == Qt::DisplayRole ? QVariant(tr(kTitles[static_cast<std::size_t>(section)])) : QVariant();
}

Qt::ItemFlags ProgramModel::flags(const QModelIndex& index) const
{
    const bool isHeading = index.isValid() && index.row() < rowCount() && at(index.row()).isHeading;
    return isHeading ? Qt::ItemFlags(Qt::ItemIsEnabled) : QAbstractTableModel::flags(index);
}

} // namespace retro::views

#include "moc_programmodel.cpp"
