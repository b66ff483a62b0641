// SPDX-License-Identifier: Apache-2.0
#include "core/execute/trackedvalues.h"

#include "core/execute/tokenpath.h"
#include "core/ops/lookup.h"

#include <algorithm>

namespace retro::execute
{

namespace
{

using graph::Node;
using graph::ValueId;

/// Walks over the nodes in order.
class Tracker
{
public:
    Tracker(const graph::Graph& graph, std::span<const ops::TensorType> types)
        : m_graph(graph), m_types(types), m_tracked(graph.valueCount(), false)
    {
        for (const ValueId input : graph.inputs()) {
            m_tracked[input.index()] = isFloating(input);
        }
    }

    void visit(const Node& node, std::span<const std::unique_ptr<ops::BoundOperator>> operators, std::size_t at)
    {
        const ops::Structure& structure = operators[at]->structure();
        if (structure.kind() == ops::StructureKind::NoRelevance) {
            return;
        }
        bool carries = std::any_of(node.inputs.begin(), node.inputs.end(), [this](ValueId operand) {
            return operand.isValid() && isFloating(operand) && m_tracked[operand.index()];
        });
        if (ops::isTokenSlot(structure, ops::Lookup::kIndices)) {
            carries = true;
            const auto path =
                tokenPath(m_graph, node.inputs[ops::Lookup::kIndices],
                          [&](graph::NodeId id) -> const ops::BoundOperator& { return *operators[id.index()]; });
            if (path) {
                m_tracked[path->input.index()] = true;
            }
        }
        for (const ValueId output : node.outputs) {
            if (output.isValid()) {
                m_tracked[output.index()] = carries && isFloating(output);
            }
        }
    }

    [[nodiscard]] std::vector<bool> take() && { return std::move(m_tracked); }

private:
    [[nodiscard]] bool isFloating(ValueId value) const { return tensor::isFloating(m_types[value.index()].dtype); }

    const graph::Graph& m_graph;
    std::span<const ops::TensorType> m_types;
    std::vector<bool> m_tracked;
};

} // namespace

std::vector<bool> trackedValues(const graph::Graph& graph,
                                std::span<const std::unique_ptr<ops::BoundOperator>> operators,
                                std::span<const ops::TensorType> types)
{
    Tracker tracker(graph, types);
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        tracker.visit(graph.node(graph::NodeId(i)), operators, i);
    }
    return std::move(tracker).take();
}

} // namespace retro::execute
