// SPDX-License-Identifier: Apache-2.0
#include "views/notebook/notebookmodel.h"

#include "views/common/numbertext.h"
#include "views/common/paint/marks.h"
#include "views/common/widgets/tablecell.h"

#include <algorithm>
#include <utility>

namespace retro::views
{

namespace
{

template <class Entries>
int indexIn(const Entries& entries, const Place& place)
{
    const auto at = std::find_if(entries.begin(), entries.end(), [&](const auto& one) { return one.place == place; });
    return at == entries.end() ? -1 : static_cast<int>(at - entries.begin());
}

} // namespace

NotebookModel::NotebookModel(const RunModel& model, QObject* parent) : QAbstractTableModel(parent), m_model(model)
{
    connect(&model, &RunModel::runChanged, this, &NotebookModel::takeRun);
    takeRun();
}

void NotebookModel::takeRun()
{
    const bool hasRun = m_model.hasRun();
    const std::shared_ptr<const graph::Graph> graph = hasRun ? m_model.run().graph : nullptr;
    const std::uint64_t events = hasRun ? m_model.run().eventCount() : 0;
    if (graph != nullptr && graph == m_graph && events == m_events) {
        describeAll();
        return;
    }
    m_graph = graph;
    m_events = events;
    beginResetModel();
    m_pinned.clear();
    m_trail.clear();
    m_last.reset();
    m_here.reset();
    endResetModel();
    emit notesChanged();
}

void NotebookModel::describeAll()
{
    for (int row = 0; row < rowCount(); ++row) {
        NotebookEntry& old = entry(row);
        NotebookEntry fresh = describePlace(m_model, old.place);
        fresh.comment = old.comment;
        old = std::move(fresh);
    }
    if (rowCount() > 0) {
        emit dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1));
    }
}

void NotebookModel::visit(const Place& place)
{
    if (!m_model.hasRun() || m_events == 0 || m_last == place) {
        return;
    }
    m_last = place;
    if (indexIn(m_pinned, place) >= 0) {
        return;
    }
    beginInsertRows({}, pinnedCount(), pinnedCount());
    m_trail.push_front(describePlace(m_model, place));
    endInsertRows();
    shrinkTrail();
}

void NotebookModel::shrinkTrail()
{
    if (m_trail.size() > static_cast<std::size_t>(kMostTrail)) {
        beginRemoveRows({}, pinnedCount() + kMostTrail, rowCount() - 1);
        m_trail.resize(kMostTrail);
        endRemoveRows();
    }
}

void NotebookModel::setHere(const Place& place)
{
    if (m_here == place) {
        return;
    }
    const std::optional<Place> before = std::exchange(m_here, place);
    for (int row = 0; row < rowCount(); ++row) {
        const Place& one = entryAt(row).place;
        if (one == place || one == before) {
            notifyRow(row);
        }
    }
}

void NotebookModel::notifyRow(int row) { emit dataChanged(index(row, 0), index(row, ColumnCount - 1)); }

/// Where a pinned place belongs: by step, after those of the same step.
int NotebookModel::pinnedRowFor(const Place& place) const
{
    const auto at = std::upper_bound(
        m_pinned.begin(), m_pinned.end(), place.position,
        [](std::uint64_t position, const NotebookEntry& one) { return position < one.place.position; });
    return static_cast<int>(at - m_pinned.begin());
}

bool NotebookModel::hasRoom()
{
    const bool isRoom = m_pinned.size() < trace::kMostNotes;
    if (!isRoom) {
        emit refused(tr("%1 places are pinned, as many as a run can keep. Take one away first.")
                         .arg(countText(static_cast<std::int64_t>(trace::kMostNotes))));
    }
    return isRoom;
}

int NotebookModel::pin(const Place& place)
{
    if (!m_model.hasRun() || m_events == 0) {
        return -1;
    }
    if (const int row = rowOf(place); row >= 0) {
        return pin(row);
    }
    if (!hasRoom()) {
        return -1;
    }
    const int row = pinnedRowFor(place);
    beginInsertRows({}, row, row);
    m_pinned.insert(m_pinned.begin() + row, describePlace(m_model, place));
    endInsertRows();
    emit notesChanged();
    return row;
}

int NotebookModel::pin(int row)
{
    if (row < 0 || row >= rowCount() || isPinned(row)) {
        return row < rowCount() ? row : -1;
    }
    if (!hasRoom()) {
        return -1;
    }
    const int to = pinnedRowFor(entryAt(row).place);
    const bool isMoving = to != row; // the first of the trail may stay where it is
    if (isMoving) {
        beginMoveRows({}, row, row, {}, to);
    }
    const auto from = m_trail.begin() + (row - pinnedCount());
    NotebookEntry moved = std::move(*from);
    m_trail.erase(from);
    m_pinned.insert(m_pinned.begin() + to, std::move(moved));
    if (isMoving) {
        endMoveRows();
    }
    notifyRow(to);
    emit notesChanged();
    return to;
}

void NotebookModel::unpin(int row)
{
    if (row < 0 || !isPinned(row)) {
        return;
    }
    const int last = pinnedCount() - 1;
    const bool isMoving = row != last; // the last pinned row becomes the first of the trail where it is
    if (isMoving) {
        beginMoveRows({}, row, row, {}, last + 1);
    }
    NotebookEntry moved = std::move(m_pinned[static_cast<std::size_t>(row)]);
    moved.comment.clear();
    m_pinned.erase(m_pinned.begin() + row);
    m_trail.push_front(std::move(moved));
    if (isMoving) {
        endMoveRows();
    }
    notifyRow(last);
    shrinkTrail();
    emit notesChanged();
}

