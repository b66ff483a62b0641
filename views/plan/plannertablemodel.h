// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/plan/bytescale.h"
#include "views/plan/shownplan.h"

#include "views/common/widgets/columntable.h"

namespace retro::views
{

/// What every planner reached for the budget of the plan on screen: the cheapest that fits first, then what does not
/// fit, then what was refused.
class PlannerTableModel final : public ColumnTable
{
    Q_OBJECT

public:
    enum Column { NameColumn, PeakColumn, WorkColumn, ToBestColumn, ColumnCount };

    explicit PlannerTableModel(QObject* parent = nullptr);

    void setPlan(ShownPlanPointer plan, std::vector<schedule::Attempt> attempts);
    [[nodiscard]] const schedule::Attempt& at(int row) const { return m_tries[static_cast<std::size_t>(row)]; }
    /// Row of the plan on screen; −1 when it is not among them.
    [[nodiscard]] int chosenRow() const;

private:
    [[nodiscard]] int rows() const override;
    [[nodiscard]] QString textOf(int row, int column) const override;
    [[nodiscard]] QVariant detailOf(int row, int column, int role) const override;
    [[nodiscard]] QString tipOf(const schedule::Attempt& one) const;

    ShownPlanPointer m_plan;
    std::vector<schedule::Attempt> m_tries;
    ByteScale m_scale;
    double m_best = 0; ///< least cost that fits
};

} // namespace retro::views
