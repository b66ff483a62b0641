// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/diagnose/diagnosisstate.h"

#include <QAbstractTableModel>

#include <map>
#include <string_view>
#include <vector>

namespace retro::views
{

/// The statistic of every check that ran, beyond its limit or not, then the checks that could not run, with the reason.
class StatisticsModel final : public QAbstractTableModel
{
    Q_OBJECT

public:
    enum Column { CheckColumn, LargestColumn, LimitColumn, WhereColumn, WhatColumn, ColumnCount };

    using QAbstractTableModel::QAbstractTableModel;

    void setDiagnosis(DiagnosisPointer diagnosis);
    [[nodiscard]] const diagnosis::CheckRecord& at(int row) const { return *m_rows[static_cast<std::size_t>(row)]; }

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    [[nodiscard]] QString textOf(const diagnosis::CheckRecord& record, int column) const;
    [[nodiscard]] QString signOf(const diagnosis::CheckRecord& record) const;

    DiagnosisPointer m_diagnosis;
    std::vector<const diagnosis::CheckRecord*> m_rows;
    std::map<std::string_view, diagnosis::Level> m_levels; ///< worst finding of a check
};

} // namespace retro::views
