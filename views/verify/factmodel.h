// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/verify/factsheet.h"

#include <QAbstractTableModel>

namespace retro::views
{

/// A page of the verification view as a table.
class FactModel final : public QAbstractTableModel
{
    Q_OBJECT

public:
    using QAbstractTableModel::QAbstractTableModel;

    /// Where the columns and the number of rows stay, only what stands in them changes, and what is current stays so.
    void setSheet(FactSheet sheet);
    [[nodiscard]] const FactSheet& sheet() const { return m_sheet; }
    [[nodiscard]] const FactRow& at(int row) const { return m_sheet.rows[static_cast<std::size_t>(row)]; }

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    FactSheet m_sheet;
};

} // namespace retro::views
