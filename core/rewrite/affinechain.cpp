// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/affinechain.h"

#include "core/graph/attributes.h"
#include "core/ops/elements.h"
#include "core/ops/layerkind.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

namespace retro::rewrite
{

using graph::Node;
using tensor::Tensor;

SoleReaders::SoleReaders(const Draft& draft) : m_draft(draft)
{
    for (std::size_t i = 0; i < draft.nodeCount(); ++i) {
        if (!draft.isRemoved(NodeId(i))) {
            take(NodeId(i));
        }
    }
}

void SoleReaders::take(NodeId id)
{
    for (const ValueId input : m_draft.node(id).inputs) {
        if (input.isValid()) {
            m_last.resize(std::max(m_last.size(), input.index() + 1));
            m_last[input.index()] = id;
        }
    }
}

std::optional<NodeId> SoleReaders::of(ValueId id) const
{
    const bool isSole = id.index() < m_last.size() && m_draft.readerCount(id) == 1 && !m_draft.isOutput(id);
    return isSole ? std::optional(m_last[id.index()]) : std::nullopt;
}

bool AffineChain::hasMoves() const
{
    return std::ranges::any_of(steps, [](const Step& step) { return !step.affine; });
}

std::vector<std::string> AffineChain::namesIn(const Draft& draft) const
{
    std::vector<std::string> names;
    for (const Step& step : steps) {
        if (step.affine) {
            names.push_back(draft.node(step.node).name);
        }
    }
    return names;
}

bool AffineChain::isOfNorms(const Draft& draft) const
{
    return std::ranges::all_of(
        steps, [&](const Step& step) { return !step.affine || ops::isBatchNormalisation(draft.node(step.node)); });
}

std::vector<double> AffineChain::factor() const
{
    std::vector<double> product;
    for (const Step& step : steps) {
        if (!step.affine) {
            continue;
        }
        product.resize(step.affine->channels(), 1.0);
        for (std::size_t c = 0; c < product.size(); ++c) {
            product[c] *= step.affine->factor[c];
        }
    }
    return product;
}

std::vector<double> AffineChain::applied(std::vector<double> values) const
{
    for (const Step& step : steps) {
        for (std::size_t c = 0; step.affine && c < values.size(); ++c) {
            values[c] = step.affine->shiftOf(values[c], c);
        }
    }
    return values;
}

namespace
{

using enum ops::Elements;

/// The operand of a Mul, Add, Sub, Div or Sum of two whose other operand is a constant; that of Div is the divisor.
std::optional<std::size_t> operandBesideConstant(const Draft& draft, const Node& node)
{
    for (std::size_t slot = 0; slot < (ops::areElements(node, {Divided}) ? 1U : 2U); ++slot) {
        const ValueId operand = node.inputs[slot];
        if (operand.isValid() && !draft.isConstant(operand) && isFloatingConstant(draft, node, 1 - slot)) {
            return slot;
        }
    }
    return std::nullopt;
}

/// The operand that a node scales and shifts by constants, as far as its operator says: not yet whether by channel.
std::optional<std::size_t> scaledOperand(const Draft& draft, const Node& node)
{
    if (!node.domain.empty() || node.inputs.empty() || node.outputs.empty()) {
        return std::nullopt;
    }
    if (ops::isBatchNormalisation(node) || ops::areElements(node, {Negated})) {
        return node.inputs[0].isValid() ? std::optional<std::size_t>(0) : std::nullopt;
    }
    return ops::combinesTwo(node, {Summed, Subtracted, Multiplied, Divided}) ? operandBesideConstant(draft, node)
                                                                             : std::nullopt;
}

/// What the operator does with one constant number per channel.
Affine affineBy(const Node& node, bool isConstantFirst, std::vector<double> numbers)
{
    const std::size_t count = numbers.size();
    Affine affine{std::vector<double>(count, 1.0), std::vector<double>(count, 0.0), std::vector<double>(count, 0.0)};
    if (ops::areElements(node, {Multiplied, Divided})) {
        affine.factor = std::move(numbers);
        if (ops::areElements(node, {Divided})) {
            std::ranges::transform(affine.factor, affine.factor.begin(), [](double f) { return 1 / f; });
        }
    } else if (ops::areElements(node, {Summed})) {
        affine.beta = std::move(numbers);
    } else { // Sub: x − k, or k − x = −(x − k)
        affine.mean = std::move(numbers);
        affine.factor.assign(count, isConstantFirst ? -1.0 : 1.0);
    }
    return affine;
}

/// Walks from a layer along a chain and keeps the view of the value that it is at.
class ChainWalk
{
public:
    ChainWalk(const Draft& draft, const LinearLayer& layer, bool isBehind, GenericShapes& shapes)
        : m_draft(draft), m_shapes(shapes), m_view(isBehind ? layer.made : layer.read),
          m_channels(static_cast<std::size_t>(m_view->channels)), m_isBehind(isBehind)
    {}

