// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ways/rowneeds.h"

#include "core/graph/attributes.h"
#include "core/ops/attention/attentioncore.h"
#include "core/ops/axismap.h"
#include "core/ops/elements.h"
#include "core/ops/kernel/elementmap.h"
#include "core/ops/layerkind.h"
#include "core/ops/structure.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace retro::engine
{

using base::NodeId;
using base::ValueId;
using graph::Node;
using ops::Elements;
using ops::StructureKind;
using tensor::Shape;

namespace
{

} // namespace

std::optional<OperandRows> RowNeeds::outsideAttention(NodeId id, std::size_t axis) const
{
    const StructureKind kind = m_model.op(id).structure().kind();
    const bool isPart =
        kind == StructureKind::Softmax || kind == StructureKind::Bilinear || ops::isAttention(m_graph.node(id));
    return isPart ? std::nullopt : of(id, axis);
}

std::optional<OperandRows> RowNeeds::ofCausal(const Node& node, HiddenKeys& hidden) const
{
    if (!ops::isAttention(node)) {
        return std::nullopt;
    }
    if (isOverNewCache(node)) {
        const std::size_t axis = shapeOf(node.inputs[1]).size() - 2;
        OperandRows edges(node.inputs.size());
        std::fill_n(edges.begin(), kMask, NeededRows{axis, NeededRows::Form::Padded});
        return edges;
    }
    if (hasMoreThanMask(node)) {
        return std::nullopt;
    }
    const Shape& q = shapeOf(node.inputs[0]);
    const Shape& k = shapeOf(node.inputs[1]);
    if (k.size() < 3 || q.size() != k.size()) {
        return std::nullopt;
    }
    const std::size_t axis = k.size() - 2;
    if (!hidesBehind(node, hidden, q[axis], k[axis])) {
        return std::nullopt;
    }
    OperandRows edges(node.inputs.size());
    for (std::size_t slot = q[axis] == k[axis] ? 0 : 1; slot < kMask; ++slot) {
        edges[slot] = NeededRows{axis, NeededRows::Form::Padded};
    }
    return edges;
}

std::optional<OperandRows> RowNeeds::ofNewCache(const Node& node) const
{
    if (!isNewCache(node)) {
        return std::nullopt;
    }
    OperandRows edges(node.inputs.size());
    edges[0] = NeededRows{kRowsOfCache, NeededRows::Form::Padded};
    return edges;
}

bool RowNeeds::isNewCache(const Node& node) const
{
    if (!ops::isCacheAppend(node)) {
        return false;
    }
    const Shape& rows = shapeOf(node.outputs[0]);
    const Shape& added = shapeOf(node.inputs[0]);
    return rows.size() == added.size() && rows.size() > kRowsOfCache &&
           rows[kRowsOfCache] == added[kRowsOfCache] + graph::intAttribute(node, "front", 0);
}

std::optional<OperandRows> RowNeeds::of(NodeId id, std::size_t axis) const
{
    const Node& node = m_graph.node(id);
    const Shape& out = shapeOf(node.outputs[0]);
    const bool isInnermost = axis + 1 == out.size();
    if (ops::isElementByElement(node) && !ops::areElements(node, {Elements::Quantised})) {
        return broadcast(node, axis);
    }
    switch (m_model.op(id).structure().kind()) {
    case StructureKind::SelfNormalisation:
        return isInnermost || !isNormOfRows(node, out.size()) ? std::nullopt : std::optional(broadcast(node, axis));
    case StructureKind::Softmax:
        return graph::intAttribute(node, "axis", -1) == -1 && node.opset >= kSoftmaxOfAxis && !isInnermost
                   ? std::optional(broadcast(node, axis))
                   : std::nullopt;
    case StructureKind::LinearMap:
        return isInnermost ? std::nullopt : ofProduct(id, node, axis);
    case StructureKind::Bilinear:
        return node.op == "MatMul" && axis + 2 == out.size() && shapeOf(node.inputs[0]).size() == out.size()
                   ? std::optional(only(node, 0, axis))
                   : std::nullopt;
    default:
        return byName(node, axis);
    }
}

OperandRows RowNeeds::only(const Node& node, std::size_t slot, std::size_t axis)
{
    OperandRows edges(node.inputs.size());
    edges[slot] = NeededRows{axis};
    return edges;
}

OperandRows RowNeeds::broadcast(const Node& node, std::size_t axis) const
{
    const Shape& out = shapeOf(node.outputs[0]);
    OperandRows edges(node.inputs.size());
    for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
        const ValueId operand = node.inputs[slot];
        const bool isFit = operand.isValid() && shapeOf(operand).size() <= out.size(); // CastLike takes any type
        const std::size_t missing = isFit ? out.size() - shapeOf(operand).size() : out.size();
        if (axis >= missing && out[axis] != 1 && shapeOf(operand)[axis - missing] == out[axis]) {
            edges[slot] = NeededRows{axis - missing};
        }
    }
    return edges;
}

