// SPDX-License-Identifier: Apache-2.0
#include "core/engine/language/residualstreams.h"
#include "core/graph/attributes.h"
#include "core/graph/walkback.h"
#include "core/ops/elements.h"
#include "core/ops/layerkind.h"

#include <algorithm>
#include <optional>

namespace retro::engine
{

using base::NodeId;
using base::ValueId;
using execute::BoundModel;
using ops::StructureKind;
using tensor::Shape;
using tensor::Tensor;

namespace
{

/// Values that depend on one value, or that it depends on; only such as carry relevance.
using Marks = std::vector<std::uint8_t>;

/// One attention of a graph: the node whose result are the mixed values.
struct FoundAttention
{
    NodeId node;
    HeadValues values;
};

class StreamFinder
{
public:
    explicit StreamFinder(const BoundModel& model, ValueId tokens = {}) : m_model(model), m_graph(model.graph())
    {
        if (tokens.isValid()) {
            markReadersOf(tokens);
        }
    }

    [[nodiscard]] base::Result<ResidualStreams> run()
    {
        ResidualStreams found;
        std::optional<NodeId> last;
        for (std::size_t i = 0; i < m_graph.nodeCount(); ++i) {
            const auto attention = attentionAt(NodeId(i));
            const auto sum = attention ? sumBehind(*attention) : std::nullopt;
            if (!sum) {
                continue;
            }
            found.streams.push_back(sum->stream);
            found.heads.push_back(inBatch(attention->values, shapeOf(sum->stream)));
            last = sum->node;
        }
        if (!last) {
            return base::inputError("no layers were found: there is no attention whose result is added to a value in "
                                    "front of it; name the streams in a file (--layers FILE.json)",
                                    m_graph.name());
        }
        found.streams.push_back(streamBehind(*last));
        return found;
    }

    /// The first product of four axes that mixes values by probabilities.
    [[nodiscard]] std::optional<NodeId> mixing() const
    {
        for (std::size_t i = 0; i < m_graph.nodeCount(); ++i) {
            const auto found = attentionAt(NodeId(i));
            if (found && kindOf(found->node) == StructureKind::Bilinear && shapeOf(found->values.value).size() == 4) {
                return found->node;
            }
        }
        return std::nullopt;
    }

private:
    struct Sum
    {
        NodeId node;
        ValueId stream;
    };

    [[nodiscard]] StructureKind kindOf(NodeId node) const { return m_model.op(node).structure().kind(); }
    [[nodiscard]] const Shape& shapeOf(ValueId value) const { return m_model.typeOf(value).shape; }
    [[nodiscard]] ValueId resultOf(NodeId node) const { return m_graph.node(node).outputs.front(); }
    /// The node that makes a value; nothing for inputs and constants.
    [[nodiscard]] std::optional<NodeId> producerOf(ValueId value) const
    {
        const NodeId node = m_graph.nodeOf(value);
        return node.isValid() && !m_graph.isInput(node) ? std::optional(node) : std::nullopt;
    }

    [[nodiscard]] std::optional<FoundAttention> attentionAt(NodeId id) const
    {
        const graph::Node& node = m_graph.node(id);
        if (node.outputs.empty() || !node.outputs.front().isValid() || !m_model.isTracked(node.outputs.front())) {
            return std::nullopt;
        }
        const bool isAttention = ops::isAttention(node);
        const bool isMixing = kindOf(id) == StructureKind::Bilinear && comesFromSoftmax(node.inputs.front());
        const std::size_t rank = shapeOf(node.outputs.front()).size();
        if ((!isAttention && !isMixing) || (rank != 3 && rank != 4)) {
            return std::nullopt;
        }
        if (!m_ofText.empty() && !isAmongTokens(node, isMixing)) {
            return std::nullopt;
        }
        const bool isByHead = rank == 4 || isMixing;
        const std::int64_t heads =
            rank == 4 ? shapeOf(node.outputs.front())[1] : graph::intAttribute(node, "q_num_heads", 1);
        return FoundAttention{id, {node.outputs.front(), std::max<std::int64_t>(heads, 1), isByHead}};
    }

    /// Marks what is computed of these tokens.
    void markReadersOf(ValueId tokens)
    {
        m_ofText.assign(m_graph.valueCount(), 0);
        for (std::size_t i = 0; i < m_graph.nodeCount(); ++i) {
            const graph::Node& node = m_graph.node(NodeId(i));
            bool isOf = false;
            for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
                const ValueId operand = node.inputs[slot];
                const execute::TokenPlaces* const places = m_model.tokensAt(NodeId(i), slot);
                isOf = isOf || (places != nullptr && places->input == tokens) ||
                       (operand.isValid() && m_model.isTracked(operand) && m_ofText[operand.index()] != 0);
            }
            for (const ValueId output : node.outputs) {
                if (isOf && output.isValid()) {
                    m_ofText[output.index()] = 1;
                }
            }
        }
    }