    /// Takes a node in whose operand or result, on the layer's side, is `value`. False when the chain ends before it.
    bool take(NodeId id, ValueId value)
    {
        const Node& node = m_draft.node(id);
        if (isRearrangement(node)) {
            m_view = m_view ? across(node, *m_view, m_isBehind, m_shapes) : std::nullopt;
            m_steps.push_back({id, std::nullopt});
            return true;
        }
        std::optional<Affine> affine = affineAt(node, value);
        if (!affine || !affine->isFinite()) {
            return false;
        }
        m_steps.push_back({id, std::move(affine)});
        m_length = m_steps.size();
        return true;
    }

    /// What was taken, up to the last node that scales or shifts.
    [[nodiscard]] AffineChain finish() &&
    {
        m_steps.resize(m_length);
        if (m_isBehind) {
            return {std::move(m_steps)};
        }
        return {{std::make_move_iterator(m_steps.rbegin()), std::make_move_iterator(m_steps.rend())}};
    }

private:
    [[nodiscard]] std::optional<Affine> affineAt(const Node& node, ValueId value)
    {
        const std::optional<std::size_t> slot = scaledOperand(m_draft, node);
        if (!slot) {
            return std::nullopt;
        }
        if (ops::isBatchNormalisation(node)) {
            return normAt(node, value);
        }
        if (ops::areElements(node, {Negated})) {
            return Affine{std::vector<double>(m_channels, -1.0), std::vector<double>(m_channels, 0.0),
                          std::vector<double>(m_channels, 0.0)};
        }
        const Tensor& constant = m_draft.value(node.inputs[1 - *slot]).constant;
        if (!m_isBehind && !keepsShape(constant, node.inputs[*slot], value)) {
            return std::nullopt;
        }
        auto numbers = numbersAt(constant, value);
        return numbers ? std::optional(affineBy(node, *slot == 1, std::move(*numbers))) : std::nullopt;
    }

    /// The result, whose view is known here, is no larger than the operand.
    [[nodiscard]] bool keepsShape(const Tensor& constant, ValueId operand, ValueId result)
    {
        if (constant.rank() == 0) {
            return true;
        }
        const auto before = m_shapes.of(operand);
        return before && before == m_shapes.of(result);
    }

    [[nodiscard]] std::optional<std::vector<double>> numbersAt(const Tensor& constant, ValueId value)
    {
        if (constant.rank() == 0) { // whatever the channels are
            return std::vector<double>(m_channels, constant.at(0));
        }
        if (!m_view) {
            return std::nullopt;
        }
        if (auto numbers = perChannel(constant, *m_view)) {
            return numbers;
        }
        const auto shape = m_shapes.of(value);
        const auto whole = shape ? completed(*m_view, *shape) : std::nullopt;
        return whole ? perChannel(constant, *whole) : std::nullopt;
    }

    /// Parameters of a BatchNormalization stand along axis 1.
    [[nodiscard]] std::optional<Affine> normAt(const Node& node, ValueId value)
    {
        const std::optional<Affine> own = m_view ? affineOf(m_draft, node) : std::nullopt;
        if (!own) {
            return std::nullopt;
        }
        const auto shape = m_view->isWhole ? std::nullopt : m_shapes.of(value);
        const std::size_t rank = m_view->isWhole ? m_view->axes.size() : shape ? shape->size() : 0;
        if (rank < 2) {
            return std::nullopt;
        }
        tensor::Shape along(rank - 1, 1);
        along[0] = static_cast<std::int64_t>(own->channels());
        const auto spread = [&](const std::vector<double>& numbers) {
            return numbersAt(Tensor::of<double>(along, numbers), value);
        };
        auto factor = spread(own->factor);
        auto mean = spread(own->mean);
        auto beta = spread(own->beta);
        if (!factor || !mean || !beta) {
            return std::nullopt;
        }
        return Affine{std::move(*factor), std::move(*mean), std::move(*beta)};
    }

