// SPDX-License-Identifier: Apache-2.0
#include "views/verify/factmodel.h"

#include "views/common/paint/fonts.h"
#include "views/common/widgets/tablecell.h"

#include <QBrush>

#include <algorithm>

namespace retro::views
{

namespace
{

bool isAlike(const FactSheet& a, const FactSheet& b)
{
    return a.rows.size() == b.rows.size() &&
           std::ranges::equal(a.columns, b.columns, {}, &FactColumn::title, &FactColumn::title);
}

QString tipOf(const FactRow& row, int column) { return row.tip.isEmpty() ? row.cells.value(column) : row.tip; }

} // namespace

void FactModel::setSheet(FactSheet sheet)
{
    if (isAlike(m_sheet, sheet)) {
        m_sheet = std::move(sheet);
        if (!m_sheet.rows.empty()) {
            emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
        }
        return;
    }
    beginResetModel();
    m_sheet = std::move(sheet);
    endResetModel();
}

int FactModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_sheet.rows.size());
}

int FactModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_sheet.columns.size());
}

QVariant FactModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid() || index.row() >= rowCount()) {
        return {};
    }
    const FactRow& row = at(index.row());
    const bool isNumber = m_sheet.columns[static_cast<std::size_t>(index.column())].isNumber;
    switch (role) {
    case Qt::DisplayRole:
        return row.cells.value(index.column());
    case Qt::ToolTipRole:
        return tipOf(row, index.column());
    case Qt::ForegroundRole:
        return QBrush(theme()[row.role]);
    case Qt::TextAlignmentRole:
        return cellAlignment(isNumber);
    case Qt::FontRole:
        return cellFont(isNumber, row.isStrong);
    default:
        return {};
    }
}

QVariant FactModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) {
        return {};
    }
    const FactColumn& column = m_sheet.columns[static_cast<std::size_t>(section)];
    if (role == Qt::TextAlignmentRole) {
        return cellAlignment(column.isNumber);
    }
    return role == Qt::DisplayRole ? QVariant(column.title) : QVariant();
}

} // namespace retro::views

#include "moc_factmodel.cpp"
