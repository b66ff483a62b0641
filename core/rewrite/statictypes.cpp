// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/statictypes.h"

#include "core/ops/registry.h"

#include <algorithm>
#include <span>

namespace retro::rewrite
{

using graph::NodeId;
using graph::ValueId;
using graph::ValueKind;
using ops::TensorType;
using tensor::DType;
using tensor::Tensor;

namespace
{

DType wide(DType type) { return tensor::isFloating(type) ? DType::Float32 : type; }

std::optional<TensorType> declaredType(const graph::Value& value, const FreeExtent& freeExtent)
{
    if (value.kind == ValueKind::Constant && value.constant.isValid()) {
        return TensorType{wide(value.constant.dtype()), value.constant.shape()};
    }
    if (!value.shape) {
        return std::nullopt;
    }
    TensorType type{wide(value.dtype), {}};
    const bool mayTry = value.kind == ValueKind::Input && freeExtent;
    for (const graph::Dimension& dimension : *value.shape) {
        if (!dimension.extent && !mayTry) {
            return std::nullopt;
        }
        type.shape.push_back(dimension.extent ? *dimension.extent : freeExtent(type.shape.size(), dimension));
    }
    return type;
}

class Inference
{
public:
    Inference(const graph::Graph& graph, const FreeExtent& freeExtent)
        : m_graph(graph), m_types(graph.valueCount()), m_known(m_types.size())
    {
        for (std::size_t i = 0; i < m_types.size(); ++i) {
            m_types[i] = declaredType(graph.value(ValueId(i)), freeExtent);
            if (graph.value(ValueId(i)).kind == ValueKind::Constant) {
                m_known[i] = graph.value(ValueId(i)).constant;
            }
        }
    }

    void infer(NodeId id)
    {
        const graph::Node& node = m_graph.node(id);
        std::vector<TensorType> types(node.inputs.size());
        std::vector<Tensor> constants(node.inputs.size());
        for (std::size_t slot = 0; slot < types.size(); ++slot) {
            const ValueId operand = node.inputs[slot];
            if (!operand.isValid()) {
                continue;
            }
            if (!m_types[operand.index()]) {
                return;
            }
            types[slot] = *m_types[operand.index()];
            const Tensor& known = m_known[operand.index()];
            constants[slot] = known.isValid() ? known.to(types[slot].dtype) : known;
        }
        const auto bound = ops::bind({m_graph, id, node, types, constants});
        if (bound.ok()) {
            take(node, **bound, constants);
        }
    }

    [[nodiscard]] std::vector<std::optional<TensorType>> take() { return std::move(m_types); }

private:
    /// Integers that follow from shapes (Shape, and what is computed from it) are known as well: other shapes are made
    /// of them.
    [[nodiscard]] static std::vector<Tensor> knownResults(const graph::Node& node, const ops::BoundOperator& op,
                                                          std::span<const Tensor> constants)
    {
        constexpr std::int64_t kMostElements = 1024; // shapes, no data
        const auto isSmall = [](const TensorType& type) { return tensor::elementCount(type.shape) <= kMostElements; };
        const auto isSmallInteger = [&isSmall](const TensorType& type) {
            return !tensor::isFloating(type.dtype) && isSmall(type);
        };
        std::vector<Tensor> known;
        if (std::ranges::all_of(op.outputTypes(), isSmall)) {
            known = op.knownResults();
        }
        bool isKnown = known.empty() && !constants.empty() && std::ranges::all_of(op.outputTypes(), isSmallInteger);
        for (std::size_t slot = 0; slot < constants.size(); ++slot) {
            isKnown = isKnown && (constants[slot].isValid() || !node.inputs[slot].isValid());
        }
        return isKnown && op.check(constants).ok() ? op.run(constants) : known;
    }

    void take(const graph::Node& node, const ops::BoundOperator& op, std::span<const Tensor> constants)
    {
        const std::vector<Tensor> known = knownResults(node, op, constants);
        for (std::size_t k = 0; k < std::min(node.outputs.size(), op.outputTypes().size()); ++k) {
            if (node.outputs[k].isValid()) {
                m_types[node.outputs[k].index()] = op.outputTypes()[k];
                m_known[node.outputs[k].index()] = k < known.size() ? known[k] : Tensor();
            }
        }
    }

    const graph::Graph& m_graph;
    std::vector<std::optional<TensorType>> m_types;
    std::vector<Tensor> m_known;
};

} // namespace

std::vector<std::optional<TensorType>> staticTypes(const graph::Graph& graph, const std::stop_token& stop,
                                                   const FreeExtent& freeExtent)
{
    Inference inference(graph, freeExtent);
    for (std::size_t i = 0; i < graph.nodeCount() && !stop.stop_requested(); ++i) {
        inference.infer(NodeId(i));
    }
    return inference.take();
}

} // namespace retro::rewrite
