// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/body/functionbody.h"

#include "core/rewrite/addvalue.h"
#include "core/rewrite/body/bodybuilder.h"

#include <fmt/format.h>

#include <array>

namespace retro::rewrite
{

namespace
{

struct KnownBody
{
    std::string_view domain;
    std::string_view op;
    base::Result<FunctionBody> (*write)(BodyBuilder);
};

constexpr std::array kBodies{
    KnownBody{"", "Attention", attentionBody},
    KnownBody{"", "SwiGLU", swiGluBody},
    KnownBody{"", "RNN", rnnBody},
    KnownBody{"", "GRU", gruBody},
    KnownBody{"", "LSTM", lstmBody},
    KnownBody{"", "DeformConv", deformConvolutionBody},
    KnownBody{"com.microsoft", "Attention", fusedAttentionBody},
    KnownBody{"com.microsoft", "SkipLayerNormalization", skipLayerNormBody},
    KnownBody{"com.microsoft", "SkipSimplifiedLayerNormalization", skipRmsNormBody},
    KnownBody{"com.microsoft", "BiasGelu", biasGeluBody},
    KnownBody{"com.microsoft", "FastGelu", fastGeluBody},
};

/// Copies a graph, with a Detach behind the inputs that are marked.
class DetachingCopy
{
public:
    explicit DetachingCopy(const graph::Graph& graph)
        : m_graph(graph), m_builder(graph.name()), m_ids(graph.valueCount())
    {
        m_builder.setOpsets(graph);
        m_builder.setOpset("retrograde", 1);
    }

    [[nodiscard]] base::Result<graph::Graph> run(const std::vector<bool>& isDetached) &&
    {
        for (std::size_t i = 0; i < m_graph.inputs().size(); ++i) {
            addInput(m_graph.inputs()[i], isDetached[i]);
        }
        for (std::size_t i = 0; i < m_graph.valueCount(); ++i) {
            if (!m_ids[i].isValid()) {
                const graph::Value& value = m_graph.value(ValueId(i));
                m_ids[i] = addValue(m_builder, value, value.kind);
            }
        }
        for (graph::Node node : m_graph.nodes()) {
            renumber(node.inputs);
            renumber(node.outputs);
            m_builder.addNode(std::move(node));
        }
        for (const ValueId output : m_graph.outputs()) {
            m_builder.addOutput(m_ids[output.index()]);
        }
        return std::move(m_builder).build();
    }

private:
    void addInput(ValueId id, bool isDetached)
    {
        const graph::Value& value = m_graph.value(id);
        if (!isDetached || !tensor::isFloating(value.dtype)) {
            m_ids[id.index()] = addValue(m_builder, value, value.kind);
            return;
        }
        const ValueId given = m_builder.addInput(value.name + ", given", value.dtype, value.shape);
        m_ids[id.index()] = m_builder.addResult(value.name);
        m_builder.addNode({"Detach", "retrograde", value.name + ", detached", "", 1, {given}, {m_ids[id.index()]}, {}});
    }
    void renumber(std::vector<ValueId>& ids) const
    {
        for (ValueId& id : ids) {
            id = id.isValid() ? m_ids[id.index()] : id;
        }
    }

    const graph::Graph& m_graph;
    graph::GraphBuilder m_builder;
    std::vector<ValueId> m_ids;
};

} // namespace

base::Result<FunctionBody> functionBody(const graph::Node& node, std::span<const BodyOperand> operands)
{
    for (const KnownBody& known : kBodies) {
        if (node.domain == known.domain && node.op == known.op) {
            return known.write(BodyBuilder(node, operands));
        }
    }
    return base::inputError(fmt::format("{} does many steps in one and cannot be taken apart", node.op));
}

base::Result<graph::Graph> withDetached(const graph::Graph& graph, const std::vector<bool>& isDetached)
{
    return DetachingCopy(graph).run(isDetached);
}

} // namespace retro::rewrite
