// SPDX-License-Identifier: Apache-2.0
#include "views/common/widgets/columntable.h"

#include "views/common/paint/fonts.h"
#include "views/common/widgets/tablecell.h"

namespace retro::views
{

ColumnTable::ColumnTable(std::vector<Heading> columns, QObject* parent)
    : QAbstractTableModel(parent), m_columns(std::move(columns))
{}

int ColumnTable::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : rows(); }

int ColumnTable::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_columns.size());
}

QVariant ColumnTable::detailOf(int /*row*/, int /*column*/, int /*role*/) const { return {}; }

QVariant ColumnTable::tipOfColumn(int /*column*/) const { return {}; }

QVariant ColumnTable::data(const QModelIndex& index, int role) const
{
    if (!index.isValid() || index.row() >= rowCount() || index.column() >= columnCount()) {
        return {};
    }
    if (role == Qt::DisplayRole) {
        return textOf(index.row(), index.column());
    }
    if (QVariant detail = detailOf(index.row(), index.column(), role); detail.isValid()) {
        return detail;
    }
    switch (role) {
    case Qt::ToolTipRole:
        return textOf(index.row(), index.column());
    case Qt::TextAlignmentRole:
        return cellAlignment(isFigure(index.column()));
    case Qt::FontRole:
        return headingOf(index.column()).cells == Cells::SmallFigures ? fonts::smallNumbers()
                                                                      : cellFont(isFigure(index.column()));
    default:
        return {};
    }
}

QVariant ColumnTable::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) {
        return {};
    }
    switch (role) {
    case Qt::DisplayRole:
        return headingOf(section).title;
    case Qt::TextAlignmentRole:
        return cellAlignment(isFigure(section));
    case Qt::ToolTipRole:
        return tipOfColumn(section);
    default:
        return {};
    }
}

void ColumnTable::cellsChanged(int first, int last, const QList<int>& roles)
{
    if (rowCount() > 0) {
        emit dataChanged(index(0, first), index(rowCount() - 1, last < 0 ? columnCount() - 1 : last), roles);
    }
}

} // namespace retro::views

#include "moc_columntable.cpp"
