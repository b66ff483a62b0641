// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ways/rowsalone.h"

#include "core/engine/ways/hiddenkeys.h"
#include "core/ops/kernel/slices.h"
#include "core/ops/structure.h"
#include "core/rewrite/addvalue.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retro::engine
{

namespace
{

using base::NodeId;
using base::ValueId;
using graph::Graph;
using graph::Node;
using ops::StructureKind;
using tensor::Shape;

/// What a node needs of an operand: rows along an axis.
struct RowsOf
{
    enum class Form : std::uint8_t {
        Alone, ///< these rows, and no others
        Among, ///< also a value that has others behind them
        Padded ///< a value of all rows, which may be 0 behind them
    };
    std::size_t axis = 0;
    Form form = Form::Alone;
};

/// Per operand; none: the operand stays whole.
using Edges = std::vector<std::optional<RowsOf>>;

std::int64_t intOf(const Node& node, const char* name, std::int64_t usual)
{
    const auto at = node.attributes.find(name);
    const auto* const value = at == node.attributes.end() ? nullptr : std::get_if<std::int64_t>(&at->second);
    return value == nullptr ? usual : *value;
}

std::int64_t product(std::span<const std::int64_t> extents)
{
    return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
}

/// A node that the model needs no more: its results are integers that are known before the run (extents).
bool isKnownBefore(const execute::BoundModel& model, NodeId id)
{
    return std::ranges::all_of(model.graph().node(id).outputs, [&](ValueId output) {
        return !output.isValid() ||
               (model.isConstant(output) && std::ranges::count(model.graph().outputs(), output) == 0);
    });
}

/// What one row of a node's results needs of its operands.
class RowNeeds
{
public:
    explicit RowNeeds(const execute::BoundModel& model) : m_model(model), m_graph(model.graph()) {}

    /// As of(), for nodes that are no part of an attention.
    [[nodiscard]] std::optional<Edges> outsideAttention(NodeId id, std::size_t axis) const
    {
        const StructureKind kind = m_model.op(id).structure().kind();
        const bool isPart =
            kind == StructureKind::Softmax || kind == StructureKind::Bilinear || m_graph.node(id).op == "Attention";
        return isPart ? std::nullopt : of(id, axis);
    }

    /// Of an attention whose queries up to the token of `hidden` see no key behind it: keys and values may be 0 there,
    /// and queries where they are as many.
    [[nodiscard]] std::optional<Edges> ofCausal(const Node& node, HiddenKeys& hidden) const
    {
        if (node.op != "Attention" || !node.domain.empty()) {
            return std::nullopt;
        }
        if (isOverNewCache(node)) {
            const std::size_t axis = shapeOf(node.inputs[1]).size() - 2;
            Edges edges(node.inputs.size());
            std::fill_n(edges.begin(), kMask, RowsOf{axis, RowsOf::Form::Padded});
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
        Edges edges(node.inputs.size());
        for (std::size_t slot = q[axis] == k[axis] ? 0 : 1; slot < kMask; ++slot) {
            edges[slot] = RowsOf{axis, RowsOf::Form::Padded};
        }
        return edges;
    }

    /// Of a cache without a past whose rows may be 0 behind some for all that read them: so may the new rows. What it
    /// keeps for the next run is 0 there too.
    [[nodiscard]] std::optional<Edges> ofNewCache(const Node& node) const
    {
        if (!isNewCache(node)) {
            return std::nullopt;
        }
        Edges edges(node.inputs.size());
        edges[0] = RowsOf{kRowsOfCache, RowsOf::Form::Padded};
        return edges;
    }

    /// CacheAppend of keys or values, all of them new but those in front, which stand for nothing.
    [[nodiscard]] bool isNewCache(const Node& node) const
    {
        if (node.op != "CacheAppend" || node.domain != "retrograde") {
            return false;
        }
        const Shape& rows = shapeOf(node.outputs[0]);
        const Shape& added = shapeOf(node.inputs[0]);
        return rows.size() == added.size() && rows.size() > kRowsOfCache &&
               rows[kRowsOfCache] == added[kRowsOfCache] + intOf(node, "front", 0);
    }

    /// For a row along `axis` of output 0; none where the node mixes rows, or is not known not to.
    [[nodiscard]] std::optional<Edges> of(NodeId id, std::size_t axis) const
    {
        const Node& node = m_graph.node(id);
        const Shape& out = shapeOf(node.outputs[0]);
        const bool isInnermost = axis + 1 == out.size();
        switch (m_model.op(id).structure().kind()) {
        case StructureKind::SumOfOperands:
        case StructureKind::Product:
        case StructureKind::Quotient:
        case StructureKind::ElementWise:
            return broadcast(node, axis);
        case StructureKind::SelfNormalisation:
            return isInnermost || !isNormOfRows(node, out.size()) ? std::nullopt : std::optional(broadcast(node, axis));
        case StructureKind::Softmax:
            return intOf(node, "axis", -1) == -1 && node.opset >= kSoftmaxOfAxis && !isInnermost
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

private:
    static constexpr std::int64_t kSoftmaxOfAxis = 13;
    static constexpr std::size_t kMask = 3; // slot of Attention
    static constexpr std::size_t kRowsOfCache = 2;
    static constexpr std::size_t kRankOfCache = 4; // batch × heads × rows × width

    [[nodiscard]] const Shape& shapeOf(ValueId value) const { return m_model.typeOf(value).shape; }

    static Edges only(const Node& node, std::size_t slot, std::size_t axis)
    {
        Edges edges(node.inputs.size());
        edges[slot] = RowsOf{axis};
        return edges;
    }

    /// Operands that are stretched to the result.
    [[nodiscard]] Edges broadcast(const Node& node, std::size_t axis) const
    {
        const std::size_t rank = shapeOf(node.outputs[0]).size();
        Edges edges(node.inputs.size());
        for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
            const ValueId operand = node.inputs[slot];
            const std::size_t missing = operand.isValid() ? rank - shapeOf(operand).size() : rank;
            if (axis >= missing && shapeOf(operand)[axis - missing] != 1) {
                edges[slot] = RowsOf{axis - missing};
            }
        }
        return edges;
    }

    static bool isNormOfRows(const Node& node, std::size_t rank)
    {
        constexpr std::array<std::string_view, 5> kNorms{"RMSNormalization", "SimplifiedLayerNormalization",
                                                         "LayerNormalization", "SkipSimplifiedLayerNormalization",
                                                         "SkipLayerNormalization"};
        const std::int64_t axis = intOf(node, "axis", -1);
        return std::ranges::count(kNorms, node.op) == 1 && (axis == -1 || axis + 1 == static_cast<std::int64_t>(rank));
    }

    /// Not turned, and with a bias that is the same for all rows.
    [[nodiscard]] bool isGemmOfRows(const Node& node) const
    {
        constexpr std::size_t kBias = 2;
        if (node.op != "Gemm" || intOf(node, "transA", 0) != 0) {
            return false;
        }
        const bool hasBias = node.inputs.size() > kBias && node.inputs[kBias].isValid();
        const Shape bias = hasBias ? shapeOf(node.inputs[kBias]) : Shape();
        return bias.size() < 2 || bias[bias.size() - 2] == 1;
    }

    [[nodiscard]] std::optional<Edges> ofProduct(NodeId id, const Node& node, std::size_t axis) const
    {
        const auto& map = dynamic_cast<const ops::LinearMap&>(m_model.op(id).structure());
        const bool isKnown = node.op == "MatMul" || node.op == "MatMulNBits" || isGemmOfRows(node);
        const std::size_t rank = shapeOf(node.outputs[0]).size();
        if (!isKnown || map.operandSlot() != 0 || shapeOf(node.inputs[0]).size() != rank) {
            return std::nullopt;
        }
        Edges edges = only(node, 0, axis);
        if (node.op == "MatMul" && axis + 2 < rank) { // each row has a matrix of its own
            const Shape& weight = shapeOf(node.inputs[1]);
            const std::size_t missing = rank - std::min(rank, weight.size());
            const bool isOfRow = axis >= missing && weight[axis - missing] != 1;
            edges[1] = isOfRow ? std::optional(RowsOf{axis - missing}) : std::nullopt;
            edges[0] = shapeOf(node.inputs[0])[axis] == 1 ? std::nullopt : edges[0];
        }
        return edges;
    }

    [[nodiscard]] std::optional<Edges> byName(const Node& node, std::size_t axis) const
    {
        constexpr std::array<std::string_view, 14> kPlain{
            "Neg",   "And",  "Cast",        "Equal", "Greater", "GreaterOrEqual", "Identity",
            "IsNaN", "Less", "LessOrEqual", "Not",   "Or",      "PassThrough",    "Where"};
        constexpr std::array<std::string_view, 2> kNorms{"SkipSimplifiedLayerNormalization", "SkipLayerNormalization"};
        const std::size_t rank = shapeOf(node.outputs[0]).size();
        if (std::ranges::count(kPlain, node.op) == 1 || (std::ranges::count(kNorms, node.op) == 1 && axis + 1 < rank)) {
            return broadcast(node, axis);
        }
        if (node.op == "Transpose") {
            return ofTranspose(node, axis);
        }
        if (node.op == "Reshape" || node.op == "Unsqueeze" || node.op == "Squeeze") {
            return ofReshape(node, axis);
        }
        if (node.op == "Expand") {
            return ofExpand(node, axis);
        }
        if (node.op == "Split") {
            return ofSplit(node, axis);
        }
        if (node.op == "Concat") {
            return ofConcat(node, axis);
        }
        if (node.op == "Slice") {
            return ofSlice(node, axis);
        }
        if (node.op == "RotaryEmbedding") {
            return ofRotation(node, axis);
        }
        return node.op == "Attention" && node.domain.empty() ? ofAttention(node, axis) : std::nullopt;
    }

    [[nodiscard]] Edges ofTranspose(const Node& node, std::size_t axis) const
    {
        const auto at = node.attributes.find("perm");
        const auto* const perm =
            at == node.attributes.end() ? nullptr : std::get_if<std::vector<std::int64_t>>(&at->second);
        const std::size_t rank = shapeOf(node.outputs[0]).size();
        return only(node, 0, perm == nullptr ? rank - 1 - axis : static_cast<std::size_t>((*perm)[axis]));
    }

    [[nodiscard]] std::optional<Edges> ofExpand(const Node& node, std::size_t axis) const
    {
        Edges edges = broadcast(node, axis);
        edges.resize(1);
        edges.resize(node.inputs.size()); // the second operand has extents
        return edges[0] ? std::optional(edges) : std::nullopt;
    }

    [[nodiscard]] std::optional<Edges> ofSplit(const Node& node, std::size_t axis) const
    {
        const auto rank = std::ssize(shapeOf(node.outputs[0]));
        const auto along = static_cast<std::size_t>((intOf(node, "axis", 0) + rank) % rank);
        return along == axis ? std::nullopt : std::optional(only(node, 0, axis));
    }

    /// Parts of a row, one behind the other (turned halves of a rotation).
    [[nodiscard]] std::optional<Edges> ofConcat(const Node& node, std::size_t axis) const
    {
        const auto rank = std::ssize(shapeOf(node.outputs[0]));
        const auto along = static_cast<std::size_t>((intOf(node, "axis", 0) + rank) % rank);
        return along == axis ? std::nullopt : std::optional(Edges(node.inputs.size(), RowsOf{axis}));
    }

    /// Parts of a row: nothing is left out along the axis, nor turned around.
    [[nodiscard]] std::optional<Edges> ofSlice(const Node& node, std::size_t axis) const
    {
        constexpr std::size_t kAxes = 3; // slot; before opset 10 axes are an attribute
        if (node.inputs.size() <= kAxes || !node.inputs[kAxes].isValid() || !m_model.isConstant(node.inputs[kAxes])) {
            return std::nullopt;
        }
        const tensor::Tensor axes = m_model.constant(node.inputs[kAxes]);
        const auto rank = std::ssize(shapeOf(node.outputs[0]));
        for (std::int64_t i = 0; i < axes.size(); ++i) {
            const auto along = static_cast<std::int64_t>(axes.at(i));
            if (static_cast<std::size_t>(along < 0 ? along + rank : along) == axis) {
                return std::nullopt;
            }
        }
        return only(node, 0, axis);
    }

    /// The axis that has as much in front of it, and as many rows.
    [[nodiscard]] std::optional<Edges> ofReshape(const Node& node, std::size_t axis) const
    {
        const Shape& in = shapeOf(node.inputs[0]);
        const Shape& out = shapeOf(node.outputs[0]);
        const std::int64_t before = product(std::span(out).first(axis));
        for (std::size_t i = 0; product(out) > 0 && i < in.size(); ++i) {
            if (in[i] == out[axis] && product(std::span(in).first(i)) == before) {
                return only(node, 0, i);
            }
        }
        return std::nullopt;
    }

    /// Tables of cosines and sines by row, or positions by row.
    [[nodiscard]] std::optional<Edges> ofRotation(const Node& node, std::size_t axis) const
    {
        const Shape& x = shapeOf(node.inputs[0]);
        const bool isOurs = node.domain.empty();
        const std::size_t positions = isOurs ? 3 : 1; // slot
        const bool hasPositions = node.inputs.size() > positions && node.inputs[positions].isValid();
        if (x.size() < 3 || axis + 2 != x.size() || (!isOurs && !hasPositions)) {
            return std::nullopt;
        }
        Edges edges = only(node, 0, axis);
        const std::array<std::size_t, 2> tables{1, 2};
        const std::array<std::size_t, 1> one{positions};
        for (const std::size_t slot : hasPositions ? std::span<const std::size_t>(one) : std::span(tables)) {
            const Shape& shape = shapeOf(node.inputs[slot]);
            if (shape.size() < 2) {
                return std::nullopt; // counted from an offset
            }
            edges[slot] = shape[1] == 1 ? std::nullopt : std::optional(RowsOf{1});
        }
        return edges;
    }

    /// Queries, and rows of the mask; keys and values stay.
    [[nodiscard]] std::optional<Edges> ofAttention(const Node& node, std::size_t axis) const
    {
        const Shape& q = shapeOf(node.inputs[0]);
        if (intOf(node, "is_causal", 0) != 0 || q.size() < 3 || axis + 2 != q.size() || hasMoreThanMask(node)) {
            return std::nullopt;
        }
        Edges edges = only(node, 0, axis);
        if (node.inputs.size() > kMask && node.inputs[kMask].isValid()) {
            const Shape& mask = shapeOf(node.inputs[kMask]);
            if (mask.size() >= 2 && mask[mask.size() - 2] != 1) {
                edges[kMask] = RowsOf{mask.size() - 2};
            }
        }
        return edges;
    }

    /// The part of GroupQueryAttention behind its caches, where they are new: causal, and told how many keys count,
    /// which are at most those in front and as many as queries. Query i so sees none behind key i.
    [[nodiscard]] bool isOverNewCache(const Node& node) const
    {
        constexpr std::size_t kLengths = kMask + 3; // behind keys and values of a past
        const bool isTold = node.inputs.size() > kLengths && node.inputs[kLengths].isValid() &&
                            !node.inputs[kMask + 1].isValid() && !node.inputs[kMask + 2].isValid();
        if (!isTold || intOf(node, "is_causal", 0) == 0) {
            return false;
        }
        const Shape& q = shapeOf(node.inputs[0]);
        return std::all_of(node.inputs.begin() + 1, node.inputs.begin() + kMask, [&](ValueId value) {
            const NodeId cache = m_graph.nodeOf(value);
            const bool isKnown =
                m_graph.value(value).kind == graph::ValueKind::Result && isNewCache(m_graph.node(cache));
            return isKnown && m_graph.node(cache).outputs[0] == value && q.size() == kRankOfCache &&
                   q[kRowsOfCache] == shapeOf(m_graph.node(cache).inputs[0])[kRowsOfCache];
        });
    }

    static bool hasMoreThanMask(const Node& node)
    {
        return std::any_of(node.inputs.begin() + std::min<std::ptrdiff_t>(kMask + 1, std::ssize(node.inputs)),
                           node.inputs.end(), [](ValueId id) { return id.isValid(); });
    }

    /// Of as many queries as keys, those up to the token see no key behind it; one query alone is the token's.
    [[nodiscard]] bool hidesBehind(const Node& node, HiddenKeys& hidden, std::int64_t queries, std::int64_t keys) const
    {
        if (intOf(node, "is_causal", 0) != 0) {
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

    const execute::BoundModel& m_model;
    const Graph& m_graph;
};

/// Which nodes are computed for some rows alone.
class RowPlan
{
public:
    /// Everything that leads to the first rows of `count`, up to `last`, alone. `model` is a graph of withRowAlone().
    RowPlan(const execute::BoundModel& model, HiddenKeys hidden, std::int64_t last, std::int64_t count)
        : m_model(model), m_graph(model.graph()), m_axis(m_graph.valueCount()), m_edges(m_graph.nodeCount()),
          m_isPadded(m_graph.nodeCount())
    {
        const RowNeeds needs(model);
        for (std::size_t i = m_graph.nodeCount(); i-- > 0;) {
            const NodeId id(i);
            const Node& node = m_graph.node(id);
            if (!m_edges[i].empty()) {
                continue; // the product of queries and keys in front of one below
            }
            if (node.op == "Gather" && picksRow(node, last)) {
                m_edges[i] = Edges(node.inputs.size());
                m_edges[i][0] = RowsOf{static_cast<std::size_t>(intOf(node, "axis", 0)), RowsOf::Form::Among};
            } else if (takeAttention(id, needs, hidden)) {
                continue;
            } else if (std::optional<Edges> cached = needs.ofNewCache(node); cached && isPaddedForAll(node)) {
                m_edges[i] = std::move(*cached);
                m_isPadded[i] = true;
            } else if (const std::optional<std::size_t> axis = rowAxis(node);
                       axis && isRowOf(id, *axis) && model.typeOf(node.outputs[0]).shape[*axis] == count) {
                take(id, *axis, needs.outsideAttention(id, *axis));
            }
        }
    }

    RowPlan(const execute::BoundModel& model, NodeId choice)
        : m_model(model), m_graph(model.graph()), m_choice(choice), m_axis(m_graph.valueCount()),
          m_edges(m_graph.nodeCount()), m_isPadded(m_graph.nodeCount())
    {
        const Node& gather = m_graph.node(choice);
        m_edges[choice.index()] = Edges(gather.inputs.size());
        m_edges[choice.index()][0] = RowsOf{static_cast<std::size_t>(intOf(gather, "axis", 0)), RowsOf::Form::Among};
        const RowNeeds needs(model);
        for (std::size_t i = choice.index(); i-- > 0;) {
            const NodeId id(i);
            const std::optional<std::size_t> axis = rowAxis(m_graph.node(id));
            if (axis && isRowOf(id, *axis)) {
                take(id, *axis, needs.of(id, *axis));
            }
        }
    }

    [[nodiscard]] std::size_t count() const { return m_count; }
    [[nodiscard]] NodeId choice() const { return m_choice; }
    /// Along which the value has the row alone; none: it is whole.
    [[nodiscard]] std::optional<std::size_t> axisOf(ValueId value) const { return m_axis[value.index()]; }
    [[nodiscard]] const Edges& edgesOf(NodeId node) const { return m_edges[node.index()]; }
    /// Results of a node that are 0 behind the rows, where they should be more: no output of the graph.
    [[nodiscard]] bool isPadded(NodeId node) const { return m_isPadded[node.index()]; }

private:
    /// An attention of which no reader needs queries behind the token: those that it makes there are not those of the
    /// whole graph.
    bool takeAttention(NodeId id, const RowNeeds& needs, HiddenKeys& hidden)
    {
        const Node& node = m_graph.node(id);
        const std::optional<WrittenAttention> written = hidden.writtenOut(id);
        if (!written && node.op != "Attention") {
            return false;
        }
        const Shape& out = m_model.typeOf(node.outputs[0]).shape;
        const std::optional<std::size_t> axis = rowAxis(node);
        const bool isOneQuery = out.size() > 1 && out[out.size() - 2] == 1;
        if (!isOneQuery && (!axis || *axis + 2 != out.size())) {
            return false;
        }
        if (!written) {
            std::optional<Edges> edges = needs.ofCausal(node, hidden);
            m_edges[id.index()] = edges ? std::move(*edges) : Edges();
            return edges.has_value();
        }
        if (!hidden.areBehind(written->masks, written->queries, written->keys)) {
            return false;
        }
        const std::size_t rank = out.size();
        m_edges[id.index()] = Edges(node.inputs.size());
        m_edges[id.index()][1] = RowsOf{rank - 2, RowsOf::Form::Padded};
        Edges& scores = m_edges[written->scores.index()];
        scores = Edges(m_graph.node(written->scores).inputs.size());
        scores[1] = RowsOf{rank - 1, RowsOf::Form::Padded};
        if (written->queries == written->keys) {
            scores[0] = RowsOf{rank - 2, RowsOf::Form::Padded};
        }
        return true;
    }

    void take(NodeId id, std::size_t axis, std::optional<Edges> edges)
    {
        if (!edges) {
            return;
        }
        m_edges[id.index()] = std::move(*edges);
        for (const ValueId output : m_graph.node(id).outputs) {
            if (output.isValid()) {
                m_axis[output.index()] = axis;
            }
        }
        m_count += 1;
    }

    [[nodiscard]] bool picksRow(const Node& node, std::int64_t row) const
    {
        const graph::Value& index = m_graph.value(node.inputs[1]);
        return index.kind == graph::ValueKind::Constant && index.constant.size() == 1 &&
               index.constant.at(0) == static_cast<double>(row) &&
               m_graph.value(node.inputs[0]).kind == graph::ValueKind::Result;
    }

    /// More than one row, and no result but the first is read, or each is of the same shape, or has as many rows.
    [[nodiscard]] bool isRowOf(NodeId id, std::size_t axis) const
    {
        const Node& node = m_graph.node(id);
        const tensor::Shape& shape = m_model.typeOf(node.outputs[0]).shape;
        const bool areAlike = std::all_of(node.outputs.begin() + 1, node.outputs.end(), [&](ValueId output) {
            const bool isUnread = !output.isValid() || m_graph.uses(output).empty();
            return isUnread || m_model.typeOf(output).shape == shape ||
                   (node.op == "Split" && m_model.typeOf(output).shape[axis] == shape[axis]);
        });
        return areAlike && !m_model.isConstant(node.outputs[0]) && shape[axis] > 1;
    }

    /// All that read what a cache gives take rows that are 0 behind those that are needed.
    [[nodiscard]] bool isPaddedForAll(const Node& cache) const
    {
        const bool isKeptRead =
            cache.outputs.size() > 1 && cache.outputs[1].isValid() && !m_graph.uses(cache.outputs[1]).empty();
        const auto uses = m_graph.uses(cache.outputs[0]);
        const bool isPlain = !isKeptRead && !isOutput(cache.outputs[0]) && !uses.empty();
        return isPlain && std::ranges::all_of(uses, [this](const graph::Use& use) {
                   const Edges& edges = m_edges[use.node.index()];
                   return !edges.empty() && edges[use.slot] && edges[use.slot]->form == RowsOf::Form::Padded;
               });
    }

    [[nodiscard]] bool isOutput(ValueId value) const { return std::ranges::count(m_graph.outputs(), value) > 0; }

    /// The axis along which all readers of the results need the row alone.
    [[nodiscard]] std::optional<std::size_t> rowAxis(const Node& node) const
    {
        if (node.outputs.empty() || !node.outputs[0].isValid()) {
            return std::nullopt;
        }
        std::optional<std::size_t> axis;
        const bool isOne = std::ranges::all_of(
            node.outputs, [&](ValueId value) { return !value.isValid() || (!isOutput(value) && agrees(value, axis)); });
        return isOne ? axis : std::nullopt;
    }

    /// Whether all readers of a value need the row alone along one axis, which is `axis` where that is known.
    [[nodiscard]] bool agrees(ValueId value, std::optional<std::size_t>& axis) const
    {
        for (const graph::Use& use : m_graph.uses(value)) {
            if (isKnownBefore(m_model, use.node)) {
                continue;
            }
            const Edges& edges = m_edges[use.node.index()];
            const std::optional<RowsOf> needed = edges.empty() ? std::nullopt : edges[use.slot];
            if (!needed || (axis && *axis != needed->axis)) {
                return false;
            }
            axis = needed->axis;
        }
        return true;
    }

    const execute::BoundModel& m_model;
    const Graph& m_graph;
    NodeId m_choice;
    std::vector<std::optional<std::size_t>> m_axis; // by ValueId
    std::vector<Edges> m_edges;                     // by NodeId; empty: all operands are whole
    std::vector<bool> m_isPadded;                   // by NodeId
    std::size_t m_count = 0;
};

/// The planned graph.
class RowWriter
{
public:
    RowWriter(const execute::BoundModel& model, const RowPlan& plan, std::vector<std::int64_t> rows)
        : m_model(model), m_graph(model.graph()), m_plan(plan), m_builder(m_graph.name()), m_rows(std::move(rows))
    {}

    [[nodiscard]] std::shared_ptr<const Graph> write() &&
    {
        for (const auto& [domain, version] : m_graph.opsets()) {
            m_builder.setOpset(domain, version);
        }
        for (std::size_t i = 0; i < m_graph.valueCount(); ++i) {
            graph::Value value = m_graph.value(ValueId(i));
            value.shape = m_plan.axisOf(ValueId(i)) ? std::nullopt : value.shape;
            if (value.kind == graph::ValueKind::Result && isKnownBefore(m_model, value.producer)) {
                value.constant = m_model.storedConstant(ValueId(i)); // of all rows
                value.kind = graph::ValueKind::Constant;
            }
            m_ids.push_back(rewrite::addValue(m_builder, value, value.kind));
        }
        m_position = m_builder.addConstant(suffix("asked row", "asked rows"),
                                           tensor::Tensor::of<std::int64_t>({std::ssize(m_rows)}, m_rows));
        for (std::size_t i = 0; i < m_graph.nodeCount(); ++i) {
            if (!isKnownBefore(m_model, NodeId(i))) {
                add(NodeId(i));
            }
        }
        for (const ValueId output : m_graph.outputs()) {
            const NodeId maker = m_graph.nodeOf(output);
            const bool isResult = m_graph.value(output).kind == graph::ValueKind::Result;
            if (!isResult || !m_plan.isPadded(maker)) {
                m_builder.addOutput(m_ids[output.index()]);
            }
        }
        auto built = std::move(m_builder).build();
        return built.ok() ? std::make_shared<const Graph>(std::move(built).value()) : nullptr;
    }

private:
    void add(NodeId id)
    {
        Node node = m_graph.node(id);
        const Edges& edges = m_plan.edgesOf(id);
        const bool isChoice = id == m_plan.choice();
        if (isChoice && m_plan.axisOf(node.inputs[0])) { // there is nothing left to choose
            node.op = "Identity";
            node.attributes.clear();
            node.inputs.resize(1);
        } else if (!edges.empty() && hasExtents(node)) {
            node.inputs[1] = rowShape(node);
        }
        for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
            ValueId& operand = node.inputs[slot];
            if (!operand.isValid() || (slot == 1 && !edges.empty() && hasExtents(node))) {
                continue;
            }
            operand = operandOf(operand, edges.empty() ? std::nullopt : edges[slot], node.name, slot);
        }
        for (ValueId& output : node.outputs) {
            output = output.isValid() ? m_ids[output.index()] : output;
        }
        m_builder.addNode(std::move(node));
    }

    /// What a reader gets for a value of which it needs `rows`.
    ValueId operandOf(ValueId value, const std::optional<RowsOf>& rows, const std::string& reader, std::size_t slot)
    {
        const bool isCut = m_plan.axisOf(value).has_value();
        if (rows && rows->form == RowsOf::Form::Alone && !isCut) {
            return picked(value, rows->axis, reader, slot);
        }
        return rows && rows->form == RowsOf::Form::Padded && isCut ? padded(value, rows->axis, reader, slot)
                                                                   : m_ids[value.index()];
    }

    /// The row of a value that is whole, for one reader: relevance of several is added in the order of the readers.
    ValueId picked(ValueId value, std::size_t axis, const std::string& reader, std::size_t slot)
    {
        const std::string name = reader + suffix("/row of ", "/rows of ") + std::to_string(slot);
        if (m_model.isConstant(value)) { // stays known before the run
            const tensor::Tensor& all = m_model.storedConstant(value);
            return m_builder.addConstant(name, ops::slice(all, axis, m_rows.front(), std::ssize(m_rows)).contiguous());
        }
        const ValueId row = m_builder.addResult(name);
        m_builder.declare(row, m_graph.value(value).dtype, std::nullopt);
        Node gather;
        gather.op = "Gather";
        gather.name = name;
        gather.opset = 13;
        gather.attributes["axis"] = static_cast<std::int64_t>(axis);
        gather.inputs = {m_ids[value.index()], m_position};
        gather.outputs = {row};
        m_builder.addNode(std::move(gather));
        return row;
    }

    /// Its second operand has the extents of the result.
    static bool hasExtents(const Node& node) { return node.op == "Reshape" || node.op == "Expand"; }

    [[nodiscard]] std::string suffix(const char* one, const char* several) const
    {
        return m_plan.choice().isValid() ? one : several; // a graph may have both
    }

    /// The rows of a value with 0 behind them.
    ValueId padded(ValueId value, std::size_t axis, const std::string& reader, std::size_t slot)
    {
        const std::string name = reader + "/all of " + std::to_string(slot);
        const Shape& shape = m_model.typeOf(value).shape;
        Shape pads(2 * shape.size(), 0);
        pads[shape.size() + axis] = shape[axis] - std::ssize(m_rows);
        const ValueId all = m_builder.addResult(name);
        m_builder.declare(all, m_graph.value(value).dtype, std::nullopt);
        Node pad;
        pad.op = "Pad";
        pad.name = name;
        pad.opset = 13;
        pad.inputs = {m_ids[value.index()], m_builder.addConstant(name + "/pads", tensor::Tensor::of<std::int64_t>(
                                                                                      {std::ssize(pads)}, pads))};
        pad.outputs = {all};
        m_builder.addNode(std::move(pad));
        return all;
    }

    /// The extents of a Reshape's result with these rows.
    ValueId rowShape(const Node& node)
    {
        Shape shape = m_model.typeOf(node.outputs[0]).shape;
        shape[*m_plan.axisOf(node.outputs[0])] = std::ssize(m_rows);
        return m_builder.addConstant(node.name + suffix("/shape of the row", "/shape of the rows"),
                                     tensor::Tensor::of<std::int64_t>({std::ssize(shape)}, shape));
    }

    const execute::BoundModel& m_model;
    const Graph& m_graph;
    const RowPlan& m_plan;
    graph::GraphBuilder m_builder;
    std::vector<std::int64_t> m_rows;
    std::vector<ValueId> m_ids;
    ValueId m_position;
};

} // namespace

std::shared_ptr<const Graph> withRowAlone(const execute::BoundModel& model, NodeId choice, std::int64_t row)
{
    const RowPlan plan(model, choice);
    return plan.count() == 0 ? nullptr : RowWriter(model, plan, {row}).write();
}

std::shared_ptr<const Graph> withPrefixAlone(const execute::BoundModel& model, std::span<const tensor::Tensor> inputs,
                                             std::int64_t last, std::int64_t count)
{
    const RowPlan plan(model, HiddenKeys(model, inputs, last), last, count);
    if (plan.count() == 0) {
        return nullptr;
    }
    std::vector<std::int64_t> rows(static_cast<std::size_t>(last + 1));
    std::iota(rows.begin(), rows.end(), 0);
    return RowWriter(model, plan, std::move(rows)).write();
}

} // namespace retro::engine
