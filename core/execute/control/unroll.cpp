// SPDX-License-Identifier: Apache-2.0
#include "core/execute/control/unroll.h"

#include "core/base/memorylimit.h"
#include "core/execute/control/decisions.h"
#include "core/execute/control/walker.h"
#include "core/graph/fromaround.h"
#include "core/graph/insides.h"
#include "core/ops/layerkind.h"
#include "core/ops/schema/schema.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::execute
{

using base::Result;
using graph::Subgraph;

namespace
{

bool isControl(const graph::Node& node)
{
    return std::any_of(node.attributes.begin(), node.attributes.end(),
                       [](const auto& entry) { return std::holds_alternative<Subgraph>(entry.second); });
}

/// What of a control-flow node does not fit together, whatever it is: operands and attributes that its operator does
/// not have, and inner graphs that read more values from around them than the node hands over.
std::optional<std::string> controlFault(const graph::Node& node)
{
    for (const auto& [name, value] : node.attributes) {
        const auto* inner = std::get_if<Subgraph>(&value);
        if (inner != nullptr && inner->captured > std::min(node.inputs.size(), inner->graph->inputs().size())) {
            return fmt::format("its {} reads {} values from around it, which the node does not hand over", name,
                               inner->captured);
        }
    }
    return ops::schemaFault(node);
}

} // namespace

base::Error controlError(const graph::Node& node, std::string message)
{
    return base::inputError(std::move(message),
                            fmt::format("node '{}' ({}, opset {})", node.name, node.op, node.opset));
}

LiveValue Walker::valueOf(Frame& frame, ValueId id)
{
    if (!id.isValid()) {
        return {};
    }
    const graph::Value& value = frame.graph.value(id);
    if (value.kind != graph::ValueKind::Constant) {
        return frame.values[id.index()];
    }
    const auto [at, isNew] = m_constants.try_emplace({&frame.graph, id.value});
    if (isNew) {
        graph::Value named = value;
        const bool isFromAround = value.name.starts_with(graph::kFromAround);
        while (named.name.starts_with(graph::kFromAround)) {
            named.name.erase(0, graph::kFromAround.size());
        }
        if (isFromAround || frame.place.prefix.empty()) {
            at->second = outerConstant(named);
        } else {
            named.name.insert(0, frame.place.prefix);
            at->second = m_emitter.addConstant(named);
        }
    }
    return at->second;
}

LiveValue Walker::outerConstant(const graph::Value& named)
{
    const auto [at, isNew] =
        m_outerConstants.try_emplace({named.name, named.constant.isValid() ? named.constant.rawData() : nullptr});
    if (isNew) {
        at->second = m_emitter.addConstant(named);
    }
    return at->second;
}

void Walker::release(Frame& frame, const graph::Node& node)
{
    for (const ValueId id : node.inputs) {
        if (id.isValid() && --frame.readers[id.index()] == 0) {
            frame.values[id.index()].data = {};
        }
    }
}

Result<Walker::Values> Walker::runPlain(Frame& frame, base::NodeId id, const Values& operands)
{
    graph::Node node = frame.graph.node(id);
    std::vector<std::string> names;
    for (const ValueId output : node.outputs) {
        names.push_back(output.isValid() ? frame.place.prefix + frame.graph.value(output).name : std::string());
    }
    node.name = frame.place.prefix + node.name;
    node.scope = graph::joinedScope(frame.place.scope, node.scope);
    RETRO_TRY(Values results, m_emitter.run(frame.graph, id, std::move(node), operands, names));
    m_emitter.setOrigin({&frame.graph, id});
    return results;
}

Result<Walker::Values> Walker::dispatch(const Call& call)
{
    if (ops::isBranch(call.node)) {
        return runIf(call);
    }
    if (call.node.op == "Loop") {
        return runLoop(call);
    }
    return call.node.op == "Scan"
               ? runScan(call)
               : controlError(call.node, "the operator holds a graph and is not known; only If, Loop "
                                         "and Scan may");
}

void Walker::decide(const Call& call, const std::string& taken)
{
    m_steps.push_back(fmt::format("{} '{}': {}", call.node.op, call.node.name, taken));
    m_taken[call.place.prefix] = taken;
}

/// The results keep the names that the model gives them; the first one says how the node went.
Result<Walker::Values> Walker::runControl(Frame& frame, const graph::Node& node, Values operands)
{
    if (auto fault = controlFault(node)) {
        return controlError(node, std::move(*fault));
    }
    const base::MemoryAllowance allowance(base::MemoryLimit::beforeRun()); // steps may make what they carry ever larger
    const Place inner{frame.place.prefix + node.name + "/",
                      graph::joinedScope(graph::joinedScope(frame.place.scope, node.scope), node.name)};
    RETRO_TRY(const Values results, dispatch({node, std::move(operands), inner}));
    if (results.size() < node.outputs.size()) {
        return controlError(
            node, fmt::format("its graph has {} results, the node wants {}", results.size(), node.outputs.size()));
    }
    Values named(node.outputs.size());
    bool isTold = false;
    for (std::size_t k = 0; k < named.size(); ++k) {
        if (!node.outputs[k].isValid()) {
            continue;
        }
        graph::Node identity;
        identity.op = "Identity";
        identity.name = fmt::format("{}out{}", inner.prefix, k);
        identity.scope = inner.scope;
        if (!isTold) {
            tellDecision(identity, frame.place.prefix + node.name, m_taken[inner.prefix]);
            isTold = true;
        }
        const std::string name = frame.place.prefix + frame.graph.value(node.outputs[k]).name;
        RETRO_TRY(named[k], m_emitter.runHelper(std::move(identity), std::span(&results[k], 1), name));
    }
    return named;
}

Result<void> Walker::runNode(Frame& frame, base::NodeId id)
{
    const graph::Node& node = frame.graph.node(id);
    Values operands;
    for (const ValueId input : node.inputs) {
        operands.push_back(valueOf(frame, input));
    }
    RETRO_TRY(Values results,
              isControl(node) ? runControl(frame, node, std::move(operands)) : runPlain(frame, id, operands));
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
        if (node.outputs[k].isValid()) {
            frame.values[node.outputs[k].index()] = std::move(results[k]);
        }
    }
    release(frame, node);
    return {};
}

