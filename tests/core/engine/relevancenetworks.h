// SPDX-License-Identifier: Apache-2.0
// Small networks around one node, and the rules that are tried on it, for tests of relevance graphs.
#pragma once

#include "core/engine/explain/runforward.h"
#include "core/engine/explainer/relevancegraph.h"
#include "tests/core/rewrite/graphs.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace retro::engine::testing
{

using rewrite::testing::randomTensor;
using rewrite::testing::SharedGraph;
using rewrite::testing::ValueId;
using rewrite::testing::Writer;
using tensor::Tensor;

using Ints = std::vector<std::int64_t>;

inline LoadedModelPointer modelOf(const SharedGraph& graph)
{
    auto rewritten = rewrite::rewrite(graph, {});
    if (!rewritten.ok()) {
        return nullptr;
    }
    auto model = std::make_shared<LoadedModel>();
    model->name = "small";
    model->path = "small.json";
    model->rewritten = std::move(rewritten).value();
    model->read = graph;
    return model;
}

/// A small network around one node of interest, so that what arrives there is no constant.
struct Small
{
    std::string name;
    SharedGraph graph;
    std::vector<tensor::Shape> inputs;
    bool isAboveZero = false;
};

inline Writer start(ValueId& x, const tensor::Shape& shape)
{
    Writer writer;
    x = writer.input("x", shape);
    return writer;
}

inline Small finished(std::string name, Writer writer, ValueId y, std::vector<tensor::Shape> inputs)
{
    const ValueId flat = writer.node("Flatten", "flat", {y}, {{"axis", std::int64_t{1}}});
    writer.output(writer.node("Tanh", "scores", {flat}));
    return {std::move(name), writer.finish(), std::move(inputs)};
}

inline Small convolution(const std::string& name, const tensor::Shape& weight, const graph::Attributes& attributes,
                         bool behindRelu, const std::string& op = "Conv", bool hasBias = true)
{
    ValueId x;
    const tensor::Shape shape{2, 4, 7, 6};
    Writer writer = start(x, shape);
    const ValueId in = behindRelu ? writer.node("Relu", "in", {x}) : x;
    std::vector<ValueId> operands{in, writer.constant("w", randomTensor(weight, 3))};
    if (hasBias) {
        const auto group = attributes.contains("group") ? std::get<std::int64_t>(attributes.at("group")) : 1;
        const std::int64_t channels = op == "Conv" ? weight[0] : weight[1] * group;
        operands.push_back(writer.constant("b", randomTensor({channels}, 4)));
    }
    const ValueId y = writer.node(op, "layer", operands, attributes);
    return finished(name, std::move(writer), y, {shape});
}

inline std::vector<Small> linearMaps()
{
    std::vector<Small> all;
    all.push_back(convolution("conv", {3, 4, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}, false));
    all.push_back(convolution("conv behind relu", {3, 4, 3, 2}, {{"strides", Ints{2, 1}}}, true));
    all.push_back(
        convolution("strided, pads apart", {3, 4, 3, 3}, {{"pads", Ints{0, 1, 2, 0}}, {"strides", Ints{2, 3}}}, false));
    all.push_back(
        convolution("dilated, grouped", {6, 2, 2, 3}, {{"group", std::int64_t{2}}, {"dilations", Ints{2, 1}}}, false));
    all.push_back(
        convolution("depthwise without bias", {4, 1, 3, 3}, {{"group", std::int64_t{4}}}, true, "Conv", false));
    all.push_back(
        convolution("same", {3, 4, 3, 4}, {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2, 2}}}, false));
    all.push_back(convolution("transposed", {4, 3, 3, 3}, {{"strides", Ints{2, 2}}, {"pads", Ints{1, 0, 0, 1}}}, false,
                              "ConvTranspose"));
    all.push_back(convolution("transposed, more output", {4, 2, 2, 3},
                              {{"strides", Ints{3, 2}}, {"output_padding", Ints{1, 1}}, {"group", std::int64_t{2}}},
                              true, "ConvTranspose"));
    ValueId x;
    Writer dense = start(x, {3, 5});
    const ValueId gemm = dense.node(
        "Gemm", "layer", {x, dense.constant("w", randomTensor({4, 5}, 5)), dense.constant("b", randomTensor({4}, 6))},
        {{"transB", std::int64_t{1}}, {"alpha", -1.5}, {"beta", 0.5}});
    all.push_back(finished("gemm", std::move(dense), gemm, {{3, 5}}));
    Writer product = start(x, {2, 3, 5});
    const ValueId linear = product.node("MatMul", "layer", {x, product.constant("w", randomTensor({5, 4}, 7))});
    const ValueId biased = product.node("Add", "bias", {linear, product.constant("b", randomTensor({4}, 8))});
    all.push_back(finished("linear layer", std::move(product), biased, {{2, 3, 5}}));
    Writer left = start(x, {2, 5, 3});
    const ValueId y = left.node("MatMul", "layer", {left.constant("w", randomTensor({4, 5}, 9)), x});
    all.push_back(finished("weight on the left", std::move(left), y, {{2, 5, 3}}));
    Writer named = start(x, {2, 3, 4});
    const ValueId renamed = named.node("Einsum", "layer", {x, named.constant("w", randomTensor({4, 5}, 13))},
                                       {{"equation", std::string("bij,jk->bki")}});
    all.push_back(finished("layer of names", std::move(named), renamed, {{2, 3, 4}}));
    return all;
}

