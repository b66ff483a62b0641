// SPDX-License-Identifier: Apache-2.0
#include "views/graph/graphstatus.h"

#include "core/layout/levelofdetail.h"
#include "views/graph/graphcolouring.h"

#include <algorithm>
#include <limits>

namespace retro::views
{

using layout::Index;
using layout::kNone;

namespace
{

/// Fills the boxes of one scene.
class StatusMaker
{
public:
    StatusMaker(const GraphScene& scene, const trace::RunState& state, std::uint64_t position, GraphStatus& out)
        : m_scene(scene), m_state(state), m_position(position), m_out(out)
    {}

    void readVisits()
    {
        for (const VisitMark& visit : m_scene.book->flow.visits()) {
            if (visit.step >= m_position) {
                break;
            }
            if (BoxStatus* box = boxOf(visit.node)) {
                box->mode = visit.mode;
                box->lastVisited = visit.node;
            }
        }
    }

    void readNodes()
    {
        const std::size_t count = std::min(m_state.nodes.size(), m_scene.visible.visibleOf.size());
        for (std::size_t i = 0; i < count; ++i) {
            if (BoxStatus* box = boxOf(base::NodeId(i))) {
                readNode(m_state.nodes[i], *box);
            }
        }
        m_out.now = m_scene.boxOf(m_state.current);
    }

    void readPromises()
    {
        for (const trace::PromiseState& promise : m_state.promises) {
            if (BoxStatus* box = boxOf(promise.start)) {
                box->waiting += promise.isComplete ? 0 : 1;
                box->isFulfilled = box->isFulfilled || promise.isComplete;
            }
        }
    }

    void readLedger()
    {
        for (const LeakMark& leak : m_scene.book->flow.leaks()) {
            if (leak.row >= m_state.ledgerRows) {
                break;
            }
            if (BoxStatus* box = boxOf(leak.node)) {
                box->isLeaking = true;
            }
        }
    }

    void readEdges()
    {
        const GraphBook& book = *m_scene.book;
        for (std::size_t e = 0; e < m_out.edges.size(); ++e) {
            for (const Index member : m_scene.visible.edgeMembers[static_cast<Index>(e)]) {
                if (const auto sum = book.flow.at(member, m_position, *book.run, m_state)) {
                    const bool isFirst = m_out.edges[e] != m_out.edges[e];
                    m_out.edges[e] = static_cast<float>(*sum) + (isFirst ? 0.0F : m_out.edges[e]);
                }
            }
        }
    }

private:
    /// Null for a node that is not drawn.
    [[nodiscard]] BoxStatus* boxOf(base::NodeId node)
    {
        const Index box = m_scene.boxOf(node);
        return box != kNone ? &m_out.boxes[static_cast<std::size_t>(box)] : nullptr;
    }

    static void readNode(const trace::NodeState& node, BoxStatus& box)
    {
        box.isFulfilled = box.isFulfilled || node.lastMode == event::Mode::Fulfilment;
        box.isInFrontier =
            box.isInFrontier || std::any_of(node.parts.begin(), node.parts.end(),
                                            [](const trace::Part& part) { return part.handle.isValid(); });
        if (node.landed > 0 && node.missing > 0) {
            box.landed += node.landed;
            box.parts += node.landed + node.missing;
        }
    }

    const GraphScene& m_scene;
    const trace::RunState& m_state;
    std::uint64_t m_position;
    GraphStatus& m_out;
};

} // namespace

GraphStatus makeStatus(const GraphScene& scene, const trace::RunState* state, std::uint64_t position)
{
    GraphStatus out;
    out.boxes.resize(scene.visible.nodes.size());
    out.edges.assign(scene.visible.edges.size(), std::numeric_limits<float>::quiet_NaN());
    if (state != nullptr) {
        StatusMaker maker(scene, *state, position, out);
        maker.readVisits();
        maker.readNodes();
        maker.readPromises();
        maker.readLedger();
        maker.readEdges();
    }
    return out;
}

std::size_t classOf(const GraphStatus& status, const Colouring* colouring, Index box)
{
    const auto at = static_cast<std::size_t>(box);
    return colouring != nullptr ? mainClass(colouring->boxes[at]) : static_cast<std::size_t>(status.boxes[at].mode);
}

std::vector<ClassRow> classRows(const GraphScene& scene, const GraphStatus& status, const Colouring* colouring,
                                const layout::Rect& area, int rows)
{
    std::vector<ClassRow> out;
    for (const layout::DensityRow& row : layout::densityRows(scene.layout, area, rows)) {
        ClassRow classes{row.left, row.right, {}, row.nodeCount};
        for (Index l = row.firstLayer; l < row.lastLayer; ++l) {
            for (const Index box : scene.layout.nodesOf(scene.layout.layers[static_cast<std::size_t>(l)])) {
                ++classes.counts[classOf(status, colouring, box)];
            }
        }
        out.push_back(classes);
    }
    return out;
}

base::NodeId representative(const GraphScene& scene, const GraphStatus& status, Index box)
{
    const layout::VisibleNode& visible = scene.visible.nodes[static_cast<std::size_t>(box)];
    if (!visible.isGroup()) {
        return base::NodeId(static_cast<std::uint32_t>(visible.node));
    }
    const base::NodeId last = status.boxes[static_cast<std::size_t>(box)].lastVisited;
    return last.isValid() ? last : base::NodeId(static_cast<std::uint32_t>(scene.visible.members[box].back()));
}

} // namespace retro::views
