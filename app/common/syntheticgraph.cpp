// SPDX-License-Identifier: Apache-2.0
#include "app/common/syntheticgraph.h"

#include "core/graph/graphbuilder.h"

#include <fmt/format.h>

#include <array>

namespace retro::app
{

namespace
{

constexpr std::int64_t kWidth = 4;
constexpr std::size_t kBlock = 4; ///< operators per block
/// Small enough that a chain of thousands of blocks neither grows nor vanishes.
constexpr float kWeight = 0.01F;

graph::ValueId addNode(graph::GraphBuilder& builder, const std::string& op, const std::string& scope,
                       const std::string& name, std::vector<graph::ValueId> inputs)
{
    graph::Node node;
    node.op = op;
    node.opset = 13;
    node.scope = scope;
    node.name = "/" + scope + "/" + name + "/" + op;
    node.inputs = std::move(inputs);
    const graph::ValueId result = builder.addResult(node.name + "_output_0");
    node.outputs = {result};
    builder.addNode(std::move(node));
    return result;
}

} // namespace

base::Result<graph::Graph> chainAndResidualGraph(std::size_t nodes)
{
    graph::GraphBuilder builder("chain_and_residual");
    builder.setOpset("", 13);
    graph::ValueId value = builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, kWidth});
    std::array<float, kWidth * kWidth> weights{};
    for (std::size_t i = 0; i < weights.size(); ++i) {
        weights[i] = (i % 3 == 0 ? -kWeight : kWeight) * static_cast<float>(1 + i % 5);
    }
    const graph::ValueId weight =
        builder.addConstant("w", tensor::Tensor::of<float>({kWidth, kWidth}, std::span<const float>(weights)));
    std::size_t made = 0;
    for (std::size_t block = 0; made < nodes; ++block) {
        const std::string scope = fmt::format("block{}", block);
        const graph::ValueId entry = value;
        for (std::size_t i = 0; i < kBlock && made < nodes; ++i, ++made) {
            static constexpr std::array<const char*, kBlock> kOps{"MatMul", "Relu", "MatMul", "Add"};
            static constexpr std::array<const char*, kBlock> kNames{"fc1", "act", "fc2", "skip"};
            std::vector<graph::ValueId> inputs{value};
            if (i == 0 || i == 2) {
                inputs.push_back(weight);
            } else if (i == 3) {
                inputs.push_back(entry);
            }
            value = addNode(builder, kOps[i], scope, kNames[i], std::move(inputs));
        }
    }
    builder.addOutput(value);
    return std::move(builder).build();
}

} // namespace retro::app
