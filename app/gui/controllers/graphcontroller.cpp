// SPDX-License-Identifier: Apache-2.0
#include "app/gui/controllers/graphcontroller.h"

#include "views/common/widgets/docktitle.h"
#include "views/graph/graphcanvas.h"

#include <QAction>
#include <QDockWidget>

#include <array>
#include <utility>
#include <vector>

namespace retro::app
{

namespace
{

using views::ActionSpec;
using views::GraphView;

constexpr std::array kGraphActions{
    ActionSpec{"view.findnext", RETRO_ACTION("Find &next"), RETRO_ACTION("Go to the next node that was found"),
               "search", "F3"},
    ActionSpec{"view.findprevious", RETRO_ACTION("Find &previous"),
               RETRO_ACTION("Go to the previous node that was found"), "search", "Shift+F3"},
    ActionSpec{"view.graphfollow", RETRO_ACTION("Follow the &moment"),
               RETRO_ACTION("The graph follows what is visited again"), "zoomfit", "Ctrl+L"},
    ActionSpec{"view.graphopen", RETRO_ACTION("&Open all groups"), RETRO_ACTION("Show every node of the graph"),
               "expand", ""},
    ActionSpec{"view.graphclose", RETRO_ACTION("&Close all groups"),
               RETRO_ACTION("Show the outermost groups of the graph as boxes"), "node", ""},
    ActionSpec{"view.graphrefine", RETRO_ACTION("&Refine layout with Graphviz"),
               RETRO_ACTION("Lay the graph out again in a program of its own, up to 1,500 boxes"), "layout", "", true},
    ActionSpec{"view.graphconstants", RETRO_ACTION("&Hide constants"),
               RETRO_ACTION("Leave out operators of the graph that no input reaches"), "node", "", true},
};

} // namespace

void addGraphActions(views::ActionRegistry& actions) { actions.addAll(kGraphActions); }

GraphController::GraphController(views::ActionRegistry& actions, GraphView& graph, views::BreakpointList& breakpoints,
                                 QObject* parent)
    : QObject(parent), m_actions(actions), m_graph(graph), m_breakpoints(breakpoints)
{
    connectAction("view.zoomin", &GraphView::zoomIn);
    connectAction("view.zoomout", &GraphView::zoomOut);
    connectAction("view.zoomfit", &GraphView::fitAll);
    connectAction("view.find", &GraphView::showFind);
    connectAction("view.findnext", &GraphView::findNext);
    connectAction("view.findprevious", &GraphView::findPrevious);
    connectAction("view.graphfollow", &GraphView::resumeFollowing);
    connectAction("view.graphopen", &GraphView::expandAll);
    connectAction("view.graphclose", &GraphView::collapseAll);
    connectSetting("view.graphrefine", &GraphView::setRefined, &GraphView::isRefined);
    connectSetting("view.graphconstants", &GraphView::setConstantsHidden, &GraphView::areConstantsHidden);
    connect(&m_graph, &GraphView::targetRequested, this, &GraphController::askFor);
    connect(&m_graph, &GraphView::checkpointRequested, this, &GraphController::checkpointWanted);
    connect(&m_graph, &GraphView::breakRequested, &breakpoints, &views::BreakpointList::toggle);
    connect(&breakpoints, &views::BreakpointList::changed, this, &GraphController::showBreakpoints);
    showBreakpoints();
    placeTools();
}

void GraphController::reportTo(views::ProblemList& problems)
{
    using views::ProblemOrigin;
    connect(&m_graph, &GraphView::refineFailed, &problems, [&problems](const QString& reason) {
        views::Problem problem{views::Severity::Warning, ProblemOrigin::Layout};
        problem.what = tr("The graph keeps its own layout, Graphviz made none: %1.").arg(reason);
        problem.remedy = tr("Close some groups, or switch Refine layout with Graphviz off.");
        problems.replace(ProblemOrigin::Layout, {problem});
    });
    const auto clear = [&problems] { problems.clear(ProblemOrigin::Layout); };
    connect(&m_graph, &GraphView::refineSucceeded, &problems, clear);
    connect(&m_graph, &GraphView::settingsChanged, &problems, [this, clear] {
        if (!m_graph.isRefined()) {
            clear();
        }
    });
}

void GraphController::askFor(base::ValueId value)
{
    if (const auto scene = m_graph.canvas().scene(); scene != nullptr && value.index() < scene->graph().valueCount()) {
        emit targetWanted(QString::fromStdString(scene->graph().value(value).name));
    }
}

void GraphController::showBreakpoints()
{
    std::vector<base::NodeId> nodes;
    for (const views::BreakpointEntry& entry : m_breakpoints.entries()) {
        if (entry.isEnabled && entry.found && entry.found->node.isValid()) {
            nodes.push_back(entry.found->node);
        }
    }
    m_graph.setBreakpoints(std::move(nodes));
}

void GraphController::connectAction(const char* id, void (GraphView::*command)())
{
    // The graph is captured by itself: with -fsanitize=undefined GCC 12 takes the wrong object for
    // (m_graph.*command)().
    connect(&m_actions.at(QLatin1String(id)), &QAction::triggered, this, [this, graph = &m_graph, command] {
        if (!graph->isVisible()) {
            emit graphWanted();
        }
        (graph->*command)();
    });
}

void GraphController::connectSetting(const char* id, void (GraphView::*command)(bool), bool (GraphView::*state)() const)
{
    QAction* action = &m_actions.at(QLatin1String(id));
    connect(action, &QAction::triggered, &m_graph, command);
    const auto follow = [graph = &m_graph, action, state] { action->setChecked((graph->*state)()); };
    connect(&m_graph, &GraphView::settingsChanged, action, follow);
    follow();
}

/// The dock owns its title and everything on it.
void GraphController::placeTools()
{
    auto* dock = qobject_cast<QDockWidget*>(m_graph.parentWidget());
    auto* title = dock != nullptr ? qobject_cast<views::DockTitle*>(dock->titleBarWidget()) : nullptr;
    if (title != nullptr) {
        title->addTool(m_graph.tools());
    }
}

} // namespace retro::app

#include "moc_graphcontroller.cpp"