    /// Whether the values that an attention mixes are of the tokens; those of the encoder are not.
    [[nodiscard]] bool isAmongTokens(const graph::Node& node, bool isMixing) const
    {
        const std::size_t slot = isMixing ? 1 : node.domain.empty() ? 2 : 0;
        return slot < node.inputs.size() && node.inputs[slot].isValid() && m_ofText[node.inputs[slot].index()] != 0;
    }

    /// Values of three axes by head: batch and heads share the first one, and the stream says how many are one batch.
    [[nodiscard]] HeadValues inBatch(HeadValues values, const Shape& stream) const
    {
        const Shape& shape = shapeOf(values.value);
        if (values.isByHead && shape.size() == 3 && stream[0] > 0 && shape[0] % stream[0] == 0) {
            values.heads = std::max<std::int64_t>(shape[0] / stream[0], 1);
        }
        return values;
    }

    /// Through what may stand between the probabilities and the product with the values.
    [[nodiscard]] bool comesFromSoftmax(ValueId value) const
    {
        using enum ops::Elements;
        while (const auto node = producerOf(value)) {
            if (kindOf(*node) == StructureKind::Softmax) {
                return true;
            }
            const graph::Node& between = m_graph.node(*node);
            const bool isChoice = ops::areElements(between, {Chosen});
            if (!isChoice && !ops::keepsElements(between)) {
                return false;
            }
            value = between.inputs[isChoice ? trackedOperand(between) : 0];
        }
        return false;
    }

    [[nodiscard]] std::size_t trackedOperand(const graph::Node& node) const
    {
        for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
            if (node.inputs[slot].isValid() && m_model.isTracked(node.inputs[slot])) {
                return slot;
            }
        }
        return 0;
    }

    [[nodiscard]] Marks above(NodeId from) const
    {
        Marks marks(m_graph.valueCount(), 0);
        graph::walkBack(m_graph, resultOf(from), [&](ValueId value) {
            marks[value.index()] = value != resultOf(from) && m_model.isTracked(value) ? 1 : 0;
            return m_model.isTracked(value) ? graph::Walk::GoOn : graph::Walk::Turn;
        });
        return marks;
    }

    /// Calls f(node, its operands below `from`) for the nodes that depend on it, in order, until it returns true.
    template <class F>
    void forEachBelow(ValueId from, NodeId behind, const F& f) const
    {
        Marks below(m_graph.valueCount(), 0);
        below[from.index()] = 1;
        for (std::size_t i = behind.index() + 1; i < m_graph.nodeCount(); ++i) {
            const graph::Node& node = m_graph.node(NodeId(i));
            const bool isBelow =
                std::ranges::any_of(node.inputs, [&](ValueId v) { return v.isValid() && below[v.index()] != 0; });
            if (!isBelow) {
                continue;
            }
            if (f(NodeId(i), below)) {
                return;
            }
            for (const ValueId output : node.outputs) {
                if (output.isValid()) {
                    below[output.index()] = 1;
                }
            }
        }
    }

    /// The first sum behind an attention that adds a value in front of it.
    [[nodiscard]] std::optional<Sum> sumBehind(const FoundAttention& attention) const
    {
        const Marks front = above(attention.node);
        std::optional<Sum> sum;
        forEachBelow(attention.values.value, attention.node, [&](NodeId id, const Marks& below) {
            if (kindOf(id) != StructureKind::SumOfOperands) {
                return false;
            }
            for (const ValueId operand : m_graph.node(id).inputs) {
                const bool isInFront = operand.isValid() && front[operand.index()] != 0 && below[operand.index()] == 0;
                if (isInFront && shapeOf(operand) == shapeOf(resultOf(id)) && shapeOf(operand).size() == 3) {
                    sum = Sum{id, operand};
                    return true;
                }
            }
            return false;
        });
        return sum;
    }

    /// From the sum behind the last attention on, as long as the stream itself is an operand of a later sum.
    [[nodiscard]] ValueId streamBehind(NodeId sum) const
    {
        ValueId stream = resultOf(sum);
        for (bool goesOn = true; goesOn;) {
            goesOn = false;
            for (const ValueId at : {stream, normalised(stream)}) {
                const auto next = at.isValid() ? nextSum(at) : std::nullopt;
                if (next) {
                    stream = resultOf(*next);
                    goesOn = true;
                    break;
                }
            }
        }
        return stream;
    }

    /// The only reader of a stream where that normalises it (a model that normalises behind each sum); else invalid.
    [[nodiscard]] ValueId normalised(ValueId stream) const
    {
        const auto uses = m_graph.uses(stream);
        return uses.size() == 1 && kindOf(uses[0].node) == StructureKind::SelfNormalisation ? resultOf(uses[0].node)
                                                                                            : ValueId();
    }

