// SPDX-License-Identifier: Apache-2.0
#include "views/promises/promisetreemodel.h"

#include "views/common/numbertext.h"

#include <QCoreApplication>

namespace retro::views
{

namespace
{

bool hasHappened(const std::optional<std::uint64_t>& step, std::uint64_t position) { return step && *step < position; }

} // namespace

QString wordOf(PromiseRowState state)
{
    switch (state) {
    case PromiseRowState::NotYet:
        return QCoreApplication::translate("retro::views::PromiseTreeModel", "not yet");
    case PromiseRowState::Waits:
        return QCoreApplication::translate("retro::views::PromiseTreeModel", "waits");
    case PromiseRowState::Fulfilled:
        return QCoreApplication::translate("retro::views::PromiseTreeModel", "fulfilled");
    case PromiseRowState::Found:
        return QCoreApplication::translate("retro::views::PromiseTreeModel", "found");
    case PromiseRowState::Constant:
        return QCoreApplication::translate("retro::views::PromiseTreeModel", "constant");
    }
    return {};
}

PromiseTreeModel::PromiseTreeModel(const RunModel& model, QObject* parent) : QAbstractItemModel(parent), m_model(model)
{}

void PromiseTreeModel::resetRun()
{
    beginResetModel();
    m_run = m_model.hasRun() ? m_model.sharedRun() : nullptr;
    m_forest = m_run ? m_model.derived<PromiseForest>() : std::make_shared<const PromiseForest>();
    m_position = m_run ? m_model.position() : 0;
    endResetModel();
}

QString PromiseTreeModel::label(base::NodeId node) const { return QString::fromStdString(m_run->graph->labelOf(node)); }

void PromiseTreeModel::setPosition(std::uint64_t position)
{
    if (position == m_position) {
        return;
    }
    const std::uint64_t before = m_position;
    m_position = position;
    tellChanges(m_forest->roots(), before);
}

bool PromiseTreeModel::looksDifferent(const PromiseRow& row, std::uint64_t before) const
{
    return m_forest->stateOf(row, before) != m_forest->stateOf(row, m_position) ||
           visitsText(row, before) != visitsText(row, m_position);
}

void PromiseTreeModel::tellChanges(const std::vector<std::unique_ptr<PromiseRow>>& rows, std::uint64_t before)
{
    std::vector<const PromiseRow*> open;
    for (const auto& row : rows) {
        open.push_back(row.get());
    }
    while (!open.empty()) {
        const PromiseRow* row = open.back();
        open.pop_back();
        if (looksDifferent(*row, before)) {
            auto* pointer = const_cast<PromiseRow*>(row); // indexes carry mutable pointers by signature only
            emit dataChanged(createIndex(row->position, 0, pointer),
                             createIndex(row->position, ColumnCount - 1, pointer));
        }
        for (const auto& child : row->children) {
            open.push_back(child.get());
        }
    }
}

const PromiseRow* PromiseTreeModel::rowAt(const QModelIndex& index)
{
    return static_cast<const PromiseRow*>(index.internalPointer());
}

QModelIndex PromiseTreeModel::indexOf(base::PromiseId promise) const
{
    PromiseRow* row = m_forest->rowOf(promise);
    return row != nullptr ? createIndex(row->position, 0, row) : QModelIndex();
}

const std::vector<std::unique_ptr<PromiseRow>>& PromiseTreeModel::childrenOf(const QModelIndex& parent) const
{
    return parent.isValid() ? rowAt(parent)->children : m_forest->roots();
}

QModelIndex PromiseTreeModel::index(int row, int column, const QModelIndex& parent) const
{
    if (!hasIndex(row, column, parent)) {
        return {};
    }
    return createIndex(row, column, childrenOf(parent)[static_cast<std::size_t>(row)].get());
}

QModelIndex PromiseTreeModel::parent(const QModelIndex& child) const
{
    PromiseRow* above = child.isValid() ? rowAt(child)->parent : nullptr;
    return above != nullptr ? createIndex(above->position, 0, above) : QModelIndex();
}

int PromiseTreeModel::rowCount(const QModelIndex& parent) const
{
    return parent.column() > 0 ? 0 : static_cast<int>(childrenOf(parent).size());
}

int PromiseTreeModel::columnCount(const QModelIndex& /*parent*/) const { return ColumnCount; }

QString PromiseTreeModel::idText(const PromiseRow& row) const
{
    QStringList parts;
    if (row.branch) {
        parts.append(QStringLiteral(".%1").arg(*row.branch));
    }
    if (row.isPromise) {
        parts.append(QStringLiteral("P%1").arg(row.promise.value));
    }
    return parts.join(QLatin1Char(' '));
}

QString PromiseTreeModel::placeText(const PromiseRow& row) const
{
    if (row.isPromise) {
        const QString name = RunModel::placeLabel(*m_run->graph, m_forest->promises()[row.promise.index()].start);
        return row.isLink ? tr("%1 (see there)").arg(name) : name;
    }
    const BranchFacts* branch = m_forest->branchOf(row);
    if (branch == nullptr || !branch->searchEnd.isValid()) {
        return branch != nullptr && branch->argumentAt ? tr("a constant") : QString();
    }
    return RunModel::placeLabel(*m_run->graph, branch->searchEnd);
}

QString PromiseTreeModel::visitsText(const PromiseRow& row, std::uint64_t position) const
{
    const auto visit = [&](std::uint64_t step) { return countText(std::int64_t{m_run->visitOf(step)} + 1); };
    const PromiseRowState state = m_forest->stateOf(row, position);
    if (row.isPromise && (state == PromiseRowState::Waits || state == PromiseRowState::Fulfilled)) {
        const PromiseFacts& facts = m_forest->promises()[row.promise.index()];
        const bool isRaised = facts.raisedAt < position;
        if (isRaised && state == PromiseRowState::Waits) {
            return tr("%1 …").arg(visit(facts.raisedAt));
        }
        return isRaised ? tr("%1 – %2").arg(visit(facts.raisedAt), visit(*facts.completedAt)) : QString();
    }
    const BranchFacts* branch = m_forest->branchOf(row);
    const bool isAnswered = branch != nullptr && hasHappened(branch->argumentAt, position);
    return isAnswered ? visit(*branch->argumentAt) : QString();
}

QString PromiseTreeModel::tipText(const PromiseRow& row) const
{
    const PromiseFacts& facts = m_forest->promises()[row.promise.index()];
    const QString kind = QString::fromUtf8(event::nameOf(facts.kind).data());
    if (row.isPromise) {
        return tr("Promise P%1 (%2) of %3").arg(row.promise.value).arg(kind, label(facts.start));
    }
    const BranchFacts* branch = m_forest->branchOf(row);
    const bool hasEnd = branch != nullptr && branch->searchEnd.isValid();
    return hasEnd ? tr("The search ended at %1").arg(label(branch->searchEnd)) : QString();
}

QVariant PromiseTreeModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid()) {
        return {};
    }
    const PromiseRow& row = *rowAt(index);
    const PromiseRowState state = m_forest->stateOf(row, m_position);
    switch (role) {
    case Qt::DisplayRole:
        switch (index.column()) {
        case NameColumn:
            return QStringLiteral("%1 %2").arg(idText(row), placeText(row)).trimmed();
        case StateColumn:
            return wordOf(state);
        default:
            return visitsText(row, m_position);
        }
    case Qt::ToolTipRole:
        return tipText(row);
    case Qt::TextAlignmentRole:
        return index.column() == VisitsColumn ? QVariant::fromValue(int(Qt::AlignRight | Qt::AlignVCenter))
                                              : QVariant();
    case StateRole:
        return static_cast<int>(state);
    case IdRole:
        return idText(row);
    case PlaceRole:
        return placeText(row);
    default:
        return {};
    }
}

QVariant PromiseTreeModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal) {
        return {};
    }
    if (role == Qt::TextAlignmentRole) {
        return int(section == VisitsColumn ? Qt::AlignRight | Qt::AlignVCenter : Qt::AlignLeft | Qt::AlignVCenter);
    }
    if (role != Qt::DisplayRole) {
        return {};
    }
    switch (section) {
    case NameColumn:
        return tr("Promise");
    case StateColumn:
        return tr("State");
    default:
        return tr("Visits");
    }
}

} // namespace retro::views
