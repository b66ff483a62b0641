// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/verify/factsheet.h"

#include "views/common/widgets/columntable.h"

namespace retro::views
{

/// A page of the verification view as a table.
class FactModel final : public ColumnTable
{
    Q_OBJECT

public:
    explicit FactModel(QObject* parent = nullptr) : ColumnTable({}, parent) {}

    /// Where the columns and the number of rows stay, only what stands in them changes, and what is current stays so.
    void setSheet(FactSheet sheet);
    [[nodiscard]] const FactSheet& sheet() const { return m_sheet; }
    [[nodiscard]] const FactRow& at(int row) const { return m_sheet.rows[static_cast<std::size_t>(row)]; }

private:
    [[nodiscard]] int rows() const override { return static_cast<int>(m_sheet.rows.size()); }
    [[nodiscard]] QString textOf(int row, int column) const override { return at(row).cells.value(column); }
    [[nodiscard]] QVariant detailOf(int row, int column, int role) const override;

    FactSheet m_sheet;
};

} // namespace retro::views