inline std::vector<Small> others()
{
    std::vector<Small> all;
    ValueId x;
    const tensor::Shape image{2, 3, 6, 5};
    const auto one = [&](const std::string& name, const std::string& op, const graph::Attributes& attributes,
                         const tensor::Shape& shape, bool behindRelu = false) {
        Writer writer = start(x, shape);
        const ValueId in = behindRelu ? writer.node("Relu", "in", {x}) : x;
        const ValueId y = writer.node(op, "layer", {in}, attributes);
        all.push_back(finished(name, std::move(writer), y, {shape}));
    };
    const Ints pads{1, 0, 1, 1};
    one("max pool", "MaxPool", {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}, image);
    one("max pool that overlaps", "MaxPool", {{"kernel_shape", Ints{3, 2}}, {"pads", pads}}, image, true);
    one("average pool", "AveragePool", {{"kernel_shape", Ints{3, 2}}, {"pads", pads}}, image);
    one("average pool with its pads", "AveragePool",
        {{"kernel_shape", Ints{2, 3}}, {"pads", pads}, {"count_include_pad", std::int64_t{1}}, {"strides", Ints{2, 1}}},
        image, true);
    const graph::Attributes hangsOver{
        {"kernel_shape", Ints{3, 2}}, {"strides", Ints{2, 2}}, {"ceil_mode", std::int64_t{1}}};
    one("max pool, last window beyond the edge", "MaxPool", hangsOver, image);
    one("average pool, last window beyond the edge", "AveragePool", hangsOver, image);
    one("global average", "GlobalAveragePool", {}, image);
    one("global maximum", "GlobalMaxPool", {}, image);
    one("mean", "ReduceMean", {{"axes", Ints{-1, 1}}, {"keepdims", std::int64_t{0}}}, image);
    one("maximum over axes in the middle", "ReduceMax", {{"axes", Ints{1, 2}}, {"keepdims", std::int64_t{0}}}, image);
    one("minimum", "ReduceMin", {{"axes", Ints{1}}}, image);
    one("softmax", "Softmax", {{"axis", std::int64_t{-1}}}, {2, 3, 4});
    one("log softmax", "LogSoftmax", {{"axis", std::int64_t{1}}}, {2, 3, 4});
    one("sigmoid", "Sigmoid", {}, {2, 5});
    one("leaky", "LeakyRelu", {{"alpha", 0.2}}, {2, 5});
    one("relu", "Relu", {}, {2, 5});
    one("softplus", "Softplus", {}, {2, 5});
    one("transpose", "Transpose", {{"perm", Ints{0, 2, 3, 1}}}, image);
    one("negation", "Neg", {}, {2, 5});
    const auto two = [&](const std::string& name, const std::string& op, const tensor::Shape& a,
                         const tensor::Shape& b) {
        Writer writer = start(x, a);
        const ValueId u = writer.input("u", b);
        const ValueId y = writer.node(op, "layer", {x, u});
        all.push_back(finished(name, std::move(writer), y, {a, b}));
    };
    two("sum", "Add", {2, 3, 4}, {2, 3, 4});
    two("difference that broadcasts", "Sub", {2, 3, 4}, {3, 1});
    two("product", "Mul", {2, 3, 4}, {2, 1, 4});
    two("quotient", "Div", {2, 3, 4}, {2, 3, 1});
    two("product of matrices", "MatMul", {2, 3, 4}, {2, 4, 5});
    two("product of matrices that broadcasts", "MatMul", {2, 3, 4}, {4, 5});
    two("gemm of two", "Gemm", {3, 4}, {4, 5});
    two("larger of two", "Max", {2, 3, 4}, {2, 3, 4});
    Writer named = start(x, {2, 3, 4});
    const ValueId other = named.input("u", {2, 5, 4});
    const ValueId pairs = named.node("Einsum", "layer", {x, other}, {{"equation", std::string("bij,bkj->bik")}});
    all.push_back(finished("product of names of two", std::move(named), pairs, {{2, 3, 4}, {2, 5, 4}}));
    Writer joined = start(x, {2, 3, 4});
    const ValueId u = joined.input("u", {2, 2, 4});
    const ValueId both = joined.node("Concat", "layer", {x, u}, {{"axis", std::int64_t{1}}});
    all.push_back(finished("concatenation", std::move(joined), both, {{2, 3, 4}, {2, 2, 4}}));
    Writer cut = start(x, {2, 6, 4});
    const ValueId part = cut.node("Slice", "layer",
                                  {x, cut.constant("s", Tensor::of<std::int64_t>({1}, Ints{1})),
                                   cut.constant("e", Tensor::of<std::int64_t>({1}, Ints{-1})),
                                   cut.constant("a", Tensor::of<std::int64_t>({1}, Ints{1}))});
    all.push_back(finished("slice", std::move(cut), part, {{2, 6, 4}}));
    Writer turned = start(x, {2, 6, 4});
    const auto limit = [&turned](const char* name, std::int64_t value) {
        return turned.constant(name, Tensor::of<std::int64_t>({1}, Ints{value}));
    };
    const ValueId backwards =
        turned.node("Slice", "layer",
                    {x, limit("s", std::numeric_limits<std::int64_t>::max()),
                     limit("e", std::numeric_limits<std::int64_t>::min()), limit("a", 1), limit("d", -1)});
    all.push_back(finished("slice from the largest integer backwards", std::move(turned), backwards, {{2, 6, 4}}));
    Writer chosen = start(x, {2, 6, 4});
    const ValueId row =
        chosen.node("Gather", "layer", {x, chosen.constant("i", Tensor::of<std::int64_t>({1}, Ints{-2}))},
                    {{"axis", std::int64_t{1}}});
    all.push_back(finished("one row", std::move(chosen), row, {{2, 6, 4}}));
    Writer norm = start(x, {2, 3, 5});
    const ValueId y =
        norm.node("LayerNormalization", "layer",
                  {x, norm.constant("w", randomTensor({5}, 11)), norm.constant("b", randomTensor({5}, 12))},
                  {{"axis", std::int64_t{-1}}, {"epsilon", 1e-3}});
    all.push_back(finished("layer normalization", std::move(norm), y, {{2, 3, 5}}));
    Writer batch = start(x, image);
    const ValueId positive = batch.node("Relu", "in", {x});
    const ValueId normed = batch.batchNorm("layer", positive, 3);
    all.push_back(finished("batch normalization", std::move(batch), normed, {image}));
    return all;
}