    const Draft& m_draft;
    GenericShapes& m_shapes;
    std::optional<ChannelView> m_view; ///< nothing where it is lost: then only what is one number for all counts
    std::size_t m_channels;
    bool m_isBehind;
    std::vector<AffineChain::Step> m_steps;
    std::size_t m_length = 0;
};

/// True where a node that may scale or shift is reached, so that it pays to look at shapes.
template <class Next>
bool reachesScale(const Draft& draft, ValueId value, const Next& next)
{
    for (std::optional<NodeId> id = next(value); id; id = next(value)) {
        const Node& node = draft.node(*id);
        if (scaledOperand(draft, node)) {
            return true;
        }
        if (!isRearrangement(node)) {
            return false;
        }
        const ValueId behind = node.outputs[0] == value ? node.inputs[0] : node.outputs[0];
        value = behind;
    }
    return false;
}

/// A product with the weight on the left makes rows only of matrices.
bool isWideEnough(const LinearLayer& layer, ValueId operand, GenericShapes& shapes)
{
    if (layer.leastRank < 2) {
        return true;
    }
    const auto shape = shapes.of(operand);
    return shape && shape->size() >= layer.leastRank;
}

template <class Next>
AffineChain walked(const Draft& draft, const LinearLayer& layer, bool isBehind, GenericShapes& shapes, const Next& next)
{
    const Node& node = draft.node(layer.node);
    ValueId value = isBehind ? node.outputs[0] : node.inputs[layer.slot];
    if (!reachesScale(draft, value, next) || !isWideEnough(layer, node.inputs[layer.slot], shapes)) {
        return {};
    }
    ChainWalk walk(draft, layer, isBehind, shapes);
    for (std::optional<NodeId> id = next(value); id && walk.take(*id, value); id = next(value)) {
        const Node& taken = draft.node(*id);
        const std::size_t slot = isRearrangement(taken) ? 0 : *scaledOperand(draft, taken);
        value = isBehind ? taken.outputs[0] : taken.inputs[slot];
    }
    return std::move(walk).finish();
}

} // namespace

AffineChain chainBehind(const Draft& draft, const LinearLayer& layer, const SoleReaders& readers, GenericShapes& shapes)
{
    // A constant operand that is computed from the value itself is none; so one reader means one slot.
    return walked(draft, layer, true, shapes, [&](ValueId value) { return readers.of(value); });
}

AffineChain chainBefore(const Draft& draft, const LinearLayer& layer, GenericShapes& shapes)
{
    return walked(draft, layer, false, shapes, [&](ValueId value) -> std::optional<NodeId> {
        const bool isSole = draft.readerCount(value) == 1 && !draft.isOutput(value);
        const NodeId maker = draft.value(value).producer;
        return isSole && maker.isValid() && draft.node(maker).outputs[0] == value ? std::optional(maker) : std::nullopt;
    });
}

namespace
{

/// Writes the steps of a chain anew, beside the layer.
class Straightener
{
public:
    Straightener(Draft& draft, const ChannelView& view, SoleReaders& readers, GenericShapes& shapes)
        : m_draft(draft), m_view(view), m_readers(readers), m_shapes(shapes)
    {}

    /// All that scales and shifts, from `from` on. What the last makes is `to`, or a new value.
    ValueId scales(const AffineChain& chain, ValueId from, std::optional<ValueId> to)
    {
        const std::size_t last = lastOf(chain, true);
        for (std::size_t i = 0; i < chain.steps.size(); ++i) {
            if (chain.steps[i].affine) {
                from = scale(chain.steps[i], from, i == last ? to : std::nullopt);
            }
        }
        return from;
    }

    /// All that moves elements.
    ValueId moves(const AffineChain& chain, ValueId from, std::optional<ValueId> to)
    {
        const std::size_t last = lastOf(chain, false);
        for (std::size_t i = 0; i < chain.steps.size(); ++i) {
            if (chain.steps[i].affine) {
                continue;
            }
            Node node = m_draft.node(chain.steps[i].node);
            const ValueId before = node.outputs[0];
            node.inputs[0] = from;
            from = i == last && to ? *to : likeOf(before, before);
            node.outputs[0] = from;
            replace(chain.steps[i].node, std::move(node));
        }
        return from;
    }

