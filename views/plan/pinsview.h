// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"
#include "views/plan/planmodel.h"

class QPushButton;
class QTableView;

namespace retro::views
{

class PinTableModel;

/// What was chosen by hand, with what each choice does to peak and work; each can be taken back.
class PinsView final : public View
{
    Q_OBJECT

public:
    PinsView(RunModel& model, Cursor& cursor, Selection& selection, PlanModel& plan, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Pins"); }
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] QString hint() const override
    {
        return tr("Tensors that you keep or recompute, and what that does.");
    }
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;

    [[nodiscard]] PinTableModel& items() const { return *m_items; }
    [[nodiscard]] QTableView& table() const { return *m_table; }

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override;

private:
    void makeTable();
    void takePins();
    void followSelection();
    void selectRow(int row);
    void forget();

    PlanModel& m_plan;
    PinTableModel* m_items = nullptr;
    QTableView* m_table = nullptr;
    QPushButton* m_clear = nullptr;
    ShownPlanPointer m_shown; ///< whose effects were asked for
    bool m_isFollowing = false;
};

} // namespace retro::views
