// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"
#include "views/plan/planmodel.h"

class QComboBox;
class QGridLayout;
class QLabel;
class QPushButton;

namespace retro::views
{

class BudgetSlider;
class ElidedLabel;

/// How much memory a plan may take: a slider that plans anew while it is dragged, where tensors may be moved, and
/// what the plan costs.
class BudgetView final : public View
{
    Q_OBJECT

public:
    BudgetView(RunModel& model, Cursor& cursor, Selection& selection, PlanModel& plan, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Budget"); }
    [[nodiscard]] QString hint() const override;
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;

    [[nodiscard]] BudgetSlider& slider() const { return *m_slider; }
    [[nodiscard]] QComboBox& tiers() const { return *m_tiers; }
    /// What is wrong with the question, or what the plan promises.
    [[nodiscard]] QString message() const;

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override { return m_plan.whyNoSubject(tr("No budget: %1")); }

private:
    void makeFigures(QWidget& parent);
    void showQuestion();
    void showPlan();
    void showFigures(const ShownPlan& plan);
    void clearFigures();
    void showMeasured(const ShownPlan& plan);
    void showSaving(const ShownPlan& plan);
    [[nodiscard]] QString messageOf(const ShownPlan& plan) const;
    void takeSlider(int value);
    void makeChoices(QWidget& parent, QGridLayout& head, int row);
    void showTier();
    void takeTier(int index);

    PlanModel& m_plan;
    BudgetSlider* m_slider = nullptr;
    QComboBox* m_tiers = nullptr;
    QPushButton* m_clear = nullptr;
    QLabel* m_budget = nullptr;
    ElidedLabel* m_share = nullptr;
    QLabel* m_peak = nullptr;
    ElidedLabel* m_peakNote = nullptr;
    QLabel* m_measured = nullptr;
    ElidedLabel* m_measuredNote = nullptr;
    QLabel* m_work = nullptr;
    ElidedLabel* m_workNote = nullptr;
    QLabel* m_kept = nullptr;
    ElidedLabel* m_keptNote = nullptr;
    QLabel* m_dropped = nullptr;
    ElidedLabel* m_droppedNote = nullptr;
    QLabel* m_promises = nullptr;
    ElidedLabel* m_promisesNote = nullptr;
    QLabel* m_time = nullptr;
    ElidedLabel* m_timeNote = nullptr;
    QLabel* m_message = nullptr;
    bool m_isShowing = false; ///< what changes is our own doing
};

} // namespace retro::views
