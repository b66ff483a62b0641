// SPDX-License-Identifier: Apache-2.0
#include "core/execute/earlyvalues.h"

#include "core/base/memorylimit.h"
#include "core/execute/boundmodel.h"
#include "core/ops/runoperator.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::execute
{

EarlyValues::EarlyValues(const BoundModel& model, std::span<const Tensor> inputs)
    : m_model(model), m_graph(model.graph()), m_inputs(inputs), m_values(m_graph.valueCount()),
      m_wasRead(m_graph.inputs().size(), false)
{}

bool EarlyValues::isKnown(ValueId value) const
{
    return m_model.isConstant(value) || m_values[value.index()].isValid();
}

Tensor EarlyValues::known(ValueId value) const
{
    return m_model.isConstant(value) ? m_model.constant(value) : m_values[value.index()];
}

/// Nodes that have to run for the value, in order; takes the inputs that they read.
std::vector<std::size_t> EarlyValues::nodesBelow(ValueId wanted)
{
    std::vector<std::size_t> nodes;
    std::vector<bool> isListed(m_graph.nodeCount(), false);
    std::vector<ValueId> open{wanted};
    while (!open.empty()) {
        const ValueId value = open.back();
        open.pop_back();
        if (!value.isValid() || isKnown(value)) {
            continue;
        }
        const NodeId node = m_graph.nodeOf(value);
        if (m_graph.isInput(node)) {
            const std::size_t position = node.index() - m_graph.nodeCount();
            m_values[value.index()] = m_inputs[position];
            m_wasRead[position] = true;
        } else if (!isListed[node.index()]) {
            isListed[node.index()] = true;
            nodes.push_back(node.index());
            const auto& inputs = m_graph.node(node).inputs;
            open.insert(open.end(), inputs.begin(), inputs.end());
        }
    }
    std::sort(nodes.begin(), nodes.end());
    return nodes;
}

base::Result<void> EarlyValues::run(std::size_t node)
{
    const graph::Node& definition = m_graph.nodes()[node];
    std::vector<Tensor> operands(definition.inputs.size());
    for (std::size_t slot = 0; slot < operands.size(); ++slot) {
        if (definition.inputs[slot].isValid()) {
            operands[slot] = known(definition.inputs[slot]);
        }
    }
    if (base::Result<void> checked = m_model.op(NodeId(node)).check(operands); !checked.ok()) {
        return base::inputError(fmt::format("{}: {}", ops::placeOf(definition), checked.error().message));
    }
    const base::MemoryAllowance asInRun(std::nullopt); // this is a part of the pass
    RETRO_TRY(const std::vector<Tensor> results, ops::runForward(m_model.op(NodeId(node)), definition, operands));
    for (std::size_t k = 0; k < std::min(results.size(), definition.outputs.size()); ++k) {
        if (definition.outputs[k].isValid()) {
            m_values[definition.outputs[k].index()] = results[k];
        }
    }
    return {};
}

base::Result<Tensor> EarlyValues::value(ValueId wanted)
{
    if (m_inputs.empty() && !m_graph.inputs().empty() && !isKnown(wanted)) {
        return base::inputError("the model computes it, and its inputs are not known yet");
    }
    for (const std::size_t node : nodesBelow(wanted)) {
        RETRO_CHECK(run(node));
    }
    return known(wanted);
}

std::vector<std::size_t> EarlyValues::readInputs() const
{
    std::vector<std::size_t> positions;
    for (std::size_t i = 0; i < m_wasRead.size(); ++i) {
        if (m_wasRead[i]) {
            positions.push_back(i);
        }
    }
    return positions;
}

} // namespace retro::execute
