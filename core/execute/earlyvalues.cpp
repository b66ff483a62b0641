// SPDX-License-Identifier: Apache-2.0
#include "core/execute/earlyvalues.h"

#include "core/base/memorylimit.h"
#include "core/execute/boundmodel.h"
#include "core/graph/reach.h"
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

void EarlyValues::takeInput(ValueId value)
{
    if (value.isValid() && !isKnown(value) && !m_graph.value(value).producer.isValid()) {
        const std::size_t position = m_graph.nodeOf(value).index() - m_graph.nodeCount();
        m_values[value.index()] = m_inputs[position];
        m_wasRead[position] = true;
    }
}

base::Result<void> EarlyValues::run(NodeId node)
{
    const graph::Node& definition = m_graph.node(node);
    std::vector<Tensor> operands(definition.inputs.size());
    for (std::size_t slot = 0; slot < operands.size(); ++slot) {
        if (definition.inputs[slot].isValid()) {
            operands[slot] = known(definition.inputs[slot]);
        }
    }
    if (base::Result<void> checked = m_model.op(node).check(operands); !checked.ok()) {
        return base::inputError(fmt::format("{}: {}", ops::placeOf(definition), checked.error().message));
    }
    const base::MemoryAllowance asInRun(std::nullopt); // this is a part of the pass
    RETRO_TRY(const std::vector<Tensor> results, ops::runForward(m_model.op(node), definition, operands));
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
    takeInput(wanted);
    for (const NodeId node : graph::nodesMaking(m_graph, wanted, [this](ValueId value) { return isKnown(value); })) {
        std::ranges::for_each(m_graph.node(node).inputs, [this](ValueId operand) { takeInput(operand); });
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