    [[nodiscard]] std::vector<NodeId> members() && { return std::move(m_members); }

private:
    static std::size_t lastOf(const AffineChain& chain, bool isScale)
    {
        std::size_t last = 0;
        for (std::size_t i = 0; i < chain.steps.size(); ++i) {
            last = chain.steps[i].affine.has_value() == isScale ? i : last;
        }
        return last;
    }

    /// A new value, named after one and with the shape of another.
    ValueId likeOf(ValueId named, ValueId shaped)
    {
        const tensor::DType type = m_draft.value(named).dtype;
        const std::string name = m_draft.value(named).name + ".merged";
        const ValueId added = m_draft.addResult(name, type);
        m_shapes.setLike(added, shaped);
        return added;
    }

    void replace(NodeId id, Node node)
    {
        m_draft.replaceNode(id, std::move(node));
        m_readers.take(id);
    }

    /// One Mul, one Add, or both.
    ValueId scale(const AffineChain::Step& step, ValueId from, std::optional<ValueId> to)
    {
        const Node before = m_draft.node(step.node);
        const bool hasMul = !step.affine->isFactorFree() || step.affine->isShiftFree();
        const bool hasAdd = !step.affine->isShiftFree();
        const ValueId result = to ? *to : likeOf(before.outputs[0], from);
        if (hasMul) {
            const ValueId product = hasAdd ? likeOf(before.outputs[0], from) : result;
            put(step.node, node(before, "Mul", {from, constant(before, step.affine->factor)}, product));
            from = product;
        }
        if (hasAdd) {
            const ValueId shift =
                constant(before, AffineChain{{step}}.applied(std::vector<double>(step.affine->channels(), 0.0)));
            Node add = node(before, "Add", {from, shift}, result);
            if (hasMul) {
                add.name += "/shift";
                const NodeId added = m_draft.addNode(std::move(add));
                m_readers.take(added);
                m_members.push_back(added);
            } else {
                put(step.node, std::move(add));
            }
        }
        return result;
    }

    void put(NodeId id, Node node)
    {
        replace(id, std::move(node));
        m_members.push_back(id);
    }

    [[nodiscard]] static Node node(const Node& like, std::string_view op, std::vector<ValueId> inputs, ValueId output)
    {
        Node made = like;
        made.op = op;
        made.opset = std::max<std::int64_t>(like.opset, 7); // before that, broadcasting had to be asked for
        made.inputs = std::move(inputs);
        made.outputs = {output};
        made.attributes.clear();
        made.facts.reset();
        return made;
    }

    /// One number per channel, as it broadcasts beside the layer.
    ValueId constant(const Node& before, const std::vector<double>& numbers)
    {
        tensor::Shape shape;
        for (const ChannelAxis& axis : m_view.axes) {
            if (axis.stride != 0 || !shape.empty()) {
                shape.push_back(axis.stride != 0 ? axis.extent : 1);
            }
        }
        const tensor::DType type = m_draft.value(before.outputs[0]).dtype;
        return m_draft.addConstant(before.name + ".by_channel", Tensor::of<double>(shape, numbers), type);
    }

    Draft& m_draft;
    const ChannelView& m_view;
    SoleReaders& m_readers;
    GenericShapes& m_shapes;
    std::vector<NodeId> m_members;
};

} // namespace

StraightChain straighten(Draft& draft, const LinearLayer& layer, const AffineChain& chain, bool isBehind,
                         SoleReaders& readers, GenericShapes& shapes)
{
    const Node first = draft.node(chain.steps.front().node);
    const Node last = draft.node(chain.steps.back().node);
    const ValueId layerValue = isBehind ? draft.node(layer.node).outputs[0] : draft.node(layer.node).inputs[layer.slot];
    if (!chain.hasMoves()) {
        StraightChain straight;
        for (const AffineChain::Step& step : chain.steps) {
            straight.members.push_back(step.node);
        }
        straight.from = first.inputs[*scaledOperand(draft, first)];
        straight.to = last.outputs[0];
        return straight;
    }
    Straightener writer(draft, isBehind ? layer.made : layer.read, readers, shapes);
    StraightChain straight;
    if (isBehind) {
        straight.from = layerValue;
        straight.to = writer.scales(chain, layerValue, std::nullopt);
        writer.moves(chain, straight.to, last.outputs[0]);
    } else {
        straight.from = writer.moves(chain, first.inputs[*scaledOperand(draft, first)], std::nullopt);
        straight.to = writer.scales(chain, straight.from, layerValue);
    }
    straight.members = std::move(writer).members();
    return straight;
}

} // namespace retro::rewrite
