// SPDX-License-Identifier: Apache-2.0
#include "core/engine/forwarding/gradientneeds.h"

#include <algorithm>

namespace retro::engine
{

using base::NodeId;
using base::ValueId;

GradientNeeds::GradientNeeds(std::shared_ptr<const execute::BoundModel> bound, ValueId target,
                             std::span<const ValueId> inputs)
    : ForwardNeeds(std::move(bound), {target}), m_subject(PassSubject::gradient(sharedModel(), {target}, inputs)),
      m_runs(model().graph().nodeCount(), false)
{
    findRuns();
    for (std::size_t i = 0; i < m_runs.size(); ++i) {
        if (m_runs[i]) {
            addReads(NodeId(i), m_subject.reads(NodeId(i), wanted(NodeId(i))), true);
        }
    }
}

void GradientNeeds::findRuns()
{
    const graph::Graph& graph = model().graph();
    std::vector<bool> arrives(graph.valueCount(), false);
    arrives[target().index()] = isTracked(target());
    for (std::size_t i = graph.nodeCount(); i-- > 0;) { // nodes are in topological order
        const graph::Node& node = graph.node(NodeId(i));
        const std::vector<std::uint8_t> asked = wanted(NodeId(i));
        m_runs[i] = std::ranges::any_of(node.outputs, [&](ValueId v) { return v.isValid() && arrives[v.index()]; }) &&
                    std::ranges::find(asked, 1) != asked.end();
        for (std::size_t slot = 0; m_runs[i] && slot < asked.size(); ++slot) {
            if (asked[slot] != 0) { // an optional operand that is absent is not asked
                arrives[node.inputs[slot].index()] = true;
            }
        }
    }
}

} // namespace retro::engine
