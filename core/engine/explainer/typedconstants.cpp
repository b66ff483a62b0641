// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explainer/typedconstants.h"

#include "core/graph/graphbuilder.h"

#include <algorithm>
#include <vector>

namespace retro::engine
{

base::Result<std::shared_ptr<const graph::Graph>> withTypedConstants(const graph::Graph& graph,
                                                                     const std::stop_token& stop)
{
    graph::GraphBuilder builder(graph.name());
    for (const auto& [domain, version] : graph.opsets()) {
        builder.setOpset(domain, version);
    }
    std::vector<graph::ValueId> copy(graph.valueCount());
    for (const graph::ValueId input : graph.inputs()) {
        const graph::Value& value = graph.value(input);
        copy[input.index()] = builder.addInput(value.name, value.dtype, value.shape);
    }
    for (std::size_t i = 0; i < graph.valueCount(); ++i) {
        const graph::Value& value = graph.value(graph::ValueId(i));
        if (value.kind == graph::ValueKind::Constant) {
            const bool isFloat = tensor::isFloating(value.constant.dtype());
            copy[i] = builder.addConstant(value.name, isFloat ? value.constant.to(value.dtype) : value.constant);
        } else if (value.kind == graph::ValueKind::Result) {
            copy[i] = builder.addResult(value.name);
            builder.declare(copy[i], value.dtype, value.shape);
        }
    }
    const auto take = [&](std::vector<graph::ValueId>& values) {
        std::ranges::transform(values, values.begin(),
                               [&](graph::ValueId value) { return value.isValid() ? copy[value.index()] : value; });
    };
    for (graph::Node node : graph.nodes()) {
        take(node.inputs);
        take(node.outputs);
        builder.addNode(std::move(node));
    }
    for (const graph::ValueId output : graph.outputs()) {
        builder.addOutput(copy[output.index()]);
    }
    RETRO_TRY(graph::Graph built, std::move(builder).build(stop));
    return std::make_shared<const graph::Graph>(std::move(built));
}

} // namespace retro::engine
