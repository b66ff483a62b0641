// SPDX-License-Identifier: Apache-2.0
#include "views/ledger/ledgertablemodel.h"

#include "views/common/numbertext.h"
#include "views/common/paint/theme.h"
#include "views/ledger/ledgerfigures.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace retro::views
{

namespace
{

constexpr double kTolerance = 1e-4; // of what arrived: more than that unexplained is an alarm

double numberOf(const LedgerRow& row, int column)
{
    switch (column) {
    case LedgerTableModel::ArrivedColumn:
        return row.arrived;
    case LedgerTableModel::HandedOnColumn:
        return row.handedOn;
    case LedgerTableModel::LostColumn:
        return row.arrived - row.handedOn;
    default:
        return row.unexplained;
    }
}

QString causeOf(const LedgerRow& row)
{
    const auto cause = row.largestCause();
    return cause ? QString::fromUtf8(event::nameOf(*cause).data()) : QString();
}

/// Nothing but the last digits of sums in double.
bool isRounding(const LedgerRow& row)
{
    constexpr double kDigits = 1e-12;
    return std::abs(row.unexplained) <= kDigits * std::max(std::abs(row.arrived), std::abs(row.handedOn));
}

bool isViolation(const LedgerRow& row)
{
    return !(std::abs(row.unexplained) <= kTolerance * std::max(std::abs(row.arrived), std::abs(row.handedOn)));
}

} // namespace

LedgerTableModel::LedgerTableModel(QObject* parent)
    : ColumnTable({{tr("Where")},
                   {tr("What")},
                   {tr("Arrived"), Cells::SmallFigures},
                   {tr("Handed on"), Cells::SmallFigures},
                   {tr("Lost"), Cells::SmallFigures},
                   {tr("Mostly")},
                   {tr("Unexplained"), Cells::SmallFigures}},
                  parent)
{}

void LedgerTableModel::setRows(std::vector<LedgerRow> rows)
{
    beginResetModel();
    m_rows = std::move(rows);
    m_order.resize(m_rows.size());
    std::iota(m_order.begin(), m_order.end(), std::size_t{0});
    endResetModel();
}

void LedgerTableModel::setBooked(std::uint64_t rows)
{
    if (rows != m_booked) {
        m_booked = rows;
        cellsChanged(0, -1, {Qt::ForegroundRole});
    }
}

int LedgerTableModel::rowOf(base::NodeId node) const
{
    for (std::size_t i = 0; node.isValid() && i < m_order.size(); ++i) {
        if (m_rows[m_order[i]].node == node) {
            return static_cast<int>(i);
        }
    }
    return -1;
}

QString LedgerTableModel::textOf(int row, int column) const { return cellOf(rowAt(row), column); }

QString LedgerTableModel::cellOf(const LedgerRow& row, int column)
{
    switch (column) {
    case NameColumn:
        return row.name;
    case DetailColumn:
        return row.detail;
    case CauseColumn:
        return causeOf(row);
    case UnexplainedColumn:
        return isRounding(row) ? QStringLiteral("0") : valueText(row.unexplained, 2);
    default:
        return valueText(numberOf(row, column));
    }
}

QVariant LedgerTableModel::colorOf(const LedgerRow& row, int column) const
{
    if (column == UnexplainedColumn && isViolation(row)) {
        return theme()[Role::AlarmText];
    }
    return theme()[row.firstRow < m_booked ? Role::Text : Role::Text3];
}

int LedgerTableModel::rows() const { return static_cast<int>(m_rows.size()); }

QVariant LedgerTableModel::detailOf(int row, int column, int role) const
{
    return role == Qt::ForegroundRole ? colorOf(rowAt(row), column) : QVariant();
}

void LedgerTableModel::sort(int column, Qt::SortOrder order)
{
    beginResetModel();
    std::iota(m_order.begin(), m_order.end(), std::size_t{0});
    if (column >= 0) {
        const auto isBefore = [&](std::size_t a, std::size_t b) {
            return isFigure(column) ? std::abs(numberOf(m_rows[a], column)) < std::abs(numberOf(m_rows[b], column))
                                    : cellOf(m_rows[a], column).compare(cellOf(m_rows[b], column)) < 0;
        };
        std::stable_sort(m_order.begin(), m_order.end(), [&](std::size_t a, std::size_t b) {
            return order == Qt::AscendingOrder ? isBefore(a, b) : isBefore(b, a);
        });
    }
    endResetModel();
}

} // namespace retro::views

#include "moc_ledgertablemodel.cpp"
