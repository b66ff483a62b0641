// SPDX-License-Identifier: Apache-2.0
#include "core/engine/luttrain/lutnetwork.h"
#include "core/graph/graphbuilder.h"

#include <fmt/format.h>

namespace retro::engine
{

using base::ValueId;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

namespace
{

std::int64_t extent(std::uint64_t n) { return static_cast<std::int64_t>(n); }

class NetworkGraph
{
public:
    NetworkGraph(const LutNetwork& network, const std::array<std::uint32_t, 2>& picture)
        : m_network(network), m_picture(picture), m_builder("lut network")
    {
        m_builder.setOpset("", 18);
        m_builder.setOpset("ai.retrograde", 1);
    }

    base::Result<graph::Graph> make(const std::vector<float>& embedding)
    {
        const LutNetworkPlan& plan = m_network.plan();
        ValueId x = input(embedding);
        for (std::size_t i = 0; i < m_network.layers().size(); ++i) {
            x = layer(x, m_network.layers()[i], i);
        }
        if (plan.length > 1) {
            const ValueId last = m_builder.addConstant("last", Tensor::scalar<std::int64_t>(extent(plan.length) - 1));
            x = node("Gather", "last_position", {x, last}, {{"axis", std::int64_t{1}}}, {}, "logits");
        }
        m_builder.addOutput(x);
        return std::move(m_builder).build();
    }

private:
    ValueId input(const std::vector<float>& embedding)
    {
        const LutNetworkPlan& plan = m_network.plan();
        std::vector<graph::Dimension> shape{{std::nullopt, "N"}};
        if (plan.length > 1) {
            shape.push_back({extent(plan.length), {}});
        }
        if (m_picture[0] > 0) {
            for (const std::uint32_t side : {1U, m_picture[0], m_picture[1]}) {
                shape.push_back({extent(side), {}});
            }
            const ValueId x = m_builder.addInput("x", DType::Float32, std::move(shape));
            return node("Flatten", "flatten", {x}, {{"axis", std::int64_t{1}}}, {}, "pixels");
        }
        if (plan.vocabulary == 0) {
            shape.push_back({extent(plan.inputs), {}});
            return m_builder.addInput("x", DType::Float32, std::move(shape));
        }
        const ValueId tokens = m_builder.addInput("tokens", DType::Int64, std::move(shape));
        const ValueId rows = m_builder.addConstant(
            "embedding", Tensor::of<float>({extent(plan.vocabulary), extent(plan.inputs)}, embedding));
        return node("Gather", "embed", {rows, tokens}, {{"axis", std::int64_t{0}}}, {}, "embedded");
    }

    ValueId layer(ValueId x, const LutTrainLayer& layer, std::size_t index)
    {
        const lut::LayerShape& shape = layer.shape;
        const std::string name = fmt::format("lut{}", index + 1);
        std::vector<std::int64_t> anchors;
        for (const lut::Anchor& pair : layer.anchors) {
            anchors.insert(anchors.end(), {std::int64_t{pair.a}, std::int64_t{pair.b}});
        }
        const Shape rows = layer.isSparse() ? Shape{extent(layer.weights.size())}
                                            : Shape{shape.tables, extent(shape.rows()), shape.outputs};
        std::vector<ValueId> inputs{
            x,
            m_builder.addConstant(name + ".anchors",
                                  Tensor::of<std::int64_t>({shape.tables, shape.comparisons, 2}, anchors)),
            m_builder.addConstant(name + ".rows", Tensor::of<float>(rows, layer.weights))};
        if (shape.codeBits > 0 || layer.isSparse()) {
            inputs.push_back(shape.codeBits == 0
                                 ? ValueId()
                                 : m_builder.addConstant(
                                       name + ".codes",
                                       Tensor::of<float>({shape.lags(), shape.tables, shape.codeBits}, layer.codes)));
        }
        graph::Attributes attributes{{"sequence", std::int64_t{shape.isSequence ? 1 : 0}}};
        if (layer.isSparse()) {
            inputs.push_back(integers(name + ".row_starts", layer.rowStarts));
            inputs.push_back(integers(name + ".columns", layer.columns));
            attributes["outputs"] = std::int64_t{shape.outputs};
        }
        const bool isResult = index + 1 == m_network.layers().size() && m_network.plan().length == 1;
        const ValueId y = node("LUT", name, std::move(inputs), std::move(attributes), "ai.retrograde",
                               isResult && !layer.isResidual ? "logits" : name + ".out");
        return layer.isResidual ? node("Add", name + ".residual", {x, y}, {}, {}, isResult ? "logits" : name + ".sum")
                                : y;
    }

    template <class T>
    ValueId integers(const std::string& name, const std::vector<T>& values)
    {
        const std::vector<std::int64_t> wide(values.begin(), values.end());
        return m_builder.addConstant(name, Tensor::of<std::int64_t>({extent(wide.size())}, wide));
    }

    ValueId node(const std::string& op, const std::string& name, std::vector<ValueId> inputs,
                 graph::Attributes attributes, const std::string& domain, const std::string& result)
    {
        const ValueId output = m_builder.addResult(result);
        m_builder.addNode(
            {op, domain, name, "", domain.empty() ? 18 : 1, std::move(inputs), {output}, std::move(attributes)});
        return output;
    }

    const LutNetwork& m_network;
    const std::array<std::uint32_t, 2>& m_picture;
    graph::GraphBuilder m_builder;
};

} // namespace

base::Result<graph::Graph> LutNetwork::toGraph(std::array<std::uint32_t, 2> picture) const
{
    const bool isPicture = picture[0] > 0 || picture[1] > 0;
    const bool fits = std::uint64_t{picture[0]} * picture[1] == m_plan.inputs && m_plan.length == 1;
    if (isPicture && (!fits || m_plan.vocabulary > 0)) {
        return base::inputError(fmt::format("a picture of {} × {} does not have the {} inputs of the network",
                                            picture[0], picture[1], m_plan.inputs));
    }
    return NetworkGraph(*this, picture).make(m_embedding);
}

} // namespace retro::engine
