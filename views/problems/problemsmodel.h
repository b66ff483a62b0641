// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractTableModel>

#include "views/common/viewcontext.h"
#include "views/problems/problemlist.h"

namespace retro::views
{

/// The list as a table: what, where, what to do. Errors first, each group in its order. GUI thread.
class ProblemsModel final : public QAbstractTableModel
{
    Q_OBJECT

public:
    enum Column { What, Where, Remedy, ColumnCount };

    ProblemsModel(const ProblemList& list, const RunModel& run, QObject* parent = nullptr);

    [[nodiscard]] const Problem& problemAt(int row) const { return m_rows[static_cast<std::size_t>(row)]; }

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    void take();
    [[nodiscard]] QString textOf(const Problem& problem, int column) const;

    const ProblemList& m_list;
    const RunModel& m_run;
    std::vector<Problem> m_rows;
};

} // namespace retro::views