bool RowNeeds::isNormOfRows(const Node& node, std::size_t rank)
{
    constexpr std::array<std::string_view, 3> kNorms{"RMSNormalization", "SimplifiedLayerNormalization",
                                                     "LayerNormalization"};
    const std::int64_t axis = graph::intAttribute(node, "axis", -1);
    return std::ranges::count(kNorms, node.op) == 1 && (axis == -1 || axis + 1 == static_cast<std::int64_t>(rank));
}

bool RowNeeds::isGemmOfRows(const Node& node) const
{
    constexpr std::size_t kBias = 2;
    if (node.op != "Gemm" || graph::intAttribute(node, "transA", 0) != 0) {
        return false;
    }
    const bool hasBias = node.inputs.size() > kBias && node.inputs[kBias].isValid();
    const Shape bias = hasBias ? shapeOf(node.inputs[kBias]) : Shape();
    return bias.size() < 2 || bias[bias.size() - 2] == 1;
}

std::optional<OperandRows> RowNeeds::ofProduct(NodeId id, const Node& node, std::size_t axis) const
{
    const auto& map = dynamic_cast<const ops::LinearMap&>(m_model.op(id).structure());
    const bool isKnown = node.op == "MatMul" || node.op == "MatMulNBits" || isGemmOfRows(node);
    const std::size_t rank = shapeOf(node.outputs[0]).size();
    if (!isKnown || map.operandSlot() != 0 || shapeOf(node.inputs[0]).size() != rank) {
        return std::nullopt;
    }
    OperandRows edges = only(node, 0, axis);
    if (node.op == "MatMul" && axis + 2 < rank) { // each row has a matrix of its own
        const Shape& weight = shapeOf(node.inputs[1]);
        const std::size_t missing = rank - std::min(rank, weight.size());
        const bool isOfRow = axis >= missing && weight[axis - missing] != 1;
        edges[1] = isOfRow ? std::optional(NeededRows{axis - missing}) : std::nullopt;
        edges[0] = shapeOf(node.inputs[0])[axis] == 1 ? std::nullopt : edges[0];
    }
    return edges;
}

std::optional<OperandRows> RowNeeds::byName(const Node& node, std::size_t axis) const
{
    if (node.op == "RotaryEmbedding") {
        return ofRotation(node, axis);
    }
    return ops::isAttention(node) ? ofAttention(node, axis) : ofMoved(node, axis);
}

std::optional<OperandRows> RowNeeds::ofMoved(const Node& node, std::size_t axis) const
{
    const auto numbers = [&](std::size_t slot) {
        const bool isKnown =
            slot < node.inputs.size() && node.inputs[slot].isValid() && m_model.isConstant(node.inputs[slot]);
        return isKnown ? std::optional(ops::integersOf(m_model.constant(node.inputs[slot]))) : std::nullopt;
    };
    const bool isPicked = ops::areElements(node, {Elements::PickedBy});
    OperandRows edges(node.inputs.size());
    for (std::size_t slot = 0; slot < ops::dataOperands(node); ++slot) {
        const Shape& from = shapeOf(node.inputs[slot]);
        const auto map = ops::axesOf({node, from.size(), &from, &shapeOf(node.outputs[0]), numbers});
        const std::optional<ops::AxisSource> source = map ? (*map)[axis] : std::nullopt;
        if (!source || !source->isWhole || (isPicked && !numbers(1))) {
            return std::nullopt;
        }
        edges[slot] = NeededRows{source->axis};
    }
    return edges;
}

