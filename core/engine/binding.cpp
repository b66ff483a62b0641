// SPDX-License-Identifier: Apache-2.0
#include "core/engine/binding.h"

#include "core/execute/control/unroll.h"

#include <algorithm>
#include <optional>

namespace retro::engine
{

namespace
{

/// The rewritten graph, and what was fused inside its nodes.
struct Written
{
    std::shared_ptr<const graph::Graph> graph;
    std::vector<rewrite::FusedInBody> fused;
};

/// The rewritten graph with its computed constants in the digits that the precision has. Nodes and values have the same
/// ids in either.
base::Result<Written> withDigits(const LoadedModel& model, execute::Precision precision, const std::stop_token& stop)
{
    if (precision != execute::Precision::Double || model.graph() == model.rewritten.before) {
        return Written{model.graph(), model.rewritten.fusedInBodies};
    }
    rewrite::RewriteOptions options = model.rewritten.options;
    options.keepDigits = true;
    RETRO_TRY(rewrite::Rewritten wide, rewrite::rewrite(model.rewritten.before, options, stop));
    return Written{std::move(wide.graph), std::move(wide.fusedInBodies)};
}

/// A fused node as it runs; nothing where it is none.
std::optional<FusedInRun> fusedAt(const std::vector<rewrite::FusedInBody>& fused, const execute::Unrolled& flat,
                                  base::NodeId id)
{
    const execute::Origin& origin = flat.origins[id.index()];
    const auto at = std::find_if(fused.begin(), fused.end(), [&](const rewrite::FusedInBody& f) {
        return f.body.get() == origin.graph && f.body->node(origin.node).name == f.fused.node;
    });
    if (at == fused.end()) {
        return std::nullopt;
    }
    FusedInRun found{id, at->fused.members, {}};
    const std::vector<base::ValueId>& there = at->body->node(origin.node).inputs;
    const graph::Graph& members = *at->fused.members;
    for (const base::ValueId input : members.inputs()) {
        const auto slot = std::find(there.begin(), there.end(), *at->body->findValue(members.value(input).name));
        if (slot == there.end()) {
            return std::nullopt; // the fused node does not read what its members do; it runs as one
        }
        found.operands.push_back(flat.graph->node(id).inputs[static_cast<std::size_t>(slot - there.begin())]);
    }
    return found;
}

/// The graph that these inputs run: control flow, if there is any, written out.
base::Result<std::shared_ptr<const graph::Graph>>
graphFor(const LoadedModel& model, const std::vector<tensor::Tensor>& inputs, execute::Precision precision,
         std::vector<std::string>* written, const std::stop_token& stop)
{
    for (const graph::Value& value : model.graph()->values()) {
        if (value.kind == graph::ValueKind::Constant && !value.constant.isValid()) {
            return base::inputError(
                "the file has no data for this constant, so the graph can be drawn and planned for, "
                "but not run; write it with its data",
                "value '" + value.name + "'");
        }
    }
    RETRO_TRY(const Written graph, withDigits(model, precision, stop));
    if (!execute::hasControlFlow(*graph.graph)) {
        return graph.graph;
    }
    RETRO_TRY(execute::Unrolled flat, execute::unroll(*graph.graph, inputs, precision, stop));
    if (written != nullptr) {
        *written = std::move(flat.steps);
    }
    return flat.graph;
}

} // namespace

base::Result<std::shared_ptr<const execute::BoundModel>>
bindModel(const LoadedModel& model, const std::vector<tensor::Tensor>& inputs, execute::Precision precision,
          std::vector<std::string>* written, const std::stop_token& stop)
{
    std::vector<ops::TensorType> types;
    for (const tensor::Tensor& input : inputs) {
        types.push_back({input.dtype(), input.shape()});
    }
    auto graph = graphFor(model, inputs, precision, written, stop);
    if (!graph) {
        return base::within(std::move(graph).error(), model.path.string());
    }
    auto bound = execute::BoundModel::bind(*graph, types, precision, inPrecision(**graph, inputs, precision), stop);
    if (!bound) {
        return base::within(std::move(bound).error(), model.path.string());
    }
    return bound;
}

base::Result<std::vector<FusedInRun>> fusedInRun(const LoadedModel& model, const std::vector<tensor::Tensor>& inputs,
                                                 execute::Precision precision, const std::stop_token& stop)
{
    std::vector<FusedInRun> found;
    if (model.rewritten.fusedInBodies.empty()) {
        return found;
    }
    RETRO_TRY(const Written graph, withDigits(model, precision, stop));
    RETRO_TRY(const execute::Unrolled flat, execute::unroll(*graph.graph, inputs, precision, stop));
    for (std::size_t i = 0; i < flat.origins.size(); ++i) {
        if (auto fused = fusedAt(graph.fused, flat, base::NodeId(i))) {
            found.push_back(std::move(*fused));
        }
    }
    return found;
}

std::vector<tensor::Tensor> inPrecision(const graph::Graph& graph, const std::vector<tensor::Tensor>& inputs,
                                        execute::Precision precision)
{
    return execute::inRun(graph, inputs, precision);
}

} // namespace retro::engine
