// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"
#include "views/plan/planmodel.h"

class QPushButton;
class QStackedLayout;
class QTimer;

namespace retro::views
{

class ElidedLabel;
class SchedulePane;

/// The plan as a picture: interval tree, matrix of steps and tensors, memory with the budget. Says the step that is
/// looked at in words and plays; the tool bar of the workspace shows that. A tensor that is selected here is selected
/// everywhere.
class ScheduleView final : public View
{
    Q_OBJECT

public:
    ScheduleView(RunModel& model, Cursor& cursor, Selection& selection, PlanModel& plan, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Schedule"); }
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] QString hint() const override;
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;

    [[nodiscard]] SchedulePane& pane() const { return *m_pane; }
    /// What the view says of a question that has no plan; empty when it has one.
    [[nodiscard]] QString message() const;
    /// "Gradient of b2.attn"; empty without a plan.
    [[nodiscard]] const QString& nowText() const { return m_now; }
    /// "tensors 10", "waiting 1", "live now 97.5 MB": what can be left out first, first. Empty without a plan.
    [[nodiscard]] const QStringList& nowFigures() const { return m_nowFigures; }
    /// What becomes of the tensor that is marked; empty where none is.
    [[nodiscard]] QString story() const;
    /// Keeps the marked tensor, or has it computed again: whichever the plan does not do.
    [[nodiscard]] QPushButton& turnButton() const { return *m_turn; }
    /// Keeps or rebuilds the tensor that is selected.
    void chooseSelected(Decision decision);
    void play(bool isPlaying);
    /// The place (PlanModel::place) at which the next try of a search ends, or the one before; behind the last one the
    /// first step of the plan.
    [[nodiscard]] std::int64_t tryFrom(bool isForward) const;
    [[nodiscard]] bool isPlaying() const;

signals:
    /// Another nowText(), or playing began or ended.
    void nowChanged();

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override;

private:
    void makeStrip();
    void showState();
    void showStep();
    [[nodiscard]] std::int64_t nextOfSearch() const;
    void showStory();
    void turnMarked();
    void followSelection();
    void selectRow(std::uint32_t row);

    PlanModel& m_plan;
    SchedulePane* m_pane = nullptr;
    EmptyState* m_waiting = nullptr;
    QStackedLayout* m_pages = nullptr;
    QWidget* m_chart = nullptr;
    QString m_now;
    QStringList m_nowFigures;
    ElidedLabel* m_message = nullptr;
    QWidget* m_strip = nullptr; ///< of the marked tensor
    ElidedLabel* m_name = nullptr;
    ElidedLabel* m_story = nullptr;
    QPushButton* m_turn = nullptr;
    QTimer* m_clock = nullptr;
};

/// The steps of a plan as CSV: step, what, tensor, operator, bytes in memory, live tensors.
[[nodiscard]] std::string scheduleCsv(const ShownPlan& plan, const std::vector<std::uint64_t>& measured);

} // namespace retro::views
