// SPDX-License-Identifier: Apache-2.0
#include "app/common/syntheticgraph.h"

#include "core/graph/graphbuilder.h"

#include <fmt/format.h>

#include <array>

namespace retro::app
{

namespace
{

constexpr std::int64_t kEntryWidth = 4;
/// What the second operand of an operator is.
enum class Second { None, Weight, Entry };
/// An operator of a block.
struct Part
{
    const char* op;
    const char* name;
    Second second;
};
constexpr std::array<Part, 4> kBlockParts{{{"MatMul", "fc1", Second::Weight},
                                           {"Relu", "act", Second::None},
                                           {"MatMul", "fc2", Second::Weight},
                                           {"Add", "skip", Second::Entry}}};
/// Small enough that a chain of ten thousand blocks neither grows nor vanishes.
constexpr float kWeight = 5e-4F;

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
    graph::GraphBuilder builder("chain_and_residual", 13);
    graph::ValueId value = builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, kEntryWidth});
    std::array<float, kEntryWidth * kEntryWidth> weights{};
    for (std::size_t i = 0; i < weights.size(); ++i) {
        weights[i] = (i % 3 == 0 ? -kWeight : kWeight) * static_cast<float>(1 + i % 5);
    }
    const graph::ValueId weight = builder.addConstant(
        "w", tensor::Tensor::of<float>({kEntryWidth, kEntryWidth}, std::span<const float>(weights)));
    graph::ValueId entry = value;
    for (std::size_t made = 0; made < nodes; ++made) {
        const Part& part = kBlockParts[made % kBlockParts.size()];
        entry = made % kBlockParts.size() == 0 ? value : entry; // a block begins
        std::vector<graph::ValueId> inputs{value};
        if (part.second != Second::None) {
            inputs.push_back(part.second == Second::Weight ? weight : entry);
        }
        value =
            addNode(builder, part.op, fmt::format("block{}", made / kBlockParts.size()), part.name, std::move(inputs));
    }
    builder.addOutput(value);
    return std::move(builder).build();
}

} // namespace retro::app
