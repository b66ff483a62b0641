// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/plan/bytescale.h"
#include "views/plan/planmodel.h"

#include "views/common/widgets/columntable.h"

namespace retro::views
{

/// The tensors that were chosen by hand, with what each choice does to peak and work.
class PinTableModel final : public ColumnTable
{
    Q_OBJECT

public:
    enum Column { NameColumn, ChoiceColumn, PeakColumn, WorkColumn, UndoColumn, ColumnCount };

    explicit PinTableModel(PlanModel& plan, QObject* parent = nullptr);

    /// Reads choices and effects anew.
    void take();
    [[nodiscard]] analysis::OpValueId valueAt(int row) const { return m_pins[static_cast<std::size_t>(row)]; }
    /// Row of a value; −1 when it is not chosen.
    [[nodiscard]] int rowOf(analysis::OpValueId value) const;
    [[nodiscard]] std::string csv() const;

private:
    [[nodiscard]] int rows() const override { return m_plan.subject() ? static_cast<int>(m_pins.size()) : 0; }
    [[nodiscard]] QString textOf(int row, int column) const override;
    [[nodiscard]] QVariant detailOf(int row, int column, int role) const override;
    [[nodiscard]] QString nameOf(analysis::OpValueId value) const;
    [[nodiscard]] Decision choiceAt(int row) const { return m_plan.choiceOf(valueAt(row)).value_or(Decision::Keep); }
    [[nodiscard]] const PinEffect* effectAt(int row) const;
    [[nodiscard]] double workOf(const PinEffect& effect) const;
    [[nodiscard]] QString tipOf(int row, int column) const;

    PlanModel& m_plan;
    std::vector<analysis::OpValueId> m_pins;
    ByteScale m_scale;
};

} // namespace retro::views
