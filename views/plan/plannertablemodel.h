// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/plan/bytescale.h"
#include "views/plan/shownplan.h"

#include "views/common/widgets/recordtable.h"

namespace retro::views
{

/// What every planner reached for the budget of the plan on screen: the cheapest that fits first, then what does not
/// fit, then what was refused.
class PlannerTableModel final : public RecordTable<schedule::Attempt>
{
    Q_OBJECT

public:
    enum Column { NameColumn, PeakColumn, WorkColumn, ToBestColumn, ColumnCount };

    explicit PlannerTableModel(QObject* parent = nullptr);

    void setPlan(ShownPlanPointer plan, std::vector<schedule::Attempt> attempts);
    /// Row of the plan on screen; −1 when it is not among them.
    [[nodiscard]] int chosenRow() const;

private:
    [[nodiscard]] QVariant detailOf(int row, int column, int role) const override;
    [[nodiscard]] QString workText(const schedule::Attempt& one) const;
    [[nodiscard]] QString tipOf(const schedule::Attempt& one) const;

    ShownPlanPointer m_plan;
    ByteScale m_scale;
    double m_best = 0; ///< least cost that fits
};

} // namespace retro::views
