// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/actions.h"

#include <QObject>

namespace retro::views
{
class GraphView;
class PlanModel;
class RunModel;
} // namespace retro::views

namespace retro::app
{

class PlanWorkspace;

/// Marks in the graph what is in memory at the step of the plan, as long as there is one.
void markLive(views::GraphView& graph, const views::RunModel& model, const views::PlanModel& plan);

/// Registers the actions of the menu Plan.
void addPlanActions(views::ActionRegistry& actions);

/// Carries out what menus, keys and the palette offer for plans. They are of use while there is a plan. GUI thread.
class PlanCommands final : public QObject
{
    Q_OBJECT

public:
    PlanCommands(views::ActionRegistry& actions, views::PlanModel& plan, PlanWorkspace& space, QObject* parent);

private:
    void connectSteps();
    void goToTurn(bool isForward);
    void connectChoices();
    void showHalf();
    void enable();

    views::ActionRegistry& m_actions;
    views::PlanModel& m_plan;
    PlanWorkspace& m_space;
};

} // namespace retro::app
