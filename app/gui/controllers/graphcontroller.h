// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/actions.h"
#include "views/common/widgets/breakpointlist.h"
#include "views/graph/graphview.h"
#include "views/problems/problemlist.h"

#include <QObject>

namespace retro::app
{

/// Adds the actions of the graph that are not among the standard ones: next and previous match, open and close all
/// groups, refine, hide constants. Called once, before menus are made.
void addGraphActions(views::ActionRegistry& actions);

/// Connects the actions of the graph with its view, its tools with the title of its dock, and its breakpoints with the
/// list of breakpoints. GUI thread.
class GraphController final : public QObject
{
    Q_OBJECT

public:
    /// `graph` must be in its dock already.
    GraphController(views::ActionRegistry& actions, views::GraphView& graph, views::BreakpointList& breakpoints,
                    QObject* parent = nullptr);

    /// From now on the list has one line when Graphviz made no better layout, until it does or is switched off.
    void reportTo(views::ProblemList& problems);

signals:
    /// An action was given while the graph is not on screen.
    void graphWanted();
    /// A value is to be explained by the next run.
    void targetWanted(const QString& value);
    /// The next run is to keep the relevance of a value when it is final, or no longer.
    void checkpointWanted(const QString& value, bool isOn);

private:
    void connectAction(const char* id, void (views::GraphView::*command)());
    void connectSetting(const char* id, void (views::GraphView::*command)(bool),
                        bool (views::GraphView::*state)() const);
    void placeTools();
    void showBreakpoints();
    void askFor(base::ValueId value);

    views::ActionRegistry& m_actions;
    views::GraphView& m_graph;
    views::BreakpointList& m_breakpoints;
};

} // namespace retro::app
