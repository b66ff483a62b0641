// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/jointprogram.h"

#include "core/base/failure.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::runtime
{

using base::inputError;
using base::Result;

namespace
{

/// "d:" and "r:" before the name of a value.
constexpr std::size_t kPrefix = 2;

bool isPlanned(const JointProgram& program, const graph::Node& node)
{
    return std::ranges::all_of(node.outputs,
                               [&](ValueId output) { return !output.isValid() || program.idOf(output) != kNone; });
}

} // namespace

Result<JointProgram> JointProgram::make(std::shared_ptr<const BoundModel> model,
                                        const analysis::PlanningGraph& planning, std::span<const OpId> order,
                                        const analysis::JointOptions& options)
{
    if (analysis::hasGradients(planning.graph)) {
        return inputError("the graph is a captured training step, which can be planned but not run; run the model that "
                          "it was captured from");
    }
    if (options.hasParameterGradients) {
        return inputError("gradients of initializers are run as gradients of inputs; open the parameters instead");
    }
    JointProgram program;
    program.m_model = std::move(model);
    RETRO_TRY(program.m_joint, analysis::jointGraph(planning.graph, order, options));
    program.m_forward = planning.graph;
    program.m_forwardValues = planning.graph.values().size();
    program.m_ids.assign(program.m_model->graph().valueCount(), kNone);
    program.m_gradients = program.m_ids;
    program.m_starts.assign(program.m_ids.size(), false);
    RETRO_CHECK(program.nameForward(planning.graph));
    RETRO_CHECK(program.nameGradients());
    RETRO_CHECK(program.checkNodes());
    RETRO_CHECK(program.checkBytes());
    return program;
}

JointProgram JointProgram::alone(analysis::JointGraph forward) const
{
    JointProgram program = *this;
    base::guard(forward.forwardCount == m_joint.forwardCount && forward.graph.values().size() == m_forwardValues,
                "a program of forward operators has all of them");
    program.m_joint = std::move(forward);
    program.m_values.resize(m_forwardValues);
    program.m_gradients.assign(m_gradients.size(), kNone);
    return program;
}

Result<void> JointProgram::nameForward(const analysis::OpGraph& forward)
{
    const graph::Graph& graph = m_model->graph();
    for (OpValueId id = 0; id < forward.values().size(); ++id) {
        const auto value = graph.findValue(forward.value(id).name);
        if (!value) {
            return inputError("the model has no such value; plan the graph that is run", forward.value(id).name);
        }
        m_values.push_back(*value);
        m_ids[value->index()] = id;
        m_starts[value->index()] = forward.value(id).isOutput;
    }
    for (OpId id = 0; id < m_joint.forwardCount; ++id) {
        const auto node = graph.findNode(m_joint.graph.op(id).name);
        if (!node) {
            return inputError("the model has no such node; plan the graph that is run", m_joint.graph.op(id).name);
        }
        m_nodes.push_back(*node);
    }
    return {};
}

Result<void> JointProgram::nameGradients()
{
    for (auto id = static_cast<OpValueId>(m_forwardValues); id < graph().values().size(); ++id) {
        const auto value = m_model->graph().findValue(std::string_view(graph().value(id).name).substr(kPrefix));
        if (!value) {
            return inputError("the model has no such value; plan the graph that is run", graph().value(id).name);
        }
        m_values.push_back(*value);
        m_gradients[value->index()] = id;
    }
    return {};
}

Result<void> JointProgram::checkNodes()
{
    std::vector<bool> runs(m_model->graph().nodeCount(), false);
    for (const NodeId node : m_nodes) {
        runs[node.index()] = true;
    }
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const graph::Node& node = m_model->graph().node(NodeId(i));
        const bool readsConstants = std::ranges::all_of(
            node.inputs, [&](ValueId input) { return !input.isValid() || m_ids[input.index()] == kNone; });
        if (runs[i] && isPlanned(*this, node)) {
            continue;
        }
        if (!readsConstants) {
            return inputError("the graph states that its result shares memory with its operand (storage), which the "
                              "engine does not do; run without a plan, or leave `storage` out",
                              fmt::format("node '{}' ({})", node.name, node.op));
        }
        m_constantNodes.push_back(NodeId(i));
    }
    return {};
}

Result<void> JointProgram::checkBytes() const
{
    for (OpValueId id = 0; id < m_forwardValues; ++id) {
        const ops::TensorType& type = m_model->typeOf(m_values[id]);
        const auto made = static_cast<std::uint64_t>(tensor::elementCount(type.shape)) * tensor::sizeOf(type.dtype);
        if (made != graph().value(id).bytes) {
            return inputError(fmt::format("the graph states {} bytes, the engine makes {} ({} {}); leave `bytes` out, "
                                          "or run in float",
                                          graph().value(id).bytes, made, tensor::nameOf(type.dtype),
                                          tensor::toText(type.shape)),
                              graph().value(id).name);
        }
    }
    return {};
}

} // namespace retro::runtime
