// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/modelfacts.h"

#include "core/graph/attributes.h"
#include "core/graph/reach.h"
#include "core/ops/elements.h"
#include "core/ops/layerkind.h"
#include "core/ops/schema/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <sstream>
#include <utility>

namespace retro::diagnosis
{

using graph::Graph;
using graph::Node;

std::uint64_t ModelFacts::weightBytes() const
{
    std::uint64_t bytes = 0;
    for (const graph::Value& value : m_graph->values()) {
        bytes += value.constant.isValid() ? static_cast<std::uint64_t>(value.constant.bytes()) : 0;
    }
    return bytes;
}

const Statistics& ModelFacts::statistics(ValueId constant) const
{
    const auto at = m_statistics.find(constant);
    return at != m_statistics.end()
               ? at->second
               : m_statistics.emplace(constant, statisticsOf(m_graph->value(constant).constant)).first->second;
}

const std::vector<double>& ModelFacts::norms(const Tensor& constant, std::size_t axis) const
{
    const std::tuple key(static_cast<const void*>(constant.rawData()), axis, constant.shape(), constant.strides());
    const auto at = m_norms.find(key);
    return at != m_norms.end() ? at->second : m_norms.emplace(key, normsAlong(constant, axis)).first->second;
}

namespace
{

using enum ops::Elements;

const Tensor* tensorAttribute(const Node& node)
{
    return node.op == "Constant" ? graph::attributeOf<Tensor>(node, "value") : nullptr;
}

/// The value whose data an operand has: an initializer, or the result of a Constant node; invalid for others.
ValueId heldBy(const Graph& graph, ValueId operand)
{
    constexpr std::size_t kMostSteps = 8; // of Identity behind each other
    for (std::size_t i = 0; i < kMostSteps && operand.isValid(); ++i) {
        const graph::Value& value = graph.value(operand);
        if (value.kind != graph::ValueKind::Result) {
            return value.kind == graph::ValueKind::Constant ? operand : ValueId();
        }
        const Node& producer = graph.node(value.producer);
        if (tensorAttribute(producer) != nullptr) {
            return operand;
        }
        if (!ops::areElements(producer, {Kept}) || producer.inputs.empty()) {
            return {};
        }
        operand = producer.inputs.front();
    }
    return {};
}

ValueId operandOf(const Node& node, std::size_t slot)
{
    return slot < node.inputs.size() ? node.inputs[slot] : ValueId();
}

/// The DequantizeLinear or Transpose that makes an operand; null where none does.
const Node* makerOfWeight(const Graph& graph, ValueId operand)
{
    const bool isResult = operand.isValid() && graph.value(operand).kind == graph::ValueKind::Result;
    const Node* node = isResult ? &graph.node(graph.value(operand).producer) : nullptr;
    const bool isMaker = node != nullptr && node->domain.empty() && !node->inputs.empty() &&
                         (node->op == "DequantizeLinear" || ops::areElements(*node, {Turned}));
    return isMaker ? node : nullptr;
}

/// With its axes as a Transpose has them; invalid where they do not fit.
Tensor turned(const Tensor& weight, const Node& transpose)
{
    std::vector<std::int64_t> order = graph::intsAttribute(transpose, "perm");
    if (order.empty()) {
        order.resize(weight.rank());
        std::iota(order.rbegin(), order.rend(), std::int64_t{0});
    }
    std::vector<std::int64_t> sorted = order;
    std::ranges::sort(sorted);
    bool fits = sorted.size() == weight.rank();
    for (std::size_t axis = 0; fits && axis < sorted.size(); ++axis) {
        fits = sorted[axis] == static_cast<std::int64_t>(axis);
    }
    return fits ? weight.permuted(order) : Tensor();
}

/// (level − zero point) · scale, in float32; invalid for scales per block.
Tensor dequantised(const Tensor& levels, const Tensor& scale, const Tensor& zeroPoint, std::int64_t axis)
{
    const auto rank = static_cast<std::int64_t>(levels.rank());
    const std::int64_t along = axis < 0 ? axis + rank : axis;
    const bool isWhole = scale.size() == 1;
    const bool isPerIndex = scale.rank() == 1 && along >= 0 && along < rank &&
                            levels.shape()[static_cast<std::size_t>(along)] == scale.size();
    if ((!isWhole && !isPerIndex) || levels.size() == 0 || (zeroPoint.isValid() && zeroPoint.size() != scale.size())) {
        return {};
    }
    std::int64_t inner = 1;
    for (std::int64_t i = along + 1; i < rank; ++i) {
        inner *= levels.shape()[static_cast<std::size_t>(i)];
    }
    const std::vector<double> numbers = numbersIn(levels);
    tensor::TensorBuffer buffer(tensor::DType::Float32, levels.shape());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const std::int64_t index = isWhole ? 0 : static_cast<std::int64_t>(i) / inner % scale.size();
        const double zero = zeroPoint.isValid() ? zeroPoint.at(index) : 0;
        buffer.data<float>()[i] = static_cast<float>((numbers[i] - zero) * scale.at(index));
    }
    return std::move(buffer).freeze();
}

/// What the definition calls an operand; empty where it says nothing.
std::string declaredName(const Node& node, std::size_t slot)
{
    const ops::OperatorSchema* schema = ops::schemaOf(node.domain, node.op, node.opset);
    if (schema == nullptr) {
        return {};
    }
    std::string name;
    std::istringstream words{std::string(schema->operands)};
    for (std::size_t i = 0; i <= slot && words >> name; ++i) {
    }
    name = words ? name : "";
    while (!name.empty() && std::string_view("?+*").find(name.back()) != std::string_view::npos) {
        name.pop_back();
    }
    return name;
}

} // namespace

