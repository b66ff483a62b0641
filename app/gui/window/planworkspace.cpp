// SPDX-License-Identifier: Apache-2.0
#include "app/gui/window/planworkspace.h"

#include "views/common/paint/fonts.h"
#include "views/plan/analysisview.h"
#include "views/plan/blocksizeview.h"
#include "views/plan/budgetview.h"
#include "views/plan/frontierchart.h"
#include "views/plan/pinsview.h"
#include "views/plan/plannersview.h"
#include "views/plan/scheduleview.h"
#include "views/plan/snapshotview.h"
#include "views/plan/tensorsview.h"
#include "views/profile/profileview.h"

#include <algorithm>

namespace retro::app
{

using views::fonts::px;

namespace
{
// Design pixels.
constexpr double kLeastBudgetSide = 330; // figures and their notes stand beside each other
constexpr double kMostBudgetSide = 0.34; // of the width
constexpr double kBudget = 352;          // every figure and a sentence
constexpr double kMostBudget = 0.5;
constexpr double kLeastTensors = 168; // four tensors
constexpr double kMostTensors = 0.3;
} // namespace

PlanWorkspace::PlanWorkspace(const WorkspaceContext& context, views::PlanModel& plan, QWidget* parent)
    : Workspace(QStringLiteral("plan"), parent)
{
    const auto& [model, cursor, selection, breakpoints, region, text] = context;
    m_schedule = new views::ScheduleView(model, cursor, selection, plan, this);
    m_budget = new views::BudgetView(model, cursor, selection, plan, this);
    m_planners = new views::PlannersView(model, cursor, selection, plan, this);
    m_tensors = new views::TensorsView(model, cursor, selection, plan, this);
    m_analysis = new views::AnalysisView(model, cursor, selection, plan, this);
    m_frontier = new views::FrontierChart(model, cursor, selection, plan, this);
    m_profile = new views::ProfileView(model, cursor, selection, this);
    m_snapshot = new views::SnapshotView(model, cursor, selection, plan, this);
    m_blockSize = new views::BlockSizeView(model, cursor, selection, plan, this);
    m_pins = new views::PinsView(model, cursor, selection, plan, this);
    m_scheduleDock = addView(m_schedule);
    m_tensorsDock = addView(m_tensors);
    m_budgetDock = addView(m_budget);
    m_plannersDock = addView(m_planners);
    m_analysisDock = addView(m_analysis);
    m_frontierDock = addView(m_frontier);
    m_profileDock = addView(m_profile);
    m_snapshotDock = addView(m_snapshot);
    m_blockSizeDock = addView(m_blockSize);
    m_pinsDock = addView(m_pins);
    splitDockWidget(m_scheduleDock, m_budgetDock, Qt::Horizontal);
    splitDockWidget(m_scheduleDock, m_tensorsDock, Qt::Vertical);
    splitDockWidget(m_budgetDock, m_plannersDock, Qt::Vertical);
    tabifyDockWidget(m_plannersDock, m_blockSizeDock);
    tabifyDockWidget(m_blockSizeDock, m_analysisDock);
    tabifyDockWidget(m_tensorsDock, m_pinsDock);
    tabifyDockWidget(m_pinsDock, m_frontierDock);
    tabifyDockWidget(m_frontierDock, m_profileDock);
    tabifyDockWidget(m_profileDock, m_snapshotDock);
    connect(m_snapshot, &views::SnapshotView::opened, m_snapshotDock, [this] {
        m_snapshotDock->show();
        m_snapshotDock->raise();
    });
    m_tensorsDock->raise();
    m_plannersDock->raise();
    rememberLayout();
}

std::vector<Workspace::Pack> PlanWorkspace::packs() const
{
    return {{m_plannersDock, m_budgetDock, Qt::Vertical, kMayLackLittle},
            {m_tensorsDock, m_scheduleDock, Qt::Vertical, kMayLackLittle},
            {m_budgetDock, m_scheduleDock, Qt::Horizontal}};
}

void PlanWorkspace::applySizes()
{
    const QRect room = contentsRect();
    const double side =
        std::max(std::min<double>(px(kLeastBudgetSide), room.width() * kMostBudgetSide), room.width() * 442.0 / 1592);
    const double wide = room.width() - kSeparator - side;
    resizeDocks({m_scheduleDock, m_budgetDock}, shared(room.width() - kSeparator, {wide, side}), Qt::Horizontal);
    const double height = room.height() - kSeparator;
    const double below =
        std::max(std::min<double>(px(kLeastTensors), height * kMostTensors), room.height() * 176.0 / 898);
    resizeDocks({m_scheduleDock, m_tensorsDock}, shared(static_cast<int>(height), {height - below, below}),
                Qt::Vertical);
    const double budget = std::min<double>(px(kBudget), height * kMostBudget);
    resizeDocks({m_budgetDock, m_plannersDock}, shared(static_cast<int>(height), {budget, height - budget}),
                Qt::Vertical);
}

} // namespace retro::app

#include "moc_planworkspace.cpp"
