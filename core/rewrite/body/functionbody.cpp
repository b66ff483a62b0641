// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/body/functionbody.h"

#include "core/graph/renumbered.h"
#include "core/rewrite/addvalue.h"
#include "core/rewrite/body/bodybuilder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace retro::rewrite
{

namespace
{

struct KnownBody
{
    std::string_view op; ///< of the standard
    base::Result<FunctionBody> (*write)(BodyBuilder);
};

constexpr std::array kBodies{
    KnownBody{"Attention", attentionBody},
    KnownBody{"RNN", rnnBody},
    KnownBody{"GRU", gruBody},
    KnownBody{"LSTM", lstmBody},
    KnownBody{"DeformConv", deformConvolutionBody},
};

} // namespace

base::Result<FunctionBody> functionBody(const graph::Node& node, std::span<const BodyOperand> operands)
{
    const auto known = std::ranges::find(kBodies, node.op, &KnownBody::op);
    if (node.domain.empty() && known != kBodies.end()) {
        return known->write(BodyBuilder(node, operands));
    }
    return base::inputError(fmt::format("{} does many steps in one and cannot be taken apart", node.op));
}

base::Result<graph::Graph> withDetached(const graph::Graph& graph, const std::vector<bool>& isDetached)
{
    graph::GraphBuilder builder(graph.name());
    builder.setOpsets(graph);
    builder.setOpset("retrograde", 1);
    std::vector<ValueId> ids(graph.valueCount());
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
        const ValueId input = graph.inputs()[i];
        const graph::Value& value = graph.value(input);
        if (isDetached[i] && tensor::isFloating(value.dtype)) {
            const ValueId given = builder.addInput(value.name + ", given", value.dtype, value.shape);
            ids[input.index()] = builder.addResult(value.name);
            builder.addNode(
                {"Detach", "retrograde", value.name + ", detached", "", 1, {given}, {ids[input.index()]}, {}});
        } else {
            ids[input.index()] = addValue(builder, value, value.kind);
        }
    }
    for (std::size_t i = 0; i < graph.valueCount(); ++i) {
        if (!ids[i].isValid()) {
            const graph::Value& value = graph.value(ValueId(i));
            ids[i] = addValue(builder, value, value.kind);
        }
    }
    for (const graph::Node& node : graph.nodes()) {
        builder.addNode(renumbered(node, ids));
    }
    for (const ValueId output : graph.outputs()) {
        builder.addOutput(ids[output.index()]);
    }
    return std::move(builder).build();
}

} // namespace retro::rewrite
