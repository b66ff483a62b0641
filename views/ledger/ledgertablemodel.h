// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/ledger/ledgerrows.h"

#include "views/common/widgets/recordtable.h"

namespace retro::views
{

/// The books as a table, the worst first; a click on a header sorts otherwise. Rows that are not booked yet at the
/// cursor are told apart.
class LedgerTableModel final : public RecordTable<LedgerRow>
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

    using RecordTable::setRecords;
    /// How many rows of the ledger are booked at the cursor.
    void setBooked(std::uint64_t rows);
    /// Row of a node; −1 when it has none.
    [[nodiscard]] int rowOf(base::NodeId node) const { return node.isValid() ? rowWith(&LedgerRow::node, node) : -1; }

private:
    [[nodiscard]] QVariant detailOf(int row, int column, int role) const override;
    [[nodiscard]] QVariant colorOf(const LedgerRow& row, int column) const;

    std::uint64_t m_booked = 0;
};

} // namespace retro::views