void NotebookModel::remove(int row)
{
    if (row < 0 || row >= rowCount()) {
        return;
    }
    const bool wasPinned = isPinned(row);
    beginRemoveRows({}, row, row);
    if (wasPinned) {
        m_pinned.erase(m_pinned.begin() + row);
    } else {
        m_trail.erase(m_trail.begin() + (row - pinnedCount()));
    }
    endRemoveRows();
    if (wasPinned) {
        emit notesChanged();
    }
}

void NotebookModel::clearTrail()
{
    if (!m_trail.empty()) {
        beginRemoveRows({}, pinnedCount(), rowCount() - 1);
        m_trail.clear();
        endRemoveRows();
    }
}

std::vector<trace::Note> NotebookModel::notes() const
{
    std::vector<trace::Note> all;
    for (const NotebookEntry& one : m_pinned) {
        all.push_back(toNote(one));
    }
    return all;
}

void NotebookModel::setNotes(const std::vector<trace::Note>& notes)
{
    if (!m_model.hasRun()) {
        return;
    }
    beginResetModel();
    m_pinned.clear();
    for (const trace::Note& note : notes) {
        NotebookEntry read = describePlace(m_model, placeOf(note));
        read.comment = QString::fromStdString(note.text);
        m_pinned.insert(m_pinned.begin() + pinnedRowFor(read.place), std::move(read));
    }
    endResetModel();
    emit notesChanged();
}

NotebookEntry& NotebookModel::entry(int row)
{
    return isPinned(row) ? m_pinned[static_cast<std::size_t>(row)]
                         : m_trail[static_cast<std::size_t>(row - pinnedCount())];
}

const NotebookEntry& NotebookModel::entryAt(int row) const
{
    return isPinned(row) ? m_pinned[static_cast<std::size_t>(row)]
                         : m_trail[static_cast<std::size_t>(row - pinnedCount())];
}

int NotebookModel::rowOf(const Place& place) const
{
    const int pinned = indexIn(m_pinned, place);
    const int visited = pinned >= 0 ? -1 : indexIn(m_trail, place);
    return visited >= 0 ? pinnedCount() + visited : pinned;
}

int NotebookModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_pinned.size() + m_trail.size());
}

int NotebookModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QVariant NotebookModel::textOf(const NotebookEntry& entry, int column) const
{
    switch (column) {
    case StepColumn:
        return entry.visit ? countText(std::int64_t{*entry.visit} + 1) : tr("start");
    case ModeColumn:
        return entry.mode == event::Mode::None ? QString() : wordOf(entry.mode);
    case PlaceColumn:
        return entry.what;
    case SumColumn:
        return entry.sum ? valueText(*entry.sum) : QStringLiteral("–");
    default:
        return entry.comment;
    }
}

QVariant NotebookModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid() || index.row() >= rowCount()) {
        return {};
    }
    const NotebookEntry& one = entryAt(index.row());
    switch (role) {
    case Qt::DisplayRole:
        return textOf(one, index.column());
    case Qt::EditRole:
        return index.column() == CommentColumn ? QVariant(one.comment) : QVariant();
    case Qt::TextAlignmentRole: {
        const bool isFigure = index.column() == StepColumn || index.column() == SumColumn;
        return cellAlignment(isFigure);
    }
    case Qt::ToolTipRole:
    case Qt::AccessibleDescriptionRole:
        return sentenceOf(one);
    case ModeRole:
        return static_cast<int>(one.mode);
    case IsPinnedRole:
        return isPinned(index.row());
    case IsHereRole:
        return m_here == one.place;
    case IsQuietRole: // the place of the step, where nothing was selected
        return index.column() == PlaceColumn && !one.hasSelection();
    default:
        return {};
    }
}

QVariant NotebookModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal) {
        return {};
    }
    if (role == Qt::TextAlignmentRole) {
        const bool isFigure = section == StepColumn || section == SumColumn;
        return cellAlignment(isFigure);
    }
    if (role == Qt::ToolTipRole) {
        return section == SumColumn ? QVariant(tr("Σ of the relevance there, as far as it was known at the step"))
                                    : QVariant();
    }
    const QStringList names{tr("Step"), tr("Mode"), tr("Place"), tr("Σ R"), tr("Comment")};
    return role == Qt::DisplayRole ? QVariant(names.value(section)) : QVariant();
}

Qt::ItemFlags NotebookModel::flags(const QModelIndex& index) const
{
    Qt::ItemFlags flags = QAbstractTableModel::flags(index);
    if (index.isValid() && index.column() == CommentColumn && isPinned(index.row())) {
        flags |= Qt::ItemIsEditable;
    }
    return flags;
}

bool NotebookModel::setData(const QModelIndex& index, const QVariant& value, int role)
{
    if (!flags(index).testFlag(Qt::ItemIsEditable) || role != Qt::EditRole) {
        return false;
    }
    entry(index.row()).comment = value.toString().simplified().left(kMostCharacters);
    notifyRow(index.row());
    emit notesChanged();
    return true;
}

} // namespace retro::views

#include "moc_notebookmodel.cpp"
