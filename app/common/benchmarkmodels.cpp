// SPDX-License-Identifier: Apache-2.0
#include "app/common/benchmarkmodels.h"

#include "core/graph/graphbuilder.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <random>

namespace retro::app
{

namespace
{

using graph::ValueId;
using tensor::Shape;
using tensor::Tensor;
using Ints = std::vector<std::int64_t>;

/// Writes a network node by node.
class Network
{
public:
    Network(const std::string& name, std::vector<graph::Dimension> input) : m_builder(name)
    {
        m_builder.setOpset("", 17);
        m_input = m_builder.addInput("x", tensor::DType::Float32, std::move(input));
    }
    /// A network of pictures, as many at once as are given.
    explicit Network(const std::string& name) : Network(name, {{std::nullopt, "N"}, {3, ""}, {224, ""}, {224, ""}}) {}

    [[nodiscard]] ValueId input() const { return m_input; }
    ValueId node(const std::string& op, std::vector<ValueId> inputs, graph::Attributes attributes = {})
    {
        graph::Node node;
        node.op = op;
        node.opset = 17;
        node.name = fmt::format("{}_{}", op, m_count++);
        node.inputs = std::move(inputs);
        node.attributes = std::move(attributes);
        const ValueId result = m_builder.addResult(node.name + "_out");
        node.outputs = {result};
        m_builder.addNode(std::move(node));
        return result;
    }
    ValueId constant(Tensor data) { return m_builder.addConstant(fmt::format("c{}", m_count++), std::move(data)); }
    /// Uniform from −scale to scale around `mean`.
    ValueId random(const Shape& shape, double scale, double mean = 0)
    {
        tensor::TensorBuffer buffer(tensor::DType::Float32, shape);
        const double factor = 2 * scale / static_cast<double>(std::minstd_rand::max());
        for (float& value : buffer.span<float>()) {
            value = static_cast<float>(mean - scale + factor * static_cast<double>(m_random()));
        }
        return constant(std::move(buffer).freeze());
    }
    ValueId number(float value) { return constant(Tensor::full(tensor::DType::Float32, {}, value)); }
    ValueId ints(const Ints& values)
    {
        return constant(Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())},
                                                 std::span<const std::int64_t>(values)));
    }
    ValueId relu(ValueId x) { return node("Relu", {x}); }
    /// Convolution with bias, weights that keep the size of activations.
    ValueId convolution(ValueId x, std::int64_t from, std::int64_t to, std::int64_t kernel, std::int64_t stride = 1)
    {
        const std::int64_t pad = kernel / 2;
        const double scale = std::sqrt(6.0 / static_cast<double>(from * kernel * kernel));
        return node("Conv", {x, random({to, from, kernel, kernel}, scale), random({to}, 0.1)},
                    {{"kernel_shape", Ints{kernel, kernel}},
                     {"strides", Ints{stride, stride}},
                     {"pads", Ints{pad, pad, pad, pad}}});
    }
    ValueId batchNorm(ValueId x, std::int64_t channels)
    {
        return node("BatchNormalization", {x, random({channels}, 0.5, 1), random({channels}, 0.1),
                                           random({channels}, 0.1), random({channels}, 0.5, 1)});
    }
    ValueId maxPool(ValueId x, std::int64_t kernel, std::int64_t stride, std::int64_t pad)
    {
        return node("MaxPool", {x},
                    {{"kernel_shape", Ints{kernel, kernel}},
                     {"strides", Ints{stride, stride}},
                     {"pads", Ints{pad, pad, pad, pad}}});
    }
    ValueId dense(ValueId x, std::int64_t from, std::int64_t to)
    {
        const double scale = std::sqrt(6.0 / static_cast<double>(from));
        return node("Gemm", {x, random({to, from}, scale), random({to}, 0.1)}, {{"transB", std::int64_t{1}}});
    }
    base::Result<graph::Graph> finish(ValueId output)
    {
        m_builder.addOutput(output);
        return std::move(m_builder).build();
    }

