// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/actions.h"

#include <QToolBar>

class QLabel;
class QLineEdit;

namespace retro::views
{
class ElidedLabel;
class PlanModel;
class ScheduleView;
} // namespace retro::views

namespace retro::app
{

/// The tool bar of the workspace Plan, in the place and order of the one for runs: steps of the plan, position, what
/// the step does, and at the right what can be done with the plan. GUI thread.
class PlanBar final : public QToolBar
{
    Q_OBJECT

public:
    PlanBar(views::ActionRegistry& actions, views::PlanModel& plan, views::ScheduleView& schedule,
            QWidget* parent = nullptr);
    [[nodiscard]] QLineEdit& position() const { return *m_position; }

private:
    void addHalves();
    void addPosition();
    void addEnd(QAction& action, const QString& text);
    void showStep();
    void goToTyped();

    views::ActionRegistry& m_actions;
    views::PlanModel& m_plan;
    views::ScheduleView& m_schedule;
    QLineEdit* m_position = nullptr;
    QLabel* m_count = nullptr;
    views::ElidedLabel* m_now = nullptr;
};

} // namespace retro::app
