// SPDX-License-Identifier: Apache-2.0
#include "views/ledger/ledgertablemodel.h"

#include "views/common/numbertext.h"
#include "views/common/paint/theme.h"
#include "views/ledger/ledgerfigures.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace retro::views
{

namespace
{

constexpr double kTolerance = 1e-4; // of what arrived: more than that unexplained is an alarm

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

QString unexplainedText(const LedgerRow& row)
{
    return isRounding(row) ? QStringLiteral("0") : valueText(row.unexplained, 2);
}

/// A number of a row, which sorts by its magnitude.
template <class Number>
LedgerTableModel::Field amount(const QString& title, Number number)
{
    return {title, [number](const LedgerRow& row) { return valueText(std::invoke(number, row)); },
            ColumnTable::Cells::SmallFigures,
            [number](const LedgerRow& row) { return std::abs(std::invoke(number, row)); }};
}

} // namespace

LedgerTableModel::LedgerTableModel(QObject* parent)
    : RecordTable({{tr("Where"), &LedgerRow::name},
                   {tr("What"), &LedgerRow::detail},
                   amount(tr("Arrived"), &LedgerRow::arrived),
                   amount(tr("Handed on"), &LedgerRow::handedOn),
                   amount(tr("Lost"), [](const LedgerRow& row) { return row.arrived - row.handedOn; }),
                   {tr("Mostly"), causeOf},
                   {tr("Unexplained"), unexplainedText, Cells::SmallFigures,
                    [](const LedgerRow& row) { return std::abs(row.unexplained); }}},
                  parent)
{}

void LedgerTableModel::setBooked(std::uint64_t rows)
{
    if (rows != m_booked) {
        m_booked = rows;
        cellsChanged(0, -1, {Qt::ForegroundRole});
    }
}

QVariant LedgerTableModel::colorOf(const LedgerRow& row, int column) const
{
    if (column == UnexplainedColumn && isViolation(row)) {
        return theme()[Role::AlarmText];
    }
    return theme()[row.firstRow < m_booked ? Role::Text : Role::Text3];
}

QVariant LedgerTableModel::detailOf(int row, int column, int role) const
{
    return role == Qt::ForegroundRole ? colorOf(at(row), column) : RecordTable::detailOf(row, column, role);
}

} // namespace retro::views

#include "moc_ledgertablemodel.cpp"