Tensor ModelFacts::constantOperand(const Node& node, std::size_t slot) const
{
    const ValueId held = heldBy(*m_graph, operandOf(node, slot));
    if (!held.isValid()) {
        return {};
    }
    const graph::Value& value = m_graph->value(held);
    return value.kind == graph::ValueKind::Constant ? value.constant : *tensorAttribute(m_graph->node(value.producer));
}

Tensor ModelFacts::weightOperand(const Node& node, std::size_t slot) const
{
    const ValueId operand = operandOf(node, slot);
    const Node* made = makerOfWeight(*m_graph, operand);
    if (made == nullptr) {
        return constantOperand(node, slot);
    }
    if (ops::areElements(*made, {Turned})) {
        const Node* before = makerOfWeight(*m_graph, operandOf(*made, 0));
        const bool isTwice =
            before != nullptr && ops::areElements(*before, {Turned}); // a file may have any number of them
        const Tensor weight = isTwice ? Tensor() : weightOperand(*made, 0);
        return weight.isValid() ? turned(weight, *made) : Tensor();
    }
    const auto known = m_dequantised.find(operand);
    if (known != m_dequantised.end()) {
        return known->second;
    }
    const Tensor levels = constantOperand(*made, 0);
    const Tensor scale = constantOperand(*made, 1);
    Tensor whole = levels.isValid() && scale.isValid()
                       ? dequantised(levels, scale, constantOperand(*made, 2), graph::intAttribute(*made, "axis", 1))
                       : Tensor();
    return m_dequantised.emplace(operand, std::move(whole)).first->second;
}

std::string ModelFacts::weightName(const Node& node, std::size_t slot) const
{
    const Node* made = makerOfWeight(*m_graph, operandOf(node, slot));
    const Node* before = made == nullptr ? nullptr : makerOfWeight(*m_graph, operandOf(*made, 0));
    return before != nullptr ? constantName(*before, 0)
           : made != nullptr ? constantName(*made, 0)
                             : constantName(node, slot);
}

std::string ModelFacts::constantName(const Node& node, std::size_t slot) const
{
    const ValueId held = heldBy(*m_graph, operandOf(node, slot));
    return held.isValid() ? m_graph->value(held).name : std::string();
}

std::string roleOf(const Node& node, std::size_t slot)
{
    const std::string name = declaredName(node, slot);
    const bool isLinear = ops::isConvolution(node) || node.op == "Gemm";
    if ((isLinear || node.op == "MatMul") && slot == 1) {
        return "weight";
    }
    if (isLinear && slot == 2) {
        return "bias";
    }
    using Words = std::pair<std::string_view, std::string_view>;
    static constexpr std::array kWords{Words{"input_mean", "mean"},
                                       Words{"input_var", "variance"},
                                       Words{"mean", "mean"},
                                       Words{"var", "variance"},
                                       Words{"B", "bias"},
                                       Words{"W", "weight"},
                                       Words{"R", "recurrent weight"},
                                       Words{"y_scale", "scale"},
                                       Words{"x_scale", "scale"},
                                       Words{"y_zero_point", "zero point"},
                                       Words{"x_zero_point", "zero point"}};
    const auto word = std::ranges::find(kWords, std::string_view(name), &Words::first);
    if (word != kWords.end()) {
        return std::string(word->second);
    }
    return name.empty() || name.size() == 1 ? fmt::format("operand {}", slot) : name;
}

std::vector<bool> ancestorsOf(const Graph& graph, ValueId value)
{
    return graph::ancestorsOf(graph, std::array{value}, std::not_fn(ops::readsShapeAlone)).nodes;
}

std::vector<bool> descendantsOf(const Graph& graph, NodeId node)
{
    std::vector<bool> isBehind =
        graph::descendantsOf(graph, graph.outputsOf(node), std::not_fn(ops::readsShapeAlone)).nodes;
    isBehind[node.index()] = true;
    return isBehind;
}

} // namespace retro::diagnosis
