// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explain/saturatedtarget.h"

#include "core/ops/elements.h"
#include "core/ops/quantise/straightthrough.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace retro::engine
{

namespace
{

using base::NodeId;
using base::ValueId;
using tensor::Tensor;

/// The node that makes a value, behind those that hand all elements on in their order; invalid: an input.
NodeId makerOf(const graph::Graph& graph, ValueId value)
{
    NodeId node = graph.nodeOf(value);
    while (node.isValid() && !graph.isInput(node) && ops::keepsElements(graph.node(node))) {
        node = graph.nodeOf(graph.node(node).inputs.front());
    }
    return node.isValid() && !graph.isInput(node) ? node : NodeId();
}

/// Σ|R| of each sample of `count`.
std::vector<double> magnitudes(const Tensor& relevance, std::int64_t count)
{
    std::vector<double> sums(static_cast<std::size_t>(count), 0);
    const std::int64_t length = count == 0 ? 0 : relevance.size() / count;
    for (std::int64_t i = 0; i < count * length; ++i) {
        sums[static_cast<std::size_t>(i / length)] += std::abs(relevance.at(i));
    }
    return sums;
}

} // namespace

NodeId quantiserOf(const execute::BoundModel& model, ValueId value)
{
    const NodeId node = makerOf(model.graph(), value);
    const bool isSaturating = node.isValid() && ops::isSaturating(model.op(node)) &&
                              model.op(node).structure().kind() == ops::StructureKind::ShapeMap;
    return isSaturating ? node : NodeId();
}

std::optional<SaturatedTarget> saturatedTarget(const execute::BoundModel& model, const ResolvedTarget& target,
                                               const execute::ForwardResult& forward)
{
    const graph::Graph& graph = model.graph();
    const NodeId node = quantiserOf(model, target.value);
    if (!node.isValid()) {
        return std::nullopt;
    }
    const auto& map = static_cast<const ops::ShapeMap&>(model.op(node).structure());
    std::vector<Tensor> operands;
    for (const ValueId operand : graph.node(node).inputs) {
        operands.push_back(operand.isValid() ? forward.value(operand) : Tensor());
        if (operand.isValid() && !operands.back().isValid()) {
            return std::nullopt;
        }
    }
    const auto count = static_cast<std::int64_t>(std::max<std::size_t>(target.index.size(), 1));
    const Tensor start = target.start.contiguous().reshaped(model.typeOf(graph.node(node).outputs.front()).shape);
    const std::vector<double> started = magnitudes(start, count);
    const std::vector<double> passed = magnitudes(map.carryBack(std::array{start}, operands, 0), count);
    for (std::size_t i = 0; i < started.size(); ++i) {
        if (started[i] > 0 && passed[i] == 0) {
            return SaturatedTarget{node, graph.node(node).inputs.front()};
        }
    }
    return std::nullopt;
}

} // namespace retro::engine
