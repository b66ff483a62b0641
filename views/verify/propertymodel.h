// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/run/verification.h"

#include "views/common/widgets/columntable.h"

namespace retro::views
{

/// The properties of a verification as rows of a table, in the order in which they come.
class PropertyModel final : public ColumnTable
{
    Q_OBJECT

public:
    enum Column { VerdictColumn, IdColumn, WordsColumn, DetailColumn, ColumnCount };

    explicit PropertyModel(QObject* parent = nullptr);

    /// Null empties it.
    void setVerification(VerificationPointer verification);
    [[nodiscard]] const CheckedProperty& at(int row) const;

private:
    [[nodiscard]] int rows() const override;
    [[nodiscard]] QString textOf(int row, int column) const override;
    [[nodiscard]] QVariant detailOf(int row, int column, int role) const override;
    VerificationPointer m_verification;
};

} // namespace retro::views
