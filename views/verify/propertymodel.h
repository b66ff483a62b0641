// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/run/verification.h"

#include "views/common/widgets/recordtable.h"

namespace retro::views
{

/// The properties of a verification as rows of a table, in the order in which they come.
class PropertyModel final : public RecordTable<CheckedProperty>
{
    Q_OBJECT

public:
    enum Column { VerdictColumn, IdColumn, WordsColumn, DetailColumn, ColumnCount };

    explicit PropertyModel(QObject* parent = nullptr);

    /// Null empties it.
    void setVerification(const VerificationPointer& verification);

private:
    [[nodiscard]] QVariant detailOf(int row, int column, int role) const override;
};

} // namespace retro::views
