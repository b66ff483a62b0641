// SPDX-License-Identifier: Apache-2.0
#include "core/engine/forwarding/gradientneeds.h"

#include "core/lrp/gradientparts.h"

#include <algorithm>

namespace retro::engine
{

using base::NodeId;
using base::ValueId;

GradientNeeds::GradientNeeds(std::shared_ptr<const execute::BoundModel> model, ValueId target)
    : m_model(std::move(model)), m_target(target), m_runs(m_model->graph().nodeCount(), false),
      m_reads(m_model->graph().valueCount())
{
    findRuns();
    for (std::size_t i = 0; i < m_runs.size(); ++i) {
        if (m_runs[i]) {
            addReads(NodeId(i));
        }
    }
}

void GradientNeeds::findRuns()
{
    const graph::Graph& graph = m_model->graph();
    std::vector<bool> arrives(graph.valueCount(), false);
    arrives[m_target.index()] = isTracked(m_target);
    for (std::size_t i = graph.nodeCount(); i-- > 0;) { // nodes are in topological order
        const graph::Node& node = graph.node(NodeId(i));
        const std::vector<std::uint8_t> asked = wanted(NodeId(i));
        m_runs[i] = std::ranges::any_of(node.outputs, [&](ValueId v) { return v.isValid() && arrives[v.index()]; }) &&
                    std::ranges::find(asked, 1) != asked.end();
        for (std::size_t slot = 0; m_runs[i] && slot < asked.size(); ++slot) {
            arrives[node.inputs[slot].index()] = arrives[node.inputs[slot].index()] || asked[slot] != 0;
        }
    }
}

bool GradientNeeds::isTracked(ValueId value) const
{
    return value.isValid() && m_model->isTracked(value) && tensor::isFloating(m_model->typeOf(value).dtype);
}

std::vector<std::uint8_t> GradientNeeds::wanted(NodeId node) const
{
    std::vector<std::uint8_t> list;
    for (const ValueId operand : m_model->graph().node(node).inputs) {
        list.push_back(isTracked(operand) ? 1 : 0);
    }
    return list;
}

bool GradientNeeds::isForwarded(ValueId value) const
{
    const bool isResult = m_model->graph().value(value).kind == graph::ValueKind::Result;
    return isResult && !m_model->isConstant(value) && !m_reads[value.index()].empty();
}

void GradientNeeds::addReads(NodeId node)
{
    const graph::Node& at = m_model->graph().node(node);
    const ops::Reads reads = lrp::gradientReads(m_model->op(node), wanted(node));
    for (std::size_t slot = 0; slot < at.inputs.size(); ++slot) {
        if (at.inputs[slot].isValid() && reads.operand(slot)) {
            m_reads[at.inputs[slot].index()].push_back({node, false});
        }
    }
    for (std::size_t k = 0; k < at.outputs.size(); ++k) {
        if (at.outputs[k].isValid() && reads.output(k)) {
            m_reads[at.outputs[k].index()].push_back({node, true});
        }
    }
}

} // namespace retro::engine
