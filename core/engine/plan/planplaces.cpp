// SPDX-License-Identifier: Apache-2.0
#include "core/engine/plan/planplaces.h"

#include <string_view>

namespace retro::engine
{

using analysis::OpId;
using analysis::OpValueId;

namespace
{

/// "d:" and "r:" before the name of a value, "dw:" before that of a node.
constexpr std::size_t kPrefix = 2;
constexpr std::string_view kOfParameters = "dw:";

} // namespace

PlanPlaces::PlanPlaces(const graph::Graph& graph, const analysis::OpGraph& joint)
    : m_values(joint.values().size()), m_outputs(joint.values().size(), 0), m_nodes(joint.size())
{
    for (OpValueId id = 0; id < joint.values().size(); ++id) {
        place(graph, joint, id);
    }
    for (OpId op = 0; op < joint.size(); ++op) {
        const std::string_view name = joint.op(op).name;
        const auto node = graph.findNode(name);
        const auto ofParameters =
            name.starts_with(kOfParameters) ? graph.findNode(name.substr(kOfParameters.size())) : std::nullopt;
        if (node) {
            m_nodes[op] = *node;
        } else if (ofParameters) {
            m_nodes[op] = *ofParameters;
        } else if (!joint.op(op).outputs.empty()) {
            m_nodes[op] = base::NodeId(m_values[joint.op(op).outputs.front()].node);
        }
    }
}

void PlanPlaces::place(const graph::Graph& graph, const analysis::OpGraph& joint, OpValueId id)
{
    const analysis::OpValue& value = joint.value(id);
    const bool isMadeByNode = value.producer == analysis::kNone || graph.findNode(joint.op(value.producer).name);
    const std::string_view name = value.name;
    const bool isGradient = !isMadeByNode && name.size() > kPrefix && !name.starts_with(kOfParameters);
    const auto found = isMadeByNode ? graph.findValue(name)
                       : isGradient ? graph.findValue(name.substr(kPrefix))
                                    : std::nullopt;
    if (found) {
        m_values[id] = {graph.nodeOf(*found).value, found->value, isGradient};
        const graph::Value& made = graph.value(*found);
        m_outputs[id] = made.producer.isValid() ? made.producerOutput : 0;
    }
}

} // namespace retro::engine
