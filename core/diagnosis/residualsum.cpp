// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/residualsum.h"

#include "core/graph/reach.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <utility>

namespace retro::diagnosis
{

namespace
{

/// What is multiplied by less is a mask, which hides places from a softmax.
constexpr double kHides = -1000;

/// The lone number that a node multiplies one operand by, and that operand; nothing for other nodes.
std::optional<std::pair<ValueId, double>> factorOf(const ModelFacts& model, const graph::Node& node)
{
    if (node.op == "Identity" && node.inputs.size() == 1) {
        return std::pair(node.inputs[0], 1.0);
    }
    const bool isProduct = (node.op == "Mul" || node.op == "Div") && node.domain.empty() && node.inputs.size() == 2;
    for (std::size_t slot = 0; isProduct && slot < 2; ++slot) {
        const Tensor constant = model.constantOperand(node, slot);
        if (constant.isValid() && constant.size() == 1 && (node.op == "Mul" || slot == 1)) {
            const double number = constant.at(0);
            return std::pair(node.inputs[1 - slot], node.op == "Mul" ? number : 1 / number);
        }
    }
    return std::nullopt;
}

Scaled withoutFactors(const ModelFacts& model, ValueId value)
{
    constexpr int kMostFactors = 8;
    Scaled scaled{value, value};
    for (int i = 0; i < kMostFactors && model.graph().value(scaled.value).producer.isValid(); ++i) {
        const NodeId producer = model.graph().value(scaled.value).producer;
        const auto factor = factorOf(model, model.graph().node(producer));
        if (!factor) {
            break;
        }
        scaled.value = factor->first;
        scaled.factor *= factor->second;
        scaled.node = factor->second != 1 && !scaled.node.isValid() ? producer : scaled.node;
    }
    return scaled;
}

/// Whether `to` is computed from what `from` makes. Nodes stand in the order in which they run, so nothing before
/// `from` is walked through.
bool leadsTo(const graph::Graph& graph, NodeId from, ValueId to)
{
    const graph::Node* first = from.index() < graph.nodeCount() ? &graph.node(from) : nullptr; // none of an input
    const auto isBehind = [first](const graph::Node& node) {
        return (first == nullptr || std::greater<>()(&node, first)) && !readsShapeAlone(node);
    };
    return graph::ancestorsOf(graph, std::array{to}, isBehind).nodes[from.index()];
}

std::optional<ResidualSum> residualSumOf(const ModelFacts& model, NodeId id)
{
    const graph::Graph& graph = model.graph();
    const graph::Node& node = graph.node(id);
    const bool isSum = node.op == "Add" && node.domain.empty() && node.inputs.size() == 2 &&
                       graph.value(node.inputs[0]).producer.isValid() && graph.value(node.inputs[1]).producer.isValid();
    if (!isSum) {
        return std::nullopt;
    }
    const std::array operands{withoutFactors(model, node.inputs[0]), withoutFactors(model, node.inputs[1])};
    if (std::min(operands[0].factor, operands[1].factor) < kHides) {
        return std::nullopt;
    }
    for (const std::size_t skip : {std::size_t{0}, std::size_t{1}}) {
        const ValueId kept = operands[skip].value;
        const NodeId from = graph.nodeOf(kept);
        if (kept != operands[1 - skip].value && from.isValid() && leadsTo(graph, from, operands[1 - skip].value)) {
            return ResidualSum{id, operands[skip], operands[1 - skip]};
        }
    }
    return std::nullopt;
}

} // namespace

std::vector<ResidualSum> residualSumsIn(const ModelFacts& model)
{
    std::vector<ResidualSum> sums;
    for (std::size_t i = 0; i < model.graph().nodeCount(); ++i) {
        if (const std::optional<ResidualSum> sum = residualSumOf(model, NodeId(i))) {
            sums.push_back(*sum);
        }
    }
    return sums;
}

} // namespace retro::diagnosis