private:
    graph::GraphBuilder m_builder;
    ValueId m_input;
    std::minstd_rand m_random{1};
    int m_count = 0;
};

const Shape kPicture{1, 3, 224, 224};

base::Result<graph::Graph> vgg16()
{
    Network net("vgg16");
    ValueId x = net.input();
    std::int64_t channels = 3;
    for (const int width : {64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0}) {
        x = width == 0 ? net.maxPool(x, 2, 2, 0) : net.relu(net.convolution(x, channels, width, 3));
        channels = width == 0 ? channels : width;
    }
    x = net.node("Flatten", {x});
    x = net.relu(net.dense(x, 512 * 7 * 7, 4096));
    x = net.relu(net.dense(x, 4096, 4096));
    return net.finish(net.dense(x, 4096, 1000));
}

/// A bottleneck: 1 × 1, 3 × 3, 1 × 1 with four times the width, and the shortcut.
ValueId bottleneck(Network& net, ValueId x, std::int64_t from, std::int64_t width, std::int64_t stride)
{
    const auto layer = [&](ValueId value, std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t step) {
        return net.batchNorm(net.convolution(value, in, out, kernel, step), out);
    };
    ValueId y = net.relu(layer(x, from, width, 1, 1));
    y = net.relu(layer(y, width, width, 3, stride));
    y = layer(y, width, 4 * width, 1, 1);
    const ValueId shortcut = from == 4 * width && stride == 1 ? x : layer(x, from, 4 * width, 1, stride);
    return net.relu(net.node("Add", {y, shortcut}));
}

base::Result<graph::Graph> resNet50()
{
    Network net("resnet50");
    ValueId x = net.relu(net.batchNorm(net.convolution(net.input(), 3, 64, 7, 2), 64));
    x = net.maxPool(x, 3, 2, 1);
    std::int64_t channels = 64;
    std::int64_t width = 64;
    for (const int blocks : {3, 4, 6, 3}) {
        for (int i = 0; i < blocks; ++i) {
            x = bottleneck(net, x, channels, width, i == 0 && width > 64 ? 2 : 1);
            channels = 4 * width;
        }
        width *= 2;
    }
    x = net.node("Flatten", {net.node("GlobalAveragePool", {x})});
    return net.finish(net.dense(x, channels, 1000));
}

/// Two 3 × 3 and the shortcut.
ValueId basicBlock(Network& net, ValueId x, std::int64_t from, std::int64_t width, std::int64_t stride)
{
    ValueId y = net.relu(net.batchNorm(net.convolution(x, from, width, 3, stride), width));
    y = net.batchNorm(net.convolution(y, width, width, 3), width);
    const ValueId shortcut = from == width ? x : net.batchNorm(net.convolution(x, from, width, 1, stride), width);
    return net.relu(net.node("Add", {y, shortcut}));
}

base::Result<graph::Graph> resNet18()
{
    Network net("resnet18");
    ValueId x = net.relu(net.batchNorm(net.convolution(net.input(), 3, 64, 7, 2), 64));
    x = net.maxPool(x, 3, 2, 1);
    std::int64_t channels = 64;
    for (const std::int64_t width : {64, 128, 256, 512}) {
        x = basicBlock(net, x, channels, width, width > 64 ? 2 : 1);
        x = basicBlock(net, x, width, width, 1);
        channels = width;
    }
    x = net.node("Flatten", {net.node("GlobalAveragePool", {x})});
    return net.finish(net.dense(x, channels, 1000));
}

constexpr std::int64_t kTokens = 128;
constexpr std::int64_t kTokenWidth = 768;
constexpr std::int64_t kHeads = 12;
const Shape kSequence{1, kTokens, kTokenWidth};

/// x·W + b as exporters write it for more than two axes.
ValueId projection(Network& net, ValueId x, std::int64_t from, std::int64_t to)
{
    const ValueId product = net.node("MatMul", {x, net.random({from, to}, std::sqrt(3.0 / static_cast<double>(from)))});
    return net.node("Add", {product, net.random({to}, 0.02)});
}

