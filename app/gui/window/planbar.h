// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/actions.h"

#include <QToolBar>

class QLabel;
class QLineEdit;
class QToolButton;

namespace retro::views
{
class PlanModel;
class ScheduleView;
} // namespace retro::views

namespace retro::app
{

class NowLine;

/// The tool bar of the workspace Plan, in the place and order of the one for runs: steps of the plan, position, what
/// the step does, and at the right who plans and what can be done with the plan. In a narrow bar the words before boxes
/// go first, then those on the buttons at the right. GUI thread.
class PlanBar final : public QToolBar
{
    Q_OBJECT

public:
    PlanBar(views::ActionRegistry& actions, views::PlanModel& plan, views::ScheduleView& schedule,
            QWidget* parent = nullptr);
    [[nodiscard]] QLineEdit& position() const { return *m_position; }

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void addHalves();
    void addPosition();
    void addPlanner();
    void makeRoom();
    void addEnd(QAction& action, const QString& text);
    void showStep();
    void goToTyped();

    views::ActionRegistry& m_actions;
    views::PlanModel& m_plan;
    views::ScheduleView& m_schedule;
    QLineEdit* m_position = nullptr;
    QLabel* m_count = nullptr;
    NowLine* m_now = nullptr;
    QList<QLabel*> m_captions;
    QList<QToolButton*> m_ends; ///< buttons with words
};

} // namespace retro::app
