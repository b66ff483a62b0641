// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/plan/bytescale.h"
#include "views/plan/planmodel.h"

#include "views/common/widgets/columntable.h"

#include <vector>

namespace retro::views
{

/// The tensors of a plan: size, when they are in memory, what is done with them and why. A filter and the order of the
/// rows are the table's own.
class TensorTableModel final : public ColumnTable
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
    /// Row of the matrix that a row of the table shows.
    [[nodiscard]] std::uint32_t matrixRow(int row) const { return m_rows[static_cast<std::size_t>(row)]; }
    /// Row of the table that shows a row of the matrix; −1 = filtered out.
    [[nodiscard]] int tableRow(std::uint32_t matrixRow) const;
    [[nodiscard]] const ShownPlanPointer& plan() const { return m_shown; }
    [[nodiscard]] std::string csv() const;
    /// A column below 0 = in the order of the matrix.
    void sort(int column, Qt::SortOrder order) override;

private:
    [[nodiscard]] int rows() const override;
    [[nodiscard]] QString textOf(int row, int column) const override;
    [[nodiscard]] QVariant detailOf(int row, int column, int role) const override;

    void arrange();
    [[nodiscard]] bool isLess(std::uint32_t a, std::uint32_t b) const;
    [[nodiscard]] QString cellOf(std::uint32_t row, int column) const;
    [[nodiscard]] QString decisionText(std::uint32_t row) const;

    PlanModel& m_plan;
    ShownPlanPointer m_shown;
    std::vector<std::uint32_t> m_rows; ///< of the matrix, as shown
    QString m_filter;
    ByteScale m_scale;
    CostScale m_costs;
    int m_sortColumn = -1;
    Qt::SortOrder m_sortOrder = Qt::AscendingOrder;
};

} // namespace retro::views
