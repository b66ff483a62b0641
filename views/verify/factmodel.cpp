// SPDX-License-Identifier: Apache-2.0
#include "views/verify/factmodel.h"

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

} // namespace

void FactModel::setSheet(FactSheet sheet)
{
    if (isAlike(m_sheet, sheet)) {
        m_sheet = std::move(sheet);
        cellsChanged();
        return;
    }
    beginResetModel();
    m_sheet = std::move(sheet);
    std::vector<Heading> columns;
    for (const FactColumn& column : m_sheet.columns) {
        columns.push_back({column.title, column.isNumber ? Cells::Figures : Cells::Words});
    }
    setColumns(std::move(columns));
    endResetModel();
}

QVariant FactModel::detailOf(int row, int column, int role) const
{
    switch (role) {
    case Qt::ToolTipRole:
        return at(row).tip.isEmpty() ? QVariant() : QVariant(at(row).tip);
    case Qt::ForegroundRole:
        return QBrush(theme()[at(row).role]);
    case Qt::FontRole:
        return cellFont(isFigure(column), at(row).isStrong);
    default:
        return {};
    }
}

} // namespace retro::views

#include "moc_factmodel.cpp"
