// SPDX-License-Identifier: Apache-2.0
#include "views/verify/storagemodel.h"

#include "views/common/numbertext.h"
#include "views/common/paint/theme.h"

#include <QBrush>
#include <QCoreApplication>

#include <array>
#include <map>

namespace retro::views
{

QString wordOf(trace::ForwardedForm form)
{
    constexpr std::array kWords{QT_TRANSLATE_NOOP("retro::views::StorageModel", "stored"),
                                QT_TRANSLATE_NOOP("retro::views::StorageModel", "rebuilt"),
                                QT_TRANSLATE_NOOP("retro::views::StorageModel", "alias"),
                                QT_TRANSLATE_NOOP("retro::views::StorageModel", "packed")};
    return QCoreApplication::translate("retro::views::StorageModel", kWords[static_cast<std::size_t>(form)]);
}

StorageModel::StorageModel(QObject* parent)
    : ColumnTable({{tr("Tensor")},
                   {tr("Size"), Cells::Figures},
                   {tr("Cost"), Cells::Figures},
                   {tr("This run")},
                   {tr("Kept"), Cells::Figures},
                   {tr("Why")}},
                  parent)
{}

void StorageModel::setFacts(StorageFactsPointer facts)
{
    beginResetModel();
    m_facts = std::move(facts);
    setTitle(NameColumn, m_facts ? tr("Stored (☑)") : tr("Tensor"));
    m_rebuilt.clear();
    makeRows();
    endResetModel();
    emit choiceChanged();
}

void StorageModel::setForwarded(std::vector<ForwardedTensor> forwarded)
{
    if (forwarded.empty() && m_forwarded.empty()) {
        return;
    }
    beginResetModel();
    m_forwarded = std::move(forwarded);
    makeRows();
    endResetModel();
}

/// What can be marked, in its order, then what the run alone knows (checkpoints of loops).
void StorageModel::makeRows()
{
    m_rows.clear();
    std::map<base::ValueId, std::size_t> rowOf;
    for (std::size_t i = 0; m_facts && i < m_facts->tensors.size(); ++i) {
        rowOf[m_facts->tensors[i].value] = m_rows.size();
        m_rows.push_back({i, kNone});
    }
    for (std::size_t i = 0; i < m_forwarded.size(); ++i) {
        const auto at = rowOf.find(m_forwarded[i].what.value);
        if (at != rowOf.end()) {
            m_rows[at->second].forwarded = i;
        } else {
            m_rows.push_back({kNone, i});
        }
    }
}

void StorageModel::setRebuilt(std::set<std::uint32_t> rebuilt)
{
    m_rebuilt = std::move(rebuilt);
    cellsChanged(NameColumn, NameColumn, {Qt::CheckStateRole});
    emit choiceChanged();
}

const StorageTensor* StorageModel::tensorAt(int row) const
{
    const std::size_t at = m_rows[static_cast<std::size_t>(row)].tensor;
    return at == kNone ? nullptr : &m_facts->tensors[at];
}

const ForwardedTensor* StorageModel::forwardedAt(int row) const
{
    const std::size_t at = m_rows[static_cast<std::size_t>(row)].forwarded;
    return at == kNone ? nullptr : &m_forwarded[at];
}

base::NodeId StorageModel::nodeAt(int row) const
{
    const StorageTensor* tensor = tensorAt(row);
    return tensor != nullptr ? tensor->node : forwardedAt(row)->node;
}

QString StorageModel::nameAt(int row) const
{
    const StorageTensor* tensor = tensorAt(row);
    return tensor != nullptr ? tensor->name : forwardedAt(row)->name;
}

std::int64_t StorageModel::bytesAt(int row) const
{
    const StorageTensor* tensor = tensorAt(row);
    return tensor != nullptr ? tensor->bytes : forwardedAt(row)->what.bytes;
}

QString StorageModel::textOf(int row, int column) const
{
    const StorageTensor* tensor = tensorAt(row);
    const ForwardedTensor* run = forwardedAt(row);
    switch (column) {
    case NameColumn:
        return nameAt(row);
    case BytesColumn:
        return bytesText(bytesAt(row));
    case CostColumn:
        return tensor != nullptr ? valueText(tensor->cost, 3) : QString();
    case FormColumn:
        return run != nullptr ? wordOf(run->what.form) : QString();
    case KeptColumn:
        return run != nullptr ? bytesText(run->what.kept) : QString();
    default:
        return run != nullptr ? QString::fromStdString(run->what.reason) : QString();
    }
}

QString StorageModel::sentenceAt(int row) const
{
    const ForwardedTensor* run = forwardedAt(row);
    if (run == nullptr) {
        return {};
    }
    const QString reason = QString::fromStdString(run->what.reason);
    if (run->what.isFallback) {
        return tr("%1 is not as asked for: %2").arg(nameAt(row), reason);
    }
    return run->what.form == trace::ForwardedForm::Alias
               ? tr("%1 lies in the memory of %2").arg(nameAt(row), reason)
               : tr("%1 is %2: %3").arg(nameAt(row), wordOf(run->what.form), reason);
}

QString StorageModel::tipOf(int row) const
{
    QStringList lines;
    if (const StorageTensor* tensor = tensorAt(row)) {
        lines << (m_rebuilt.contains(tensor->id) ? tr("%1: rebuilt where the gradient reads it").arg(tensor->name)
                                                 : tr("%1: stored until the gradient has read it").arg(tensor->name));
    }
    if (const QString sentence = sentenceAt(row); !sentence.isEmpty()) {
        lines << tr("The run on screen: %1").arg(sentence);
    }
    return lines.join(QLatin1Char('\n'));
}

/// What is not as asked for stands out.
QVariant StorageModel::brushOf(int row, int column) const
{
    const ForwardedTensor* run = forwardedAt(row);
    const bool isOfRun = column >= FormColumn;
    return isOfRun && run != nullptr && run->what.isFallback ? QVariant(QBrush(theme()[Role::SearchText])) : QVariant();
}

QVariant StorageModel::markOf(int row, int column) const
{
    const StorageTensor* tensor = tensorAt(row);
    if (column != NameColumn || tensor == nullptr) {
        return {};
    }
    return m_rebuilt.contains(tensor->id) ? Qt::Unchecked : Qt::Checked;
}

QVariant StorageModel::detailOf(int row, int column, int role) const
{
    switch (role) {
    case Qt::CheckStateRole:
        return markOf(row, column);
    case Qt::ToolTipRole:
        return tipOf(row);
    case Qt::ForegroundRole:
        return brushOf(row, column);
    default:
        return {};
    }
}

bool StorageModel::setData(const QModelIndex& index, const QVariant& value, int role)
{
    if (!index.isValid() || role != Qt::CheckStateRole || !markOf(index.row(), index.column()).isValid()) {
        return false;
    }
    const std::uint32_t tensor = tensorAt(index.row())->id;
    if (value.toInt() == Qt::Checked) {
        m_rebuilt.erase(tensor);
    } else {
        m_rebuilt.insert(tensor);
    }
    emit dataChanged(index, index, {Qt::CheckStateRole, Qt::ToolTipRole});
    emit choiceChanged();
    return true;
}

Qt::ItemFlags StorageModel::flags(const QModelIndex& index) const
{
    const Qt::ItemFlags plain = QAbstractTableModel::flags(index);
    return index.isValid() && markOf(index.row(), index.column()).isValid() ? plain | Qt::ItemIsUserCheckable : plain;
}

QVariant StorageModel::tipOfColumn(int column) const
{
    if (column == KeptColumn) {
        return tr("What it took in memory between the passes of the run on screen");
    }
    if (column == NameColumn && m_facts) {
        return tr("Without a mark: rebuilt where the gradient reads it");
    }
    return column == CostColumn && m_facts ? QVariant(tr("Of computing it once, in %1").arg(m_facts->costUnit))
                                           : QVariant();
}

} // namespace retro::views

#include "moc_storagemodel.cpp"
