// SPDX-License-Identifier: Apache-2.0
// Several nodes selected in the graph view, the ways between them, and a node as the next target.
#include "views/common/numbertext.h"
#include "views/graph/graphcanvas.h"
#include "views/graph/graphnote.h"
#include "views/graph/graphview.h"

#include <QMetaMethod>

#include <algorithm>

namespace retro::views
{

using layout::Index;
using layout::kNone;

std::vector<base::NodeId> GraphView::selectedNodes() const
{
    std::vector<base::NodeId> nodes = m_also;
    const base::NodeId last = model().hasRun() ? model().nodeOf(selection().thing()) : base::NodeId();
    std::erase(nodes, last);
    if (last.isValid()) {
        nodes.push_back(last);
    }
    return nodes;
}

void GraphView::addBox(int box) { toggleSelected(representative(*m_canvas->scene(), m_canvas->status(), box)); }

void GraphView::toggleSelected(base::NodeId node)
{
    if (!showsThisRun() || !node.isValid()) {
        return;
    }
    std::vector<base::NodeId> nodes = selectedNodes();
    if (std::erase(nodes, node) == 0) {
        nodes.push_back(node);
    }
    m_isOwnSelection = true;
    if (nodes.empty()) {
        selection().clear();
    } else {
        selection().selectNode(nodes.back());
        nodes.pop_back();
    }
    m_also = std::move(nodes);
    showBetween();
    schedule(Change::Selection);
    flush();
    m_isOwnSelection = false;
}

/// What was traced before gives way; with one node left nothing stands out.
void GraphView::showBetween()
{
    const std::vector<base::NodeId> nodes = selectedNodes();
    m_traced.clear();
    m_traceNote->say({});
    if (nodes.size() > 1) {
        const NodeSet set = between(*m_canvas->scene()->book, nodes);
        const Index count = sizeOf(set) - static_cast<Index>(nodes.size());
        const QString ends = nodes.size() == 2
                                 ? tr("%1 and %2").arg(model().placeLabel(nodes[0]), model().placeLabel(nodes[1]))
                                 : tr("the %1 selected ones").arg(countText(static_cast<std::int64_t>(nodes.size())));
        m_traced = set;
        m_traceNote->say(count == 0 ? tr("No node between %1").arg(ends)
                                    : tr("%1 between %2").arg(QString::fromStdString(countOfNodes(count)), ends));
    }
    applyHighlight();
}

void GraphView::clearAlso()
{
    if (!m_also.empty()) {
        m_also.clear();
        m_traced.clear();
        m_traceNote->say({});
        applyHighlight();
        applyAlso();
    }
}

void GraphView::applyAlso()
{
    if (!showsThisRun()) {
        return;
    }
    std::vector<Index> boxes;
    for (const base::NodeId node : m_also) {
        if (const Index box = m_canvas->scene()->boxOf(node); box != kNone && box != m_canvas->selected()) {
            boxes.push_back(box);
        }
    }
    m_canvas->setAlsoSelected(std::move(boxes));
}

bool GraphView::canBecomeTarget(int box) const
{
    const GraphScene& scene = *m_canvas->scene();
    const layout::VisibleNode& node = scene.visible.nodes[static_cast<std::size_t>(box)];
    return !node.isGroup() && static_cast<std::size_t>(node.node) < scene.graph().nodeCount() &&
           isSignalConnected(QMetaMethod::fromSignal(&GraphView::targetRequested));
}

void GraphView::pickTarget(int box)
{
    selectBox(box);
    if (!canBecomeTarget(box)) {
        return;
    }
    const GraphScene& scene = *m_canvas->scene();
    const base::NodeId node(static_cast<std::uint32_t>(scene.visible.nodes[static_cast<std::size_t>(box)].node));
    if (const base::ValueId output = scene.graph().firstOutput(node); output.isValid()) {
        emit targetRequested(output);
    }
}

} // namespace retro::views
