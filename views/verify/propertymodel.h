// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/run/verification.h"

#include <QAbstractTableModel>

namespace retro::views
{

/// The properties of a verification as rows of a table, in the order in which they come.
class PropertyModel final : public QAbstractTableModel
{
    Q_OBJECT

public:
    enum Column { VerdictColumn, IdColumn, WordsColumn, DetailColumn, ColumnCount };

    using QAbstractTableModel::QAbstractTableModel;

    /// Null empties it.
    void setVerification(VerificationPointer verification);
    [[nodiscard]] const CheckedProperty& at(int row) const;

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    [[nodiscard]] static QString textOf(const CheckedProperty& property, int column);

    VerificationPointer m_verification;
};

} // namespace retro::views
