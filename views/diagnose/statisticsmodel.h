// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/diagnose/diagnosisstate.h"

#include "views/common/widgets/recordtable.h"

#include <map>
#include <string_view>

namespace retro::views
{

/// The statistic of every check that ran, beyond its limit or not, then the checks that could not run, with the reason.
class StatisticsModel final : public RecordTable<const diagnosis::CheckRecord*>
{
    Q_OBJECT

public:
    enum Column { CheckColumn, LargestColumn, LimitColumn, WhereColumn, WhatColumn, ColumnCount };

    explicit StatisticsModel(QObject* parent = nullptr);

    void setDiagnosis(DiagnosisPointer diagnosis);

private:
    using Check = const diagnosis::CheckRecord*;
    [[nodiscard]] static QString whereText(Check one);
    [[nodiscard]] QVariant detailOf(int row, int column, int role) const override;
    [[nodiscard]] QString signOf(const diagnosis::CheckRecord& record) const;

    DiagnosisPointer m_diagnosis;
    std::map<std::string_view, diagnosis::Level> m_levels; ///< worst finding of a check
};

} // namespace retro::views
