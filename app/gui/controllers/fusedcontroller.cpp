// SPDX-License-Identifier: Apache-2.0
#include "app/gui/controllers/fusedcontroller.h"

#include "views/graph/graphview.h"
#include "views/inspector/inspectorview.h"
#include "views/memory/memoryview.h"

#include <array>

namespace retro::app
{

namespace
{

constexpr std::array kFusedActions{
    views::ActionSpec{
        "run.opennode", RETRO_ACTION("&Open this node"),
        RETRO_ACTION("Run again and carry relevance through what the selected node stands for, step by step"), "expand",
        ""},
    views::ActionSpec{"run.closenode", RETRO_ACTION("&Close this node"),
                      RETRO_ACTION("Run again without looking inside the selected node"), "node", ""},
};

} // namespace

void addFusedActions(views::ActionRegistry& actions) { actions.addAll(kFusedActions); }

FusedController::FusedController(views::ActionRegistry& actions, views::RunModel& model, views::Selection& selection,
                                 views::GraphView& graph, views::InspectorView& inspector, views::MemoryView& memory,
                                 QObject* parent)
    : QObject(parent), m_model(model), m_selection(selection), m_graph(graph), m_inspector(inspector), m_memory(memory)
{
    connect(&actions.at(QStringLiteral("run.opennode")), &QAction::triggered, this, [this] { setSelectedOpen(true); });
    connect(&actions.at(QStringLiteral("run.closenode")), &QAction::triggered, this,
            [this] { setSelectedOpen(false); });
    connect(&graph, &views::GraphView::openNodeRequested, this, &FusedController::setOpen);
    connect(&inspector, &views::InspectorView::openNodeRequested, this, &FusedController::setOpen);
    connect(&memory, &views::MemoryView::openNodeRequested, this, &FusedController::setOpen);
}

void FusedController::take(const ExplainDone& done, bool isNewModel)
{
    if (isNewModel) {
        m_opened.clear();
    }
    m_last = done.job;
    m_last.model = done.model;
    show(done.fused);
}

void FusedController::clear()
{
    m_opened.clear();
    m_last = {};
    show(nullptr);
}

void FusedController::show(views::FusedNodesPointer fused)
{
    m_fused = std::move(fused);
    m_graph.setFused(m_fused);
    m_inspector.setFused(m_fused);
    m_memory.setFused(m_fused);
}

void FusedController::setSelectedOpen(bool isOpen)
{
    const base::NodeId node = m_model.hasRun() ? m_model.nodeOf(m_selection.thing()) : base::NodeId();
    if (views::findFused(m_fused, node) != nullptr) {
        setOpen(node, isOpen);
    } else if (m_model.hasRun() && !m_fused) {
        emit said(tr("A recorded run holds each node as a whole. Open its model to look inside."));
    } else {
        emit said(tr("Select a node that a rewrite made of several, which the run panel lists, or one that does many "
                     "steps, such as Attention."));
    }
}

void FusedController::setOpen(base::NodeId node, bool isOpen)
{
    if (!m_model.hasRun() || views::findFused(m_fused, node) == nullptr || m_last.question.inputs.empty()) {
        emit said(tr("Run the model first: relevance is carried through the members of a node in a run."));
        return;
    }
    const std::string name = m_model.graph().node(node).name;
    std::erase(m_opened, name);
    if (isOpen) {
        m_opened.push_back(name);
    }
    ExplainJob again = m_last;
    again.isLive = true; // what is chosen in the run panel and the step on screen stay
    again.isChoice = false;
    emit jobWanted(again);
}

} // namespace retro::app

#include "moc_fusedcontroller.cpp"