std::optional<OperandRows> RowNeeds::ofRotation(const Node& node, std::size_t axis) const
{
    const Shape& x = shapeOf(node.inputs[0]);
    const bool isOurs = node.domain.empty();
    const std::size_t positions = isOurs ? 3 : 1; // slot
    const bool hasPositions = node.inputs.size() > positions && node.inputs[positions].isValid();
    if (x.size() < 3 || axis + 2 != x.size() || (!isOurs && !hasPositions)) {
        return std::nullopt;
    }
    OperandRows edges = only(node, 0, axis);
    const std::array<std::size_t, 2> tables{1, 2};
    const std::array<std::size_t, 1> one{positions};
    for (const std::size_t slot : hasPositions ? std::span<const std::size_t>(one) : std::span(tables)) {
        const Shape& shape = shapeOf(node.inputs[slot]);
        if (shape.size() < 2) {
            return std::nullopt; // counted from an offset
        }
        edges[slot] = shape[1] == 1 ? std::nullopt : std::optional(NeededRows{1});
    }
    return edges;
}

std::optional<OperandRows> RowNeeds::ofAttention(const Node& node, std::size_t axis) const
{
    const Shape& q = shapeOf(node.inputs[0]);
    if (ops::hangsOnPlaces(node) || q.size() < 3 || axis + 2 != q.size() || hasMoreThanMask(node)) {
        return std::nullopt;
    }
    OperandRows edges = only(node, 0, axis);
    if (node.inputs.size() > kMask && node.inputs[kMask].isValid()) {
        const Shape& mask = shapeOf(node.inputs[kMask]);
        if (mask.size() >= 2 && mask[mask.size() - 2] != 1) {
            edges[kMask] = NeededRows{mask.size() - 2};
        }
    }
    return edges;
}

bool RowNeeds::isOverNewCache(const Node& node) const
{
    constexpr std::size_t kLengths = kMask + 3; // behind keys and values of a past
    const bool isTold = node.inputs.size() > kLengths && node.inputs[kLengths].isValid() &&
                        !node.inputs[kMask + 1].isValid() && !node.inputs[kMask + 2].isValid();
    if (!isTold || graph::intAttribute(node, "is_causal", 0) == 0) {
        return false;
    }
    const Shape& q = shapeOf(node.inputs[0]);
    return std::all_of(node.inputs.begin() + 1, node.inputs.begin() + kMask, [&](ValueId value) {
        const NodeId cache = m_graph.nodeOf(value);
        const bool isKnown = m_graph.value(value).kind == graph::ValueKind::Result && isNewCache(m_graph.node(cache));
        return isKnown && m_graph.node(cache).outputs[0] == value && q.size() == kRankOfCache &&
               q[kRowsOfCache] == shapeOf(m_graph.node(cache).inputs[0])[kRowsOfCache];
    });
}

bool RowNeeds::hasMoreThanMask(const Node& node)
{
    return std::any_of(node.inputs.begin() + std::min<std::ptrdiff_t>(kMask + 1, std::ssize(node.inputs)),
                       node.inputs.end(), [](ValueId id) { return id.isValid(); });
}

bool RowNeeds::hidesBehind(const Node& node, HiddenKeys& hidden, std::int64_t queries, std::int64_t keys) const
{
    if (graph::intAttribute(node, "is_causal", 0) != 0) {
        return queries == keys;
    }
    const ValueId mask = node.inputs.size() > kMask ? node.inputs[kMask] : ValueId();
    if (!mask.isValid() || m_model.isTracked(mask)) {
        return false;
    }
    const bool isOfBits = m_model.typeOf(mask).dtype == tensor::DType::Bool;
    const ScoreMask one = isOfBits ? ScoreMask{{}, mask, false} : ScoreMask{mask, {}, false};
    return hidden.areBehind(std::span(&one, 1), queries, keys);
}

} // namespace retro::engine