inline const std::vector<std::string>& linearRules()
{
    static const std::vector<std::string> rules{"lrp-0",
                                                "epsilon:epsilon=0.01",
                                                "epsilon:epsilon=0.01,bias=zero",
                                                "epsilon:epsilon=0.01,bias=spread",
                                                "epsilon:epsilon=0.01,bias=spread,bias_factor=0.4",
                                                "epsilon:epsilon=0.1,stabiliser=clip",
                                                "epsilon:epsilon=0.1,stabiliser=rms",
                                                "epsilon:epsilon=0.1,signed=false",
                                                "epsilon:epsilon=0.01,filter=0.3",
                                                "z-plus",
                                                "z-plus:bias=zero",
                                                "z-plus:bias=spread",
                                                "z-plus:form=raw",
                                                "alpha-beta:alpha=2,beta=1",
                                                "alpha-beta:alpha=2,beta=1,bias_parts=both,epsilon=0.01",
                                                "alpha-beta:alpha=1.5,beta=0.5,bias=spread",
                                                "gamma:gamma=0.25",
                                                "gamma:gamma=0.5,form=original,epsilon=0.01",
                                                "gamma:gamma=0.5,scale_bias=false,bias=spread",
                                                "flat",
                                                "w-square",
                                                "w-square:bias=zero",
                                                "z-box:low=-3,high=3",
                                                "gradient",
                                                "stop"};
    return rules;
}

inline const std::vector<std::string>& otherRules()
{
    static const std::vector<std::string> rules{"pass",
                                                "gradient",
                                                "gradient:share=equal",
                                                "gradient:share=first",
                                                "norm:epsilon=0.01",
                                                "norm:epsilon=0.1,stabiliser=clip",
                                                "uniform",
                                                "abs-ratio",
                                                "signal-take-all:signal=1",
                                                "epsilon:epsilon=0.01",
                                                "epsilon:epsilon=0.01,bilinear=full",
                                                "epsilon:epsilon=0.01,bias=spread",
                                                "lrp-0",
                                                "winner-take-all",
                                                "softmax-weighted",
                                                "softmax-weighted:beta=4",
                                                "proportional:epsilon=0.1",
                                                "softmax-taylor",
                                                "detached-deviation:epsilon=0.01",
                                                "detached-gradient",
                                                "secant",
                                                "deconvnet",
                                                "guided-backprop",
                                                "beta-smooth:beta=3",
                                                "stop"};
    return rules;
}

inline std::vector<Tensor> inputsFor(const Small& small)
{
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < small.inputs.size(); ++i) {
        inputs.push_back(randomTensor(small.inputs[i], static_cast<unsigned>(31 + i)).to(tensor::DType::Float64));
    }
    return inputs;
}

inline double apart(const Tensor& a, const Tensor& b)
{
    if (!a.isValid() || !b.isValid() || a.shape() != b.shape()) {
        return HUGE_VAL;
    }
    double difference = 0;
    double largest = 0;
    for (std::int64_t i = 0; i < b.size(); ++i) {
        const double one = std::abs(a.at(i) - b.at(i));
        difference = std::isnan(one) ? HUGE_VAL : std::max(difference, one);
        largest = std::max(largest, std::abs(b.at(i)));
    }
    return difference == 0 ? 0 : difference / std::max(largest, 1e-300);
}

} // namespace retro::engine::testing
