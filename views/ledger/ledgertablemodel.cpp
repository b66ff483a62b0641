// SPDX-License-Identifier: Apache-2.0
#include "views/ledger/ledgertablemodel.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/tablecell.h"
#include "views/ledger/ledgerfigures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace retro::views
{

namespace
{

constexpr double kTolerance = 1e-4; // of what arrived: more than that unexplained is an alarm

constexpr std::array<const char*, LedgerTableModel::ColumnCount> kTitles{
    QT_TRANSLATE_NOOP("retro::views::LedgerTableModel", "Where"),
    QT_TRANSLATE_NOOP("retro::views::LedgerTableModel", "What"),
    QT_TRANSLATE_NOOP("retro::views::LedgerTableModel", "Arrived"),
    QT_TRANSLATE_NOOP("retro::views::LedgerTableModel", "Handed on"),
    QT_TRANSLATE_NOOP("retro::views::LedgerTableModel", "Lost"),
    QT_TRANSLATE_NOOP("retro::views::LedgerTableModel", "Mostly"),
    QT_TRANSLATE_NOOP("retro::views::LedgerTableModel", "Unexplained")};

bool isNumber(int column)
{
    return column != LedgerTableModel::NameColumn && column != LedgerTableModel::DetailColumn &&
           column != LedgerTableModel::CauseColumn;
}

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
        if (!m_rows.empty()) {
            emit dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1), {Qt::ForegroundRole});
        }
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

int LedgerTableModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int LedgerTableModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QString LedgerTableModel::textOf(const LedgerRow& row, int column) const
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

QVariant LedgerTableModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid() || index.row() >= rowCount()) {
        return {};
    }
    const LedgerRow& row = rowAt(index.row());
    switch (role) {
    case Qt::DisplayRole:
    case Qt::ToolTipRole:
        return textOf(row, index.column());
    case Qt::ForegroundRole:
        return colorOf(row, index.column());
    case Qt::FontRole:
        return isNumber(index.column()) ? fonts::smallNumbers() : fonts::label();
    case Qt::TextAlignmentRole:
        return cellAlignment(isNumber(index.column()));
    default:
        return {};
    }
}

QVariant LedgerTableModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || section < 0 || section >= ColumnCount) {
        return {};
    }
    if (role == Qt::TextAlignmentRole) {
        return cellAlignment(isNumber(section));
    }
    return role == Qt::DisplayRole ? QVariant(tr(kTitles[static_cast<std::size_t>(section)])) : QVariant();
}

void LedgerTableModel::sort(int column, Qt::SortOrder order)
{
    beginResetModel();
    std::iota(m_order.begin(), m_order.end(), std::size_t{0});
    if (column >= 0) {
        const auto isBefore = [&](std::size_t a, std::size_t b) {
            return isNumber(column) ? std::abs(numberOf(m_rows[a], column)) < std::abs(numberOf(m_rows[b], column))
                                    : textOf(m_rows[a], column).compare(textOf(m_rows[b], column)) < 0;
        };
        std::stable_sort(m_order.begin(), m_order.end(), [&](std::size_t a, std::size_t b) {
            return order == Qt::AscendingOrder ? isBefore(a, b) : isBefore(b, a);
        });
    }
    endResetModel();
}

} // namespace retro::views

#include "moc_ledgertablemodel.cpp"
