// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ways/hiddenkeys.h"

#include "core/graph/attributes.h"
#include "core/ops/elements.h"
#include "core/ops/kernel/elementloop.h"
#include "core/ops/structure.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace retro::engine
{

using base::NodeId;
using base::ValueId;
using graph::Node;
using ops::StructureKind;
using tensor::Shape;
using tensor::Tensor;

/// A mask of one run.
struct MaskData
{
    Tensor value;
    Tensor condition;
    bool hidesWhere = false;

    /// What becomes of a score of the masks below, at an element of the shape that all are stretched to.
    [[nodiscard]] double applied(double score, std::int64_t i) const
    {
        if (!condition.isValid()) {
            return score + value.at(i);
        }
        if ((condition.at(i) != 0) != hidesWhere) {
            return score;
        }
        return value.isValid() ? value.at(i) : -std::numeric_limits<double>::infinity();
    }
};

namespace
{

/// A score that a mask sets to this or less has the weight 0: no score of a network makes up for it. The least float16
/// is no such mask, as scores may be as large.
constexpr double kHiddenScore = -1e30;
/// A key whose score masks lower by less than this has weight beside those that are hidden.
constexpr double kLowered = -1e4;
/// Elements of masks that are looked at for one attention, at most: they are read one by one.
constexpr std::int64_t kMostScores = std::int64_t{1} << 28;

/// Stretches the common extents to those of a mask; false where one does not fit.
bool joins(const Shape& shape, Shape& common)
{
    if (shape.size() > common.size()) {
        common.insert(common.begin(), shape.size() - common.size(), 1);
    }
    for (std::size_t i = 0; i < shape.size(); ++i) {
        std::int64_t& extent = common[common.size() - shape.size() + i];
        if (shape[i] != 1 && extent != 1 && shape[i] != extent) {
            return false;
        }
        extent = shape[i] == 1 ? extent : shape[i];
    }
    return true;
}

/// The extents that all are stretched to, the last two of them queries and keys; empty where one does not fit.
Shape commonShape(std::span<const MaskData> masks, std::int64_t queries, std::int64_t keys)
{
    Shape common{queries, keys};
    for (const MaskData& mask : masks) {
        for (const Tensor* const data : {&mask.value, &mask.condition}) {
            if (data->isValid() && !joins(data->shape(), common)) {
                return {};
            }
        }
    }
    const bool isOfScores = common[common.size() - 2] == queries && common.back() == keys;
    return isOfScores && tensor::elementCount(common) <= kMostScores ? common : Shape();
}

Tensor stretched(const Tensor& mask, const Shape& shape)
{
    return mask.isValid()
               ? Tensor(mask.dtype(), shape, ops::broadcastStrides(mask, shape), mask.offset(), mask.storage())
               : mask;
}

/// One row of scores: nothing behind `last` has weight, and something up to it has.
bool hidesRow(std::span<const MaskData> masks, std::int64_t begin, std::int64_t last, std::int64_t keys)
{
    const auto scoreOf = [&](std::int64_t key) { // of one that is 0 in front of all masks; the innermost comes last
        return std::accumulate(masks.rbegin(), masks.rend(), 0.0,
                               [&](double score, const MaskData& mask) { return mask.applied(score, begin + key); });
    };
    bool areHidden = true;
    for (std::int64_t key = last + 1; areHidden && key < keys; ++key) {
        areHidden = scoreOf(key) <= kHiddenScore;
    }
    bool isSeen = false;
    for (std::int64_t key = last; areHidden && !isSeen && key >= 0; --key) {
        isSeen = scoreOf(key) >= kLowered;
    }
    return areHidden && isSeen;
}

/// The last two axes of scores or weights.
bool endsWith(const Shape& shape, std::int64_t queries, std::int64_t keys)
{
    return shape.size() >= 2 && shape[shape.size() - 2] == queries && shape.back() == keys;
}

using enum ops::Elements;

bool isOverLastAxis(const Node& softmax, std::size_t rank)
{
    constexpr std::int64_t kOfOneAxis = 13; // before, it was over all axes from one on
    const std::int64_t along = graph::intAttribute(softmax, "axis", softmax.opset < kOfOneAxis ? 1 : -1);
    return along == -1 || along + 1 == static_cast<std::int64_t>(rank);
}

} // namespace

HiddenKeys::HiddenKeys(const execute::BoundModel& model, std::span<const Tensor> inputs, std::int64_t last)
    : m_model(model), m_graph(model.graph()), m_last(last), m_values(model, inputs)
{}

bool HiddenKeys::isReadBy(ValueId value, std::size_t readers) const
{
    return m_graph.value(value).kind == graph::ValueKind::Result && m_graph.uses(value).size() == readers &&
           std::ranges::find(m_graph.outputs(), value) == m_graph.outputs().end();
}

bool HiddenKeys::isKnownBefore(ValueId value) const { return value.isValid() && !m_model.isTracked(value); }

/// The softmax that makes the weights, through casts and a guard against rows that are hidden everywhere.
std::optional<ValueId> HiddenKeys::softmaxOf(ValueId weights) const
{
    while (isReadBy(weights, 1)) {
        const Node& node = m_graph.node(m_graph.nodeOf(weights));
        if (m_model.op(m_graph.nodeOf(weights)).structure().kind() == StructureKind::Softmax) {
            return weights;
        }
        if (ops::areElements(node, {Chosen}) && node.inputs.size() == 3 && isReadBy(node.inputs[2], 2)) {
            const ValueId guarded = node.inputs[2];
            const NodeId guard = m_graph.nodeOf(guarded);
            const graph::Value& asked = m_graph.value(node.inputs[0]);
            const bool isGuard = asked.kind == graph::ValueKind::Result && m_graph.node(asked.producer).op == "IsNaN" &&
                                 isReadBy(node.inputs[0], 1) && m_graph.node(asked.producer).inputs[0] == guarded;
            const bool isSoftmax = m_model.op(guard).structure().kind() == StructureKind::Softmax;
            return isGuard && isSoftmax ? std::optional(guarded) : std::nullopt;
        }
        if (!ops::areElements(node, {Kept, Converted}) && !keepsQueriesAndKeys(node)) {
            return std::nullopt;
        }
        weights = node.inputs[0];
    }
    return std::nullopt;
}

/// The scores below an Add or a Where that hides some of them; adds what does.
std::optional<ValueId> HiddenKeys::throughMask(const Node& node, std::vector<ScoreMask>& masks) const
{
    const bool isSum = ops::combinesTwo(node, {Summed});
    const bool isChoice = ops::areElements(node, {Chosen}) && node.inputs.size() == 3 && isKnownBefore(node.inputs[0]);
    if (!isSum && !isChoice) {
        return std::nullopt;
    }
    const std::size_t first = isChoice ? 1 : 0;
    for (const std::size_t slot : {first, first + 1}) {
        const ValueId other = node.inputs[slot == first ? first + 1 : first];
        if (m_model.isTracked(node.inputs[slot]) && isKnownBefore(other)) {
            masks.push_back(
                {other, isChoice ? node.inputs[0] : ValueId(), isChoice && slot == 2}); // true: what is first
            return node.inputs[slot];
        }
    }
    return std::nullopt;
}

/// The scores below a function of single elements.
std::optional<ValueId> HiddenKeys::throughFunction(const Node& node) const
{
    if (!ops::isElementByElement(node)) {
        return std::nullopt;
    }
    std::optional<ValueId> scores;
    for (const ValueId operand : node.inputs) {
        if (!operand.isValid() || (scores && !isKnownBefore(operand))) {
            return std::nullopt;
        }
        scores = isKnownBefore(operand) ? scores : operand;
    }
    return scores;
}

std::optional<WrittenAttention> HiddenKeys::writtenOut(NodeId mixed) const
{
    const std::optional<ValueId> weights = isProduct(mixed) ? softmaxOf(m_graph.node(mixed).inputs[0]) : std::nullopt;
    if (!weights) {
        return std::nullopt;
    }
    const Shape& shape = m_model.typeOf(*weights).shape;
    const Node& softmax = m_graph.node(m_graph.nodeOf(*weights));
    if (shape.size() < 3 || !isOverLastAxis(softmax, shape.size())) {
        return std::nullopt;
    }
    WrittenAttention found{{}, {}, shape[shape.size() - 2], shape.back()};
    const std::optional<NodeId> scores = scoresBelow(softmax.inputs[0], found.masks);
    if (!scores || !isOfMatrices(mixed) || !isOfMatrices(*scores) ||
        !endsWith(m_model.typeOf(m_graph.node(*scores).outputs[0]).shape, found.queries, found.keys)) {
        return std::nullopt;
    }
    found.scores = *scores;
    return found;
}

/// A product of as many matrices on both sides as axes in front say.
bool HiddenKeys::isOfMatrices(NodeId product) const
{
    const std::size_t rank = m_model.typeOf(m_graph.node(product).outputs[0]).shape.size();
    return rank >= 3 && std::ranges::all_of(m_graph.node(product).inputs, [&](ValueId operand) {
               return m_model.typeOf(operand).shape.size() == rank;
           });
}

/// A Reshape of the axes in front alone: batch and heads in one.
bool HiddenKeys::keepsQueriesAndKeys(const Node& node) const
{
    if (!ops::areElements(node, {Reshaped})) {
        return false;
    }
    const Shape& from = m_model.typeOf(node.inputs[0]).shape;
    const Shape& to = m_model.typeOf(node.outputs[0]).shape;
    return from.size() >= 3 && to.size() >= 3 && endsWith(from, to[to.size() - 2], to.back());
}

bool HiddenKeys::isProduct(NodeId id) const
{
    return m_graph.node(id).op == "MatMul" && m_graph.node(id).inputs.size() == 2 &&
           m_model.op(id).structure().kind() == StructureKind::Bilinear;
}

/// The product that makes scores, through masks, which it adds, and functions of single elements.
std::optional<NodeId> HiddenKeys::scoresBelow(ValueId value, std::vector<ScoreMask>& masks) const
{
    bool isBehindFunction = false; // what is added there need not hide
    while (isReadBy(value, 1)) {
        const NodeId maker = m_graph.nodeOf(value);
        if (isProduct(maker)) {
            return maker;
        }
        const Node& step = m_graph.node(maker);
        std::optional<ValueId> below = isBehindFunction ? std::nullopt : throughMask(step, masks);
        if (!below && keepsQueriesAndKeys(step)) {
            below = step.inputs[0];
        }
        if (!below) {
            isBehindFunction = isBehindFunction || !ops::areElements(step, {Kept, Converted});
            below = throughFunction(step);
        }
        if (!below) {
            return std::nullopt;
        }
        value = *below;
    }
    return std::nullopt;
}

bool HiddenKeys::areBehind(std::span<const ScoreMask> masks, std::int64_t queries, std::int64_t keys)
{
    if (masks.empty() || m_last >= keys || (queries != keys && queries != 1)) {
        return false;
    }
    std::vector<ScoreMask> key(masks.begin(), masks.end());
    if (const auto known = m_known.find(key); known != m_known.end()) {
        return known->second;
    }
    const bool areHidden = hides(masks, queries, keys);
    m_known.emplace(std::move(key), areHidden);
    return areHidden;
}

/// The masks with their data; nothing where one cannot be worked out.
std::optional<std::vector<MaskData>> HiddenKeys::dataOf(std::span<const ScoreMask> masks)
{
    std::vector<MaskData> known;
    for (const ScoreMask& mask : masks) {
        MaskData one{{}, {}, mask.hidesWhere};
        for (const auto& [id, data] : {std::pair(mask.value, &one.value), std::pair(mask.condition, &one.condition)}) {
            base::Result<Tensor> value = id.isValid() ? m_values.value(id) : base::Result<Tensor>(Tensor());
            if (!value.ok() || value->isValid() != id.isValid()) {
                return std::nullopt;
            }
            *data = std::move(*value);
        }
        known.push_back(std::move(one));
    }
    return known;
}

bool HiddenKeys::hides(std::span<const ScoreMask> masks, std::int64_t queries, std::int64_t keys)
{
    std::optional<std::vector<MaskData>> known = dataOf(masks);
    const Shape shape = known ? commonShape(*known, queries, keys) : Shape();
    if (shape.empty()) {
        return false;
    }
    for (MaskData& mask : *known) {
        mask.value = stretched(mask.value, shape);
        mask.condition = stretched(mask.condition, shape);
    }
    for (std::int64_t row = 0; row < tensor::elementCount(shape) / keys; ++row) {
        if (row % queries <= m_last && !hidesRow(*known, row * keys, m_last, keys)) {
            return false;
        }
    }
    return true;
}

} // namespace retro::engine
