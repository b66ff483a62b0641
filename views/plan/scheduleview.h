// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"
#include "views/plan/planmodel.h"

class QStackedLayout;
class QTimer;
class QToolButton;

namespace retro::views
{

class ElidedLabel;
class SchedulePane;

/// The plan as a picture: interval tree, matrix of steps and tensors, memory with the budget; above it the step that is
/// looked at in words, with keys to step and play. A tensor that is selected here is selected everywhere.
class ScheduleView final : public View
{
    Q_OBJECT

public:
    ScheduleView(RunModel& model, Cursor& cursor, Selection& selection, PlanModel& plan, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Schedule"); }
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] QString hint() const override;
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] QStringList exportFormats() const override;
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;

    [[nodiscard]] SchedulePane& pane() const { return *m_pane; }
    /// What the view says of a question that has no plan; empty when it has one.
    [[nodiscard]] QString message() const;
    [[nodiscard]] QString nowText() const;
    /// Keeps or rebuilds the tensor that is selected.
    void chooseSelected(Decision decision);
    void play(bool isPlaying);
    [[nodiscard]] bool isPlaying() const;

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override;

private:
    QWidget* makeBar();
    QToolButton* makeButton(const char* icon, const QString& name, QWidget* parent);
    void showState();
    void showStep();
    void followSelection();
    void selectRow(std::uint32_t row);

    PlanModel& m_plan;
    SchedulePane* m_pane = nullptr;
    EmptyState* m_waiting = nullptr;
    QStackedLayout* m_pages = nullptr;
    QWidget* m_chart = nullptr;
    ElidedLabel* m_now = nullptr;
    ElidedLabel* m_message = nullptr;
    QToolButton* m_play = nullptr;
    QTimer* m_clock = nullptr;
};

/// The steps of a plan as CSV: step, what, tensor, operator, bytes in memory, live tensors.
[[nodiscard]] std::string scheduleCsv(const ShownPlan& plan, const std::vector<std::uint64_t>& measured);

} // namespace retro::views
