// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/plan/bytescale.h"
#include "views/plan/planmodel.h"

#include <QAbstractTableModel>

namespace retro::views
{

/// The tensors that were chosen by hand, with what each choice does to peak and work.
class PinTableModel final : public QAbstractTableModel
{
    Q_OBJECT

public:
    enum Column { NameColumn, ChoiceColumn, PeakColumn, WorkColumn, UndoColumn, ColumnCount };

    explicit PinTableModel(PlanModel& plan, QObject* parent = nullptr) : QAbstractTableModel(parent), m_plan(plan) {}

    /// Reads choices and effects anew.
    void take();
    [[nodiscard]] analysis::OpValueId valueAt(int row) const { return m_pins[static_cast<std::size_t>(row)]; }
    /// Row of a value; −1 when it is not chosen.
    [[nodiscard]] int rowOf(analysis::OpValueId value) const;
    [[nodiscard]] std::string csv() const;

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    [[nodiscard]] QString nameOf(analysis::OpValueId value) const;
    [[nodiscard]] Decision choiceAt(int row) const;
    [[nodiscard]] const PinEffect* effectAt(int row) const;
    [[nodiscard]] double workOf(const PinEffect& effect) const;
    [[nodiscard]] QString textOf(int row, int column) const;
    [[nodiscard]] QString tipOf(int row, int column) const;

    PlanModel& m_plan;
    std::vector<analysis::OpValueId> m_pins;
    ByteScale m_scale;
};

} // namespace retro::views
