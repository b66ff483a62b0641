// SPDX-License-Identifier: Apache-2.0
#include "views/verify/storagemodel.h"

#include "views/common/fonts.h"
#include "views/common/numbertext.h"
#include "views/common/tablecell.h"

#include <array>

namespace retro::views
{

void StorageModel::setFacts(StorageFactsPointer facts)
{
    beginResetModel();
    m_facts = std::move(facts);
    m_rebuilt.clear();
    endResetModel();
    emit choiceChanged();
}

void StorageModel::setRebuilt(std::set<std::uint32_t> rebuilt)
{
    m_rebuilt = std::move(rebuilt);
    if (rowCount() > 0) {
        emit dataChanged(index(0, 0), index(rowCount() - 1, NameColumn), {Qt::CheckStateRole});
    }
    emit choiceChanged();
}

int StorageModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() || !m_facts ? 0 : static_cast<int>(m_facts->tensors.size());
}

int StorageModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QString StorageModel::textOf(const StorageTensor& tensor, int column)
{
    switch (column) {
    case NameColumn:
        return tensor.name;
    case BytesColumn:
        return bytesText(tensor.bytes);
    default:
        return valueText(tensor.cost, 3);
    }
}

QString StorageModel::tipOf(const StorageTensor& tensor) const
{
    return m_rebuilt.contains(tensor.id) ? tr("%1: rebuilt where the gradient reads it").arg(tensor.name)
                                         : tr("%1: stored until the gradient has read it").arg(tensor.name);
}

QVariant StorageModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid() || index.row() >= rowCount()) {
        return {};
    }
    const StorageTensor& tensor = at(index.row());
    const bool isName = index.column() == NameColumn;
    switch (role) {
    case Qt::DisplayRole:
        return textOf(tensor, index.column());
    case Qt::CheckStateRole:
        return isName ? QVariant(m_rebuilt.contains(tensor.id) ? Qt::Unchecked : Qt::Checked) : QVariant();
    case Qt::ToolTipRole:
        return tipOf(tensor);
    case Qt::TextAlignmentRole:
        return cellAlignment(!isName);
    case Qt::FontRole:
        return cellFont(!isName);
    default:
        return {};
    }
}

bool StorageModel::setData(const QModelIndex& index, const QVariant& value, int role)
{
    if (!index.isValid() || role != Qt::CheckStateRole || index.column() != NameColumn) {
        return false;
    }
    const std::uint32_t tensor = at(index.row()).id;
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
    return index.isValid() && index.column() == NameColumn ? plain | Qt::ItemIsUserCheckable : plain;
}

QVariant StorageModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    constexpr std::array kTitles{QT_TR_NOOP("Stored (☑), else rebuilt"), QT_TR_NOOP("Size"), QT_TR_NOOP("Cost")};
    if (orientation != Qt::Horizontal || section < 0 || section >= ColumnCount) {
        return {};
    }
    switch (role) {
    case Qt::TextAlignmentRole:
        return cellAlignment(section != NameColumn);
    case Qt::ToolTipRole:
        return section == CostColumn && m_facts ? QVariant(tr("Of computing it once, in %1").arg(m_facts->costUnit))
                                                : QVariant();
    case Qt::DisplayRole:
        return tr(kTitles[static_cast<std::size_t>(section)]);
    default:
        return {};
    }
}

} // namespace retro::views
