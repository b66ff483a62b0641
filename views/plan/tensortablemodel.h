// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/plan/bytescale.h"
#include "views/plan/planmodel.h"

#include "views/common/widgets/recordtable.h"

namespace retro::views
{

/// The tensors of a plan: size, when they are in memory, what is done with them and why. A filter and the order of the
/// rows are the table's own. Its records are rows of the matrix.
class TensorTableModel final : public RecordTable<std::uint32_t>
{
    Q_OBJECT

public:
    enum Column {
        NameColumn,
        SizeColumn,
        AliveColumn,
        DecisionColumn,
        RebuiltColumn,
        CostColumn,
        ReasonColumn,
        ColumnCount
    };

    explicit TensorTableModel(PlanModel& plan, QObject* parent = nullptr);

    /// Shows the plan on screen.
    void takePlan();
    /// Only tensors whose name holds this, whatever the case; empty = all.
    void setFilter(const QString& text);
    [[nodiscard]] std::size_t allRows() const { return m_shown ? m_shown->matrix.rows().size() : 0; }
    [[nodiscard]] const ShownPlanPointer& plan() const { return m_shown; }
    [[nodiscard]] std::string csv() const;

private:
    using Row = std::uint32_t;
    [[nodiscard]] QVariant detailOf(int row, int column, int role) const override;
    [[nodiscard]] const ScheduleRow& facts(Row row) const { return m_shown->matrix.rows()[row]; }
    [[nodiscard]] QString decisionText(Row row) const;
    /// Those that the filter lets through.
    void takeRows();

    PlanModel& m_plan;
    ShownPlanPointer m_shown;
    QString m_filter;
    ByteScale m_scale;
    CostScale m_costs;
};

} // namespace retro::views
