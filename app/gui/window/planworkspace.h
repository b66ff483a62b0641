// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/window/workspaces.h"

namespace retro::views
{
class AnalysisView;
class BlockSizeView;
class BudgetView;
class FrontierChart;
class PinsView;
class PlanModel;
class PlannersView;
class ProfileView;
class ScheduleView;
class SnapshotView;
class TensorsView;
} // namespace retro::views

namespace retro::app
{

/// What is kept in memory and what is computed again: the schedule as the largest thing, budget and planners at its
/// right, the tensors with their reasons below.
class PlanWorkspace final : public Workspace
{
    Q_OBJECT

public:
    PlanWorkspace(const WorkspaceContext& context, views::PlanModel& plan, QWidget* parent = nullptr);
    [[nodiscard]] views::ScheduleView& schedule() const { return *m_schedule; }
    [[nodiscard]] views::BudgetView& budget() const { return *m_budget; }
    [[nodiscard]] views::PlannersView& planners() const { return *m_planners; }
    [[nodiscard]] views::TensorsView& tensors() const { return *m_tensors; }
    [[nodiscard]] views::AnalysisView& analysis() const { return *m_analysis; }
    [[nodiscard]] views::FrontierChart& frontier() const { return *m_frontier; }
    [[nodiscard]] views::BlockSizeView& blockSize() const { return *m_blockSize; }
    [[nodiscard]] views::PinsView& pins() const { return *m_pins; }
    [[nodiscard]] views::ProfileView& profile() const { return *m_profile; }
    [[nodiscard]] views::SnapshotView& snapshot() const { return *m_snapshot; }

protected:
    void applySizes() override;
    [[nodiscard]] std::vector<Pack> packs() const override;

private:
    views::ScheduleView* m_schedule = nullptr;
    views::BudgetView* m_budget = nullptr;
    views::PlannersView* m_planners = nullptr;
    views::TensorsView* m_tensors = nullptr;
    views::AnalysisView* m_analysis = nullptr;
    views::FrontierChart* m_frontier = nullptr;
    views::ProfileView* m_profile = nullptr;
    views::SnapshotView* m_snapshot = nullptr;
    views::BlockSizeView* m_blockSize = nullptr;
    views::PinsView* m_pins = nullptr;
    QDockWidget* m_scheduleDock = nullptr;
    QDockWidget* m_budgetDock = nullptr;
    QDockWidget* m_plannersDock = nullptr;
    QDockWidget* m_analysisDock = nullptr;
    QDockWidget* m_frontierDock = nullptr;
    QDockWidget* m_profileDock = nullptr;
    QDockWidget* m_snapshotDock = nullptr;
    QDockWidget* m_tensorsDock = nullptr;
    QDockWidget* m_blockSizeDock = nullptr;
    QDockWidget* m_pinsDock = nullptr;
};

} // namespace retro::app
