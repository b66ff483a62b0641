// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/forward.h"
#include "core/graph/graphbuilder.h"
#include "core/rewrite/rewrite.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace retro::rewrite::testing
{

using execute::Precision;
using graph::Attributes;
using graph::Graph;
using graph::ValueId;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

using SharedGraph = std::shared_ptr<const Graph>;

/// Floats from −1 to 1, or from `low` to `high`.
inline Tensor randomTensor(const Shape& shape, unsigned seed, double low = -1, double high = 1)
{
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> draw(low, high);
    std::vector<float> values(static_cast<std::size_t>(tensor::elementCount(shape)));
    std::generate(values.begin(), values.end(), [&] { return static_cast<float>(draw(random)); });
    return Tensor::of<float>(shape, values);
}

/// Writes graphs in few words. Node names are given; a node's value is named `<node>_out`.
class Writer
{
public:
    Writer() { m_builder.setOpset("", 17); }
    ValueId input(const std::string& name, const Shape& shape)
    {
        return m_builder.addInput(name, DType::Float32, shape);
    }
    ValueId integers(const std::string& name, const Shape& shape)
    {
        return m_builder.addInput(name, DType::Int64, shape);
    }
    ValueId constant(const std::string& name, Tensor data) { return m_builder.addConstant(name, std::move(data)); }
    ValueId node(const std::string& op, const std::string& name, std::vector<ValueId> inputs,
                 Attributes attributes = {}, std::int64_t opset = 17)
    {
        const ValueId result = m_builder.addResult(name + "_out");
        m_builder.addNode({op, "", name, "", opset, std::move(inputs), {result}, std::move(attributes)});
        return result;
    }
    /// Of another domain, in its first version.
    ValueId nodeOf(const std::string& domain, const std::string& op, const std::string& name,
                   std::vector<ValueId> inputs)
    {
        m_builder.setOpset(domain, 1);
        const ValueId result = m_builder.addResult(name + "_out");
        m_builder.addNode({op, domain, name, "", 1, std::move(inputs), {result}, {}});
        return result;
    }
    ValueId batchNorm(const std::string& name, ValueId x, std::int64_t channels, Attributes attributes = {},
                      std::int64_t opset = 17)
    {
        const auto seed = static_cast<unsigned>(channels);
        return node("BatchNormalization", name,
                    {x, constant(name + ".weight", randomTensor({channels}, seed + 1)),
                     constant(name + ".bias", randomTensor({channels}, seed + 2)),
                     constant(name + ".mean", randomTensor({channels}, seed + 3)),
                     constant(name + ".var", randomTensor({channels}, seed + 4, 0.1, 2))},
                    std::move(attributes), opset);
    }
    void output(ValueId value) { m_builder.addOutput(value); }
    SharedGraph finish()
    {
        auto built = std::move(m_builder).build();
        return built.ok() ? std::make_shared<const Graph>(std::move(built).value()) : nullptr;
    }

private:
    graph::GraphBuilder m_builder;
};

/// Results of a graph for its inputs; empty when it cannot be run.
inline std::vector<Tensor> evaluate(const SharedGraph& graph, const std::vector<Tensor>& inputs, Precision precision)
{
    std::vector<ops::TensorType> types;
    std::vector<Tensor> converted;
    for (const Tensor& input : inputs) {
        types.push_back({input.dtype(), input.shape()});
        converted.push_back(input.to(execute::dtypeOf(precision)));
    }
    const auto model = execute::BoundModel::bind(graph, types, precision);
    if (!model) {
        return {};
    }
    auto run = execute::forward(*model, converted, execute::SavePolicy::Nothing);
    return run.ok() ? std::move(run->outputs) : std::vector<Tensor>();
}

/// max|a − b| / max|b|; infinite when shapes differ.
inline double deviation(const Tensor& a, const Tensor& b)
{
    if (!a.isValid() || !b.isValid() || a.shape() != b.shape()) {
        return INFINITY;
    }
    double largest = 0;
    double scale = 0;
    for (std::int64_t i = 0; i < a.size(); ++i) {
        largest = std::max(largest, std::abs(a.at(i) - b.at(i)));
        scale = std::max(scale, std::abs(b.at(i)));
    }
    return scale == 0 ? largest : largest / scale;
}

/// Largest deviation of any output between two graphs; infinite when one cannot be run.
inline double deviation(const SharedGraph& a, const SharedGraph& b, const std::vector<Tensor>& inputs,
                        Precision precision)
{
    const std::vector<Tensor> left = evaluate(a, inputs, precision);
    const std::vector<Tensor> right = evaluate(b, inputs, precision);
    if (left.empty() || left.size() != right.size()) {
        return INFINITY;
    }
    double largest = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
        largest = std::max(largest, deviation(left[i], right[i]));
    }
    return largest;
}

/// Options with one rewrite alone.
inline RewriteOptions only(bool RewriteOptions::*rewrite)
{
    RewriteOptions options = noRewrites();
    options.*rewrite = true;
    return options;
}

/// "conv, bn, relu": names of all nodes.
inline std::string nodeNames(const Graph& graph)
{
    std::string text;
    for (const graph::Node& node : graph.nodes()) {
        text += (text.empty() ? "" : ", ") + node.name;
    }
    return text;
}

} // namespace retro::rewrite::testing
