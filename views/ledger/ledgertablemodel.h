// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/ledger/ledgerrows.h"

#include "views/common/widgets/columntable.h"

namespace retro::views
{

/// The books as a table, the worst first; a click on a header sorts otherwise. Rows that are not booked yet at the
/// cursor are told apart.
class LedgerTableModel final : public ColumnTable
{
    Q_OBJECT

public:
    enum Column {
        NameColumn,
        DetailColumn,
        ArrivedColumn,
        HandedOnColumn,
        LostColumn,
        CauseColumn,
        UnexplainedColumn,
        ColumnCount
    };

    explicit LedgerTableModel(QObject* parent = nullptr);

    void setRows(std::vector<LedgerRow> rows);
    /// How many rows of the ledger are booked at the cursor.
    void setBooked(std::uint64_t rows);
    [[nodiscard]] const LedgerRow& rowAt(int row) const { return m_rows[m_order[static_cast<std::size_t>(row)]]; }
    /// Row of a node; −1 when it has none.
    [[nodiscard]] int rowOf(base::NodeId node) const;
    /// By magnitude for numbers, by letters for names; a column below 0 = the worst first.
    void sort(int column, Qt::SortOrder order) override;

private:
    [[nodiscard]] int rows() const override;
    [[nodiscard]] QString textOf(int row, int column) const override;
    [[nodiscard]] QVariant detailOf(int row, int column, int role) const override;
    [[nodiscard]] static QString cellOf(const LedgerRow& row, int column);
    [[nodiscard]] QVariant colorOf(const LedgerRow& row, int column) const;

    std::vector<LedgerRow> m_rows;
    std::vector<std::size_t> m_order;
    std::uint64_t m_booked = 0;
};

} // namespace retro::views
