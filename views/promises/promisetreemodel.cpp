// SPDX-License-Identifier: Apache-2.0
#include "views/promises/promisetreemodel.h"

#include "views/common/numbertext.h"
#include "views/promises/promisefigures.h"

#include <QCoreApplication>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace retro::views
{

namespace
{

struct ColumnWords
{
    const char* title;
    const char* tip;
};

constexpr std::array<ColumnWords, PromiseTreeModel::ColumnCount> kColumns{
    ColumnWords{QT_TRANSLATE_NOOP("retro::views::PromiseTreeModel", "Promise"),
                QT_TRANSLATE_NOOP("retro::views::PromiseTreeModel", "Promises, and the operands that they ask for")},
    ColumnWords{QT_TRANSLATE_NOOP("retro::views::PromiseTreeModel", "State"),
                QT_TRANSLATE_NOOP("retro::views::PromiseTreeModel", "How it stands at this step")},
    ColumnWords{
        QT_TRANSLATE_NOOP("retro::views::PromiseTreeModel", "Since"),
        QT_TRANSLATE_NOOP("retro::views::PromiseTreeModel", "Visit in which it was opened; of an operand: asked for")},
    ColumnWords{QT_TRANSLATE_NOOP("retro::views::PromiseTreeModel", "Age"),
                QT_TRANSLATE_NOOP("retro::views::PromiseTreeModel",
                                  "Visits since then, until it was answered or until this step")},
    ColumnWords{QT_TRANSLATE_NOOP("retro::views::PromiseTreeModel", "Depth"),
                QT_TRANSLATE_NOOP("retro::views::PromiseTreeModel", "Promises above it that wait for it")},
    ColumnWords{QT_TRANSLATE_NOOP("retro::views::PromiseTreeModel", "Shape"),
                QT_TRANSLATE_NOOP("retro::views::PromiseTreeModel",
                                  "Shape of the value that the promise is for, or of the operand found")},
    ColumnWords{QT_TRANSLATE_NOOP("retro::views::PromiseTreeModel", "Bytes"),
                QT_TRANSLATE_NOOP("retro::views::PromiseTreeModel",
                                  "What it keeps in the frontier at this step: operands found and relevance")}};

/// More spans of changed rows than this are not told one by one: a tree view looks through all its rows for each.
constexpr std::size_t kMostTold = 200;

bool isFigure(int column)
{
    return column != PromiseTreeModel::NameColumn && column != PromiseTreeModel::StateColumn &&
           column != PromiseTreeModel::ShapeColumn;
}

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

std::int64_t PromiseTreeModel::bytesOf(base::PromiseId promise) const
{
    const bool isOfState = m_model.hasRun() && m_model.sharedRun() == m_run;
    const bool isRaised = isOfState && promise.index() < m_model.state().promises.size();
    return isRaised ? heldBytes(*m_run, m_model.state().promises[promise.index()]) : 0;
}

void PromiseTreeModel::setPosition(std::uint64_t position)
{
    if (position != m_position) {
        notifyChanges(std::exchange(m_position, position));
    }
}

bool PromiseTreeModel::looksDifferent(const PromiseRow& row, std::uint64_t before) const
{
    return m_forest->stateOf(row, before) != m_forest->stateOf(row, m_position);
}

void PromiseTreeModel::addChanges(const Siblings& rows, std::uint64_t before, std::vector<Span>& spans) const
{
    const auto isDifferent = [&](const std::unique_ptr<PromiseRow>& row) { return looksDifferent(*row, before); };
    auto first = std::find_if(rows.begin(), rows.end(), isDifferent);
    while (first != rows.end() && spans.size() <= kMostTold) {
        const auto end = std::find_if_not(first, rows.end(), isDifferent);
        spans.push_back({first->get(), std::prev(end)->get()});
        first = std::find_if(end, rows.end(), isDifferent);
    }
}

void PromiseTreeModel::tell(const Span& span)
{
    // Name and state stand for the row: a tree view works out where every cell lies that it hears of.
    emit dataChanged(createIndex(span.first->position, 0, span.first),
                     createIndex(span.last->position, StateColumn, span.last));
}

void PromiseTreeModel::notifyChanges(std::uint64_t before)
{
    std::vector<Span> spans;
    std::vector<const Siblings*> open{&m_forest->roots()};
    while (!open.empty() && spans.size() <= kMostTold) {
        const Siblings& rows = *open.back();
        open.pop_back();
        addChanges(rows, before, spans);
        for (const auto& row : rows) {
            if (!row->children.empty()) {
                open.push_back(&row->children);
            }
        }
    }
    if (spans.size() > kMostTold) {
        spans = {{m_forest->roots().front().get(), m_forest->roots().back().get()}};
    }
    for (const Span& span : spans) {
        tell(span);
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

auto PromiseTreeModel::childrenOf(const QModelIndex& parent) const -> const Siblings&
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

QString PromiseTreeModel::layerText(const LayerCounts& counts)
{
    if (counts.waiting > 0) {
        return tr("%1 wait").arg(counts.waiting);
    }
    return counts.fulfilled > 0 ? tr("%1 fulfilled").arg(counts.fulfilled) : wordOf(PromiseRowState::NotYet);
}

QString PromiseTreeModel::idText(const PromiseRow& row) const
{
    if (row.layer) {
        return QString::fromStdString(m_forest->layers()[*row.layer].name);
    }
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
    if (row.layer) {
        const std::size_t count = m_forest->layers()[*row.layer].promises.size();
        return count == 1 ? tr("1 promise") : tr("%1 promises").arg(count);
    }
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

QString PromiseTreeModel::ageText(const PromiseRow& row) const
{
    const std::optional<PromiseAge> age = ageOf(*m_forest, row, m_position);
    return age ? countText(age->visits(*m_run)) : QString();
}

QString PromiseTreeModel::bytesText(const PromiseRow& row) const
{
    std::int64_t bytes = 0;
    if (row.layer) {
        for (const std::uint32_t promise : m_forest->layers()[*row.layer].promises) {
            bytes += bytesOf(base::PromiseId(promise));
        }
    } else if (row.isPromise) {
        bytes = bytesOf(row.promise);
    } else if (m_forest->stateOf(row, m_position) == PromiseRowState::Found &&
               m_forest->stateOf(*row.parent, m_position) == PromiseRowState::Waits) {
        const BranchFacts& branch = *m_forest->branchOf(row);
        const bool isHeld = branch.searchEnd.isValid() && branch.argument.isValid() &&
                            branch.argument.index() < m_run->handles.size(); // a constant is not
        bytes = isHeld ? m_run->handles[branch.argument.index()].bytes : 0;
    }
    return bytes > 0 ? views::bytesText(bytes) : QString();
}

QString PromiseTreeModel::cellText(const PromiseRow& row, int column) const
{
    switch (column) {
    case NameColumn:
        return QStringLiteral("%1 %2").arg(idText(row), placeText(row)).trimmed();
    case StateColumn:
        return row.layer ? layerText(m_forest->countsOf(row, m_position)) : wordOf(m_forest->stateOf(row, m_position));
    case OpenedColumn: {
        const std::optional<PromiseAge> age = ageOf(*m_forest, row, m_position);
        return age ? countText(std::int64_t{m_run->visitOf(age->from)} + 1) : QString();
    }
    case AgeColumn:
        return ageText(row);
    case DepthColumn:
        return row.isPromise ? QString::number(m_forest->promises()[row.promise.index()].depth) : QString();
    case ShapeColumn:
        return shapeText(*m_run, *m_forest, row, m_position);
    default:
        return bytesText(row);
    }
}

QString PromiseTreeModel::spokenText(const PromiseRow& row, int column) const
{
    const QString text = cellText(row, column);
    return column == NameColumn || column == StateColumn || text.isEmpty()
               ? text
               : QStringLiteral("%1 %2").arg(tr(kColumns[static_cast<std::size_t>(column)].title), text);
}

QString PromiseTreeModel::ageTip(const PromiseAge& age) const
{
    const auto visitOf = [&](std::uint64_t step) { return countText(std::int64_t{m_run->visitOf(step)} + 1); };
    const QString spans = tr("%1 visits, %2 events")
                              .arg(countText(age.visits(*m_run)), countText(static_cast<std::int64_t>(age.events())));
    return age.isAnswered ? tr("Visits %1 – %2: %3").arg(visitOf(age.from), visitOf(age.to), spans)
                          : tr("Since visit %1: %2").arg(visitOf(age.from), spans);
}

QString PromiseTreeModel::tipText(const PromiseRow& row) const
{
    QStringList lines;
    if (row.layer) {
        const LayerCounts counts = m_forest->countsOf(row, m_position);
        lines.append(tr("Promises that start in %1: %2, of which %3 wait and %4 are fulfilled")
                         .arg(idText(row))
                         .arg(counts.all)
                         .arg(counts.waiting)
                         .arg(counts.fulfilled));
    } else if (row.isPromise) {
        const PromiseFacts& facts = m_forest->promises()[row.promise.index()];
        const QString kind = QString::fromUtf8(event::nameOf(facts.kind).data());
        lines.append(tr("Promise P%1 (%2) of %3").arg(row.promise.value).arg(kind, label(facts.start)));
    } else if (const BranchFacts* branch = m_forest->branchOf(row); branch != nullptr && branch->searchEnd.isValid()) {
        lines.append(tr("The search ended at %1").arg(label(branch->searchEnd)));
    }
    if (const std::optional<PromiseAge> age = ageOf(*m_forest, row, m_position)) {
        lines.append(ageTip(*age));
    }
    for (const int column : {DepthColumn, ShapeColumn, BytesColumn}) {
        lines.append(spokenText(row, column));
    }
    if (m_forest->isStuck(row, m_position)) {
        lines.append(tr("Never answered in this run"));
    }
    lines.removeAll(QString());
    return lines.join(QLatin1Char('\n'));
}

QVariant PromiseTreeModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid()) {
        return {};
    }
    const PromiseRow& row = *rowAt(index);
    switch (role) {
    case Qt::DisplayRole:
        return cellText(row, index.column());
    case Qt::AccessibleTextRole:
        return spokenText(row, index.column());
    case Qt::ToolTipRole:
        return tipText(row);
    case Qt::TextAlignmentRole:
        return isFigure(index.column()) ? QVariant::fromValue(int(Qt::AlignRight | Qt::AlignVCenter)) : QVariant();
    case StateRole:
        return static_cast<int>(m_forest->stateOf(row, m_position));
    case IdRole:
        return idText(row);
    case PlaceRole:
        return placeText(row);
    case IsBoldRole:
        return row.layer.has_value() || row.isPromise;
    default:
        return {};
    }
}

QVariant PromiseTreeModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || section < 0 || section >= ColumnCount) {
        return {};
    }
    const ColumnWords& words = kColumns[static_cast<std::size_t>(section)];
    switch (role) {
    case Qt::DisplayRole:
        return tr(words.title);
    case Qt::ToolTipRole:
        return tr(words.tip);
    case Qt::TextAlignmentRole:
        return int(isFigure(section) ? Qt::AlignRight | Qt::AlignVCenter : Qt::AlignLeft | Qt::AlignVCenter);
    default:
        return {};
    }
}

} // namespace retro::views

#include "moc_promisetreemodel.cpp"
