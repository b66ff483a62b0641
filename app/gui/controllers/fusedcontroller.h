// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/jobs/jobs.h"
#include "views/common/actions.h"

#include <QObject>

#include <string>
#include <vector>

namespace retro::views
{
class GraphView;
class InspectorView;
class MemoryView;
} // namespace retro::views

namespace retro::app
{

/// Adds the actions that open and close fused nodes. Called once, before menus are made.
void addFusedActions(views::ActionRegistry& actions);

/// Which fused nodes are open: tells graph, inspector and memory what nodes stand for, and asks for the run on screen
/// once more when one is opened or closed. GUI thread.
class FusedController final : public QObject
{
    Q_OBJECT

public:
    FusedController(views::ActionRegistry& actions, views::RunModel& model, views::Selection& selection,
                    views::GraphView& graph, views::InspectorView& inspector, views::MemoryView& memory,
                    QObject* parent);

    /// Names of the nodes that are open; every job carries them.
    [[nodiscard]] const std::vector<std::string>& opened() const { return m_opened; }
    /// What nodes stand for in the graph on screen, and the job that it comes from; `isNewModel` closes all.
    void take(const ExplainDone& done, bool isNewModel);
    /// Nothing is on screen that could be opened.
    void clear();

signals:
    /// The run on screen is wanted again, with what is open now.
    void jobWanted(const retro::app::ExplainJob& job);
    void said(const QString& sentence);

private:
    void show(views::FusedNodesPointer fused);
    void setSelectedOpen(bool isOpen);
    void setOpen(base::NodeId node, bool isOpen);

    views::RunModel& m_model;
    views::Selection& m_selection;
    views::GraphView& m_graph;
    views::InspectorView& m_inspector;
    views::MemoryView& m_memory;
    views::FusedNodesPointer m_fused;
    std::vector<std::string> m_opened;
    ExplainJob m_last;
};

} // namespace retro::app
