// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/plan/bytescale.h"
#include "views/plan/shownplan.h"

#include <QAbstractTableModel>

namespace retro::views
{

/// What every planner reached for the budget of the plan on screen: the cheapest that fits first, then what does not
/// fit, then what was refused.
class PlannerTableModel final : public QAbstractTableModel
{
    Q_OBJECT

public:
    enum Column { NameColumn, PeakColumn, WorkColumn, ToBestColumn, ColumnCount };

    using QAbstractTableModel::QAbstractTableModel;

    void setPlan(ShownPlanPointer plan, std::vector<schedule::Attempt> attempts);
    [[nodiscard]] const schedule::Attempt& at(int row) const { return m_tries[static_cast<std::size_t>(row)]; }
    /// Row of the plan on screen; −1 when it is not among them.
    [[nodiscard]] int chosenRow() const;

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    [[nodiscard]] QString textOf(const schedule::Attempt& one, int column) const;
    [[nodiscard]] QString tipOf(const schedule::Attempt& one) const;

    ShownPlanPointer m_plan;
    std::vector<schedule::Attempt> m_tries;
    ByteScale m_scale;
    double m_best = 0; ///< least cost that fits
};

} // namespace retro::views
