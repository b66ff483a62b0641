// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"
#include "views/plan/planmodel.h"

class QLineEdit;
class QPushButton;
class QTableView;

namespace retro::views
{

class TensorTableModel;

/// The tensors of the plan with what is done to each and why. A click on a decision turns it; K and R keep and
/// recompute the selected one.
class TensorsView final : public View
{
    Q_OBJECT

public:
    TensorsView(RunModel& model, Cursor& cursor, Selection& selection, PlanModel& plan, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Tensors"); }
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] QString hint() const override;
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;

    [[nodiscard]] TensorTableModel& items() const { return *m_items; }
    [[nodiscard]] QTableView& table() const { return *m_table; }
    [[nodiscard]] QLineEdit& filter() const { return *m_filter; }
    /// Keeps or rebuilds the selected tensor.
    void choose(Decision decision);

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override { return m_plan.whyNoPlan(tr("No tensors: %1")); }
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void makeTable();
    void makeTools(QWidget& parent);
    void followSelection();
    void selectRow(const QModelIndex& index);
    void turn(const QModelIndex& index);
    void takePlan();

    PlanModel& m_plan;
    TensorTableModel* m_items = nullptr;
    QTableView* m_table = nullptr;
    QLineEdit* m_filter = nullptr;
    QPushButton* m_keep = nullptr;
    QPushButton* m_recompute = nullptr;
    bool m_isFollowing = false; ///< the row that becomes current is the selection's
};

} // namespace retro::views