/// (x − mean)/√(variance + ε)·scale + bias, as exporters wrote it before opset 17.
ValueId layerNorm(Network& net, ValueId x)
{
    const graph::Attributes last{{"axes", Ints{-1}}};
    const ValueId difference = net.node("Sub", {x, net.node("ReduceMean", {x}, last)});
    const ValueId variance = net.node("ReduceMean", {net.node("Pow", {difference, net.number(2)})}, last);
    const ValueId root = net.node("Sqrt", {net.node("Add", {variance, net.number(1e-5F)})});
    const ValueId scaled = net.node("Mul", {net.node("Div", {difference, root}), net.random({kTokenWidth}, 0.1, 1)});
    return net.node("Add", {scaled, net.random({kTokenWidth}, 0.1)});
}

ValueId gelu(Network& net, ValueId x)
{
    const ValueId cube = net.node("Mul", {net.node("Pow", {x, net.number(3)}), net.number(0.044715F)});
    const ValueId inner = net.node("Mul", {net.node("Add", {x, cube}), net.number(0.7978845608F)});
    const ValueId gate = net.node("Add", {net.node("Tanh", {inner}), net.number(1)});
    return net.node("Mul", {net.node("Mul", {x, net.number(0.5F)}), gate});
}

ValueId attention(Network& net, ValueId x)
{
    std::array<ValueId, 3> heads{};
    for (std::size_t i = 0; i < heads.size(); ++i) {
        const ValueId split = net.node("Reshape", {projection(net, x, kTokenWidth, kTokenWidth),
                                                   net.ints({-1, kTokens, kHeads, kTokenWidth / kHeads})});
        heads[i] = net.node("Transpose", {split}, {{"perm", i == 1 ? Ints{0, 2, 3, 1} : Ints{0, 2, 1, 3}}});
    }
    const ValueId scores = net.node("Mul", {net.node("MatMul", {heads[0], heads[1]}), net.number(0.125F)});
    tensor::TensorBuffer mask(tensor::DType::Float32, {1, 1, kTokens, kTokens});
    for (std::int64_t i = 0; i < kTokens * kTokens; ++i) {
        mask.span<float>()[static_cast<std::size_t>(i)] = i % kTokens > i / kTokens ? -1e9F : 0.0F;
    }
    const ValueId masked = net.node("Add", {scores, net.constant(std::move(mask).freeze())});
    const ValueId weights = net.node("Softmax", {masked}, {{"axis", std::int64_t{-1}}});
    const ValueId mixed =
        net.node("Transpose", {net.node("MatMul", {weights, heads[2]})}, {{"perm", Ints{0, 2, 1, 3}}});
    return projection(net, net.node("Reshape", {mixed, net.ints({-1, kTokens, kTokenWidth})}), kTokenWidth,
                      kTokenWidth);
}

base::Result<graph::Graph> gpt2()
{
    Network net("gpt2", {{std::nullopt, "N"}, {kTokens, ""}, {kTokenWidth, ""}});
    ValueId x = net.input();
    for (int block = 0; block < 12; ++block) {
        x = net.node("Add", {x, attention(net, layerNorm(net, x))});
        const ValueId wide = gelu(net, projection(net, layerNorm(net, x), kTokenWidth, 4 * kTokenWidth));
        x = net.node("Add", {x, projection(net, wide, 4 * kTokenWidth, kTokenWidth)});
    }
    return net.finish(layerNorm(net, x));
}

} // namespace

std::span<const BenchmarkModel> benchmarkModels()
{
    static const std::array models{BenchmarkModel{"resnet18", kPicture, resNet18},
                                   BenchmarkModel{"resnet50", kPicture, resNet50},
                                   BenchmarkModel{"vgg16", kPicture, vgg16}, BenchmarkModel{"gpt2", kSequence, gpt2}};
    return models;
}

} // namespace retro::app