    [[nodiscard]] std::optional<NodeId> nextSum(ValueId stream) const
    {
        std::optional<NodeId> next;
        const auto producer = producerOf(stream);
        if (!producer) {
            return next;
        }
        forEachBelow(stream, *producer, [&](NodeId id, const Marks& below) {
            const std::vector<ValueId>& operands = m_graph.node(id).inputs;
            const bool adds = kindOf(id) == StructureKind::SumOfOperands && shapeOf(resultOf(id)) == shapeOf(stream) &&
                              std::ranges::find(operands, stream) != operands.end() &&
                              std::ranges::any_of(operands, [&](ValueId v) {
                                  return v.isValid() && v != stream && below[v.index()] != 0;
                              });
            next = adds ? std::optional(id) : std::nullopt;
            return adds;
        });
        return next;
    }

    const BoundModel& m_model;
    const graph::Graph& m_graph;
    Marks m_ofText; ///< where only attentions among the tokens of one input count; else empty
};

/// The relevance of a value in float64; invalid when nothing arrived.
Tensor arrivedAt(std::span<const Tensor> relevance, ValueId value)
{
    const bool isThere = value.index() < relevance.size() && relevance[value.index()].isValid();
    return isThere ? relevance[value.index()].to(tensor::DType::Float64).contiguous() : Tensor();
}

/// Adds the relevance `from` of the values of heads, of one row, to tokens × heads at `to`, whose lines are `most`
/// long.
void addHeads(const HeadValues& values, const double* from, std::int64_t tokens, std::int64_t width, double* to,
              std::int64_t most)
{
    for (std::int64_t i = 0; i < values.heads * tokens * width; ++i) {
        const std::int64_t line = i / width;
        const std::int64_t head = values.isByHead ? line / tokens : line % values.heads;
        const std::int64_t token = values.isByHead ? line % tokens : line / values.heads;
        to[token * most + head] += from[i];
    }
}

} // namespace

Shape shapeByHead(const Shape& shape, std::int64_t heads)
{
    return shape.size() == 4 ? shape : Shape{shape[0] / heads, heads, shape[1], shape[2]};
}

base::Result<ResidualStreams> residualStreams(const BoundModel& model, ValueId tokens)
{
    return StreamFinder(model, tokens).run();
}

std::optional<NodeId> mixingNode(const BoundModel& body) { return StreamFinder(body).mixing(); }

Tensor streamRelevance(const ResidualStreams& streams, const BoundModel& model, std::span<const Tensor> relevance,
                       std::int64_t row)
{
    const Shape& shape = model.typeOf(streams.streams.front()).shape;
    const std::int64_t tokens = shape[1];
    tensor::TensorBuffer sums(tensor::DType::Float64, {static_cast<std::int64_t>(streams.streams.size()), tokens});
    sums.clear();
    double* to = sums.data<double>();
    for (std::size_t layer = 0; layer < streams.streams.size(); ++layer, to += tokens) {
        const Tensor own = arrivedAt(relevance, streams.streams[layer]);
        const Shape& extents = model.typeOf(streams.streams[layer]).shape;
        if (!own.isValid() || row >= extents[0] || extents[1] != tokens) {
            continue;
        }
        const double* from = own.data<double>() + row * tokens * extents[2];
        for (std::int64_t i = 0; i < tokens * extents[2]; ++i) {
            to[i / extents[2]] += from[i];
        }
    }
    return std::move(sums).freeze();
}

Tensor headRelevance(const ResidualStreams& streams, const BoundModel& model, std::span<const Tensor> relevance,
                     std::int64_t row)
{
    std::int64_t most = 1;
    for (const HeadValues& values : streams.heads) {
        most = std::max(most, values.heads);
    }
    const std::int64_t tokens = model.typeOf(streams.streams.front()).shape[1];
    tensor::TensorBuffer sums(tensor::DType::Float64, {static_cast<std::int64_t>(streams.heads.size()), tokens, most});
    sums.clear();
    double* to = sums.data<double>();
    for (const HeadValues& values : streams.heads) {
        const Tensor own = arrivedAt(relevance, values.value);
        const Shape& extents = model.typeOf(values.value).shape;
        const Shape shape = values.isByHead ? shapeByHead(extents, values.heads) : extents;
        const std::int64_t queries = values.isByHead ? shape[2] : shape[1];
        const std::int64_t width = values.isByHead ? shape[3] : shape[2] / values.heads;
        if (own.isValid() && row < shape[0] && queries == tokens) {
            addHeads(values, own.data<double>() + row * values.heads * tokens * width, tokens, width, to, most);
        }
        to += tokens * most;
    }
    return std::move(sums).freeze();
}

} // namespace retro::engine