Result<Walker::Values> Walker::walk(const graph::Graph& graph, std::span<const LiveValue> inputs, const Place& place)
{
    Frame frame{graph, place, Values(graph.valueCount()), std::vector<std::size_t>(graph.valueCount())};
    for (std::size_t i = 0; i < graph.valueCount(); ++i) {
        frame.readers[i] = graph.uses(ValueId(i)).size();
    }
    for (const ValueId output : graph.outputs()) {
        ++frame.readers[output.index()];
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        frame.values[graph.inputs()[i].index()] = inputs[i];
    }
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        RETRO_CHECK(runNode(frame, base::NodeId(i)));
    }
    Values outputs;
    for (const ValueId output : graph.outputs()) {
        outputs.push_back(valueOf(frame, output));
    }
    return outputs;
}

bool hasControlFlow(const graph::Graph& graph)
{
    return std::any_of(graph.nodes().begin(), graph.nodes().end(), isControl);
}

Result<Unrolled> unroll(const graph::Graph& graph, std::span<const Tensor> inputs, Precision precision,
                        const std::stop_token& stop, std::size_t mostNodes)
{
    if (inputs.size() != graph.inputs().size()) {
        return base::inputError(
            fmt::format("the model has {} inputs, but {} were given", graph.inputs().size(), inputs.size()),
            graph.name());
    }
    Emitter emitter(graph, precision, stop, mostNodes);
    Unrolled result;
    std::vector<LiveValue> values;
    const std::vector<Tensor> own = inRun(graph, inputs, precision);
    for (std::size_t i = 0; i < own.size(); ++i) {
        values.push_back(emitter.addInput(graph.value(graph.inputs()[i]), own[i]));
    }
    Walker walker(emitter, result.steps);
    RETRO_TRY(const Walker::Values outputs, walker.walk(graph, values, {}));
    for (const LiveValue& output : outputs) {
        emitter.addOutput(output);
    }
    result.origins = emitter.takeOrigins(); // nodes are written in an order in which they can run, which stays
    RETRO_TRY(graph::Graph flat, std::move(emitter).finish());
    result.graph = std::make_shared<const graph::Graph>(std::move(flat));
    return result;
}

} // namespace retro::execute
