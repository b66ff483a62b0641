// SPDX-License-Identifier: Apache-2.0
#include "core/graph/attributes.h"
#include "core/ops/algebra.h"
#include "core/ops/elements.h"
#include "core/rewrite/quantised/integernode.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

namespace retro::rewrite
{

using graph::Node;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

namespace
{

constexpr std::int64_t kColumns = -1; ///< axis of a matrix that has a zero point each

/// A node that alone reads a value, and its other operand.
struct OnlyReader
{
    NodeId id;
    ValueId other;
    ValueId result;
};

/// The nodes that read a value of the graph before and are still as they were there.
std::vector<NodeId> readersOf(const Draft& draft, ValueId value)
{
    std::vector<NodeId> readers;
    for (const graph::Use& use : draft.before().uses(value)) {
        if (!draft.isRemoved(use.node)) {
            readers.push_back(use.node);
        }
    }
    return readers;
}

std::optional<OnlyReader> onlyReader(const Draft& draft, ValueId value, std::string_view op)
{
    const bool isOld = value.isValid() && value.index() < draft.before().valueCount();
    if (!isOld || draft.isOutput(value) || draft.readerCount(value) != 1) {
        return std::nullopt;
    }
    const std::vector<NodeId> readers = readersOf(draft, value);
    if (readers.size() != 1) {
        return std::nullopt;
    }
    const Node& node = draft.node(readers[0]);
    if (node.op != op || !node.domain.empty() || node.inputs.empty() || node.outputs.size() != 1 ||
        !node.outputs[0].isValid()) {
        return std::nullopt;
    }
    OnlyReader reader{readers[0], {}, node.outputs[0]};
    if (node.inputs.size() == 2) {
        reader.other = node.inputs[node.inputs[0] == value ? 1 : 0];
    }
    return reader;
}

/// What makes numbers of a product of integers: a Cast or a DequantizeLinear, and the Add of whole numbers in front.
struct Widening
{
    OnlyReader node;
    NodeId add;        ///< may be invalid
    ValueId wholeBias; ///< what that adds
    ValueId scale;     ///< of a DequantizeLinear; invalid for a Cast
    bool isOfColumns;  ///< its axis are the columns
};

/// What follows a product of integers: a Cast, products with scales, the Add of a bias.
struct Tail
{
    std::vector<NodeId> nodes;
    ValueId result;       ///< of the last node
    Tensor weightScale;   ///< one number or one per column, in float64
    Tensor bias;          ///< one per column, in float64; may be invalid
    ValueId product = {}; ///< of scales, made by a Mul that may be unread then
};

class TailReader
{
public:
    /// `columns` of the result; `rank` of a convolution's result, whose axis 1 they are; 0 for a matrix product, whose
    /// last axis they are.
    TailReader(const Draft& draft, const Grid& grid, std::int64_t columns, std::size_t rank)
        : m_draft(draft), m_grid(grid), m_columns(columns), m_rank(rank)
    {}

    /// Nothing where the products are not those of the grid's scale and a constant.
    [[nodiscard]] std::optional<Tail> read(const Widening& widening) const
    {
        const OnlyReader& cast = widening.node;
        std::optional<Tail> found = widening.scale.isValid() ? ofDequantise(widening) : readFactors(cast);
        found = found || widening.scale.isValid() ? std::move(found) : ofConstants(cast);
        if (!found || !takeConstants(*found) || (found->nodes.size() < 2 && !widening.scale.isValid())) {
            return std::nullopt;
        }
        Tail tail = *std::move(found);
        if (widening.add.isValid() && !takeWholeBias(widening, tail)) {
            return std::nullopt;
        }
        if (const auto add = onlyReader(m_draft, tail.result, "Add"); add && takeBias(*add, tail)) {
            tail.nodes.push_back(add->id);
            tail.result = add->result;
        }
        return tail;
    }

private:
    [[nodiscard]] std::optional<Tail> readFactors(const OnlyReader& cast) const
    {
        Tail tail;
        tail.nodes.push_back(cast.id);
        const std::optional<OnlyReader> mul = onlyReader(m_draft, cast.result, "Mul");
        return mul && takeFactors(*mul, tail) ? std::optional(std::move(tail)) : std::nullopt;
    }

    /// A DequantizeLinear is a Cast and the product with its scale.
    [[nodiscard]] std::optional<Tail> ofDequantise(const Widening& widening) const
    {
        Tail tail;
        tail.nodes.push_back(widening.node.id);
        tail.result = widening.node.result;
        const bool isProduct = takeProduct(widening.scale, tail, true) || takeWhole(widening.scale, tail, true);
        const bool fits =
            isProduct && tail.weightScale.isValid() && (widening.isOfColumns || tail.weightScale.size() == 1);
        return fits ? std::optional(std::move(tail)) : std::nullopt;
    }

    /// The whole numbers that are added count in steps of both scales.
    bool takeWholeBias(const Widening& widening, Tail& tail) const
    {
        const Tensor scale = wideConstant(m_draft, m_grid.scale);
        const Tensor whole = perColumn(widening.wholeBias);
        if (!scale.isValid() || scale.size() != 1 || !whole.isValid()) {
            return false;
        }
        const auto numberAt = [](const Tensor& t, std::int64_t c) { return t.at(t.size() == 1 ? 0 : c); };
        std::vector<double> bias;
        for (std::int64_t c = 0; c < m_columns; ++c) {
            bias.push_back(numberAt(whole, c) * scale.at(0) * numberAt(tail.weightScale, c));
        }
        tail.bias = Tensor::of<double>({m_columns}, bias);
        tail.nodes.push_back(widening.add);
        return std::ranges::all_of(bias, [](double number) { return std::isfinite(number); });
    }

    /// The Cast alone, where the scale of the operand is constant: its reciprocal is the first factor.
    [[nodiscard]] std::optional<Tail> ofConstants(const OnlyReader& cast) const
    {
        const Tensor scale = wideConstant(m_draft, m_grid.scale);
        if (!scale.isValid() || scale.size() != 1 || scale.at(0) == 0) {
            return std::nullopt;
        }
        return Tail{{cast.id}, cast.result, Tensor::of<double>({1}, std::vector{1 / scale.at(0)}), {}};
    }

    /// Products with constants and quotients by them that follow. False where a factor is then not finite.
    [[nodiscard]] bool takeConstants(Tail& tail) const
    {
        std::vector<double> factors(tail.weightScale.span<double>().begin(), tail.weightScale.span<double>().end());
        for (std::optional<OnlyReader> next = factorBehind(tail.result); next; next = factorBehind(tail.result)) {
            const Tensor constant = perColumn(next->other);
            factors.resize(std::max(factors.size(), static_cast<std::size_t>(constant.size())), factors[0]);
            const bool isQuotient = ops::areElements(m_draft.node(next->id), {ops::Elements::Divided});
            for (std::size_t c = 0; c < factors.size(); ++c) {
                const double number = constant.at(constant.size() == 1 ? 0 : static_cast<std::int64_t>(c));
                factors[c] = isQuotient ? factors[c] / number : factors[c] * number;
            }
            tail.nodes.push_back(next->id);
            tail.result = next->result;
        }
        tail.weightScale = Tensor::of<double>({static_cast<std::int64_t>(factors.size())}, factors);
        return std::ranges::all_of(factors, [](double number) { return std::isfinite(number); });
    }

    /// Mul with a constant of one number or one per column, or Div by one.
    [[nodiscard]] std::optional<OnlyReader> factorBehind(ValueId value) const
    {
        std::optional<OnlyReader> reader = onlyReader(m_draft, value, "Mul");
        if (!reader) {
            reader = onlyReader(m_draft, value, "Div");
            reader = reader && m_draft.node(reader->id).inputs[0] == value ? reader : std::nullopt;
        }
        return reader && perColumn(reader->other).isValid() ? reader : std::nullopt;
    }

    /// One product with s·w, or one with each.
    bool takeFactors(const OnlyReader& mul, Tail& tail) const
    {
        tail.nodes.push_back(mul.id);
        tail.result = mul.result;
        if (takeProduct(mul.other, tail) || takeWhole(mul.other, tail)) {
            return tail.weightScale.isValid();
        }
        const auto next = onlyReader(m_draft, mul.result, "Mul");
        if (!next) {
            return false;
        }
        tail.nodes.push_back(next->id);
        tail.result = next->result;
        const bool isScaleFirst = isScale(mul.other);
        if (!isScaleFirst && !isScale(next->other)) {
            return false;
        }
        tail.weightScale = perColumn(isScaleFirst ? next->other : mul.other);
        return tail.weightScale.isValid();
    }

    /// Mul(scale, constant); `isVector`: as perColumn().
    bool takeProduct(ValueId factor, Tail& tail, bool isVector = false) const
    {
        const NodeId id = factor.isValid() ? m_draft.value(factor).producer : NodeId();
        if (!id.isValid() || !ops::areElements(m_draft.node(id), {ops::Elements::Multiplied}) ||
            m_draft.node(id).inputs.size() != 2) {
            return false;
        }
        const Node& node = m_draft.node(id);
        const bool isFirst = isScale(node.inputs[0]);
        if (!isFirst && !isScale(node.inputs[1])) {
            return false;
        }
        tail.weightScale = perColumn(node.inputs[isFirst ? 1 : 0], isVector);
        tail.product = factor;
        return true;
    }

    /// A constant that is the product of both scales.
    bool takeWhole(ValueId factor, Tail& tail, bool isVector = false) const
    {
        const Tensor scale = wideConstant(m_draft, m_grid.scale);
        const Tensor both = scale.isValid() ? perColumn(factor, isVector) : Tensor();
        if (!both.isValid() || scale.size() != 1 || scale.at(0) == 0) {
            return false;
        }
        tail.weightScale = ops::algebra::scale(both, 1 / scale.at(0));
        return true;
    }

    bool takeBias(const OnlyReader& add, Tail& tail) const
    {
        const Tensor bias = perColumn(add.other);
        if (!bias.isValid() || bias.size() != m_columns) {
            return false;
        }
        tail.bias = tail.bias.isValid() ? ops::algebra::add(tail.bias, bias) : bias;
        return true;
    }

    [[nodiscard]] bool isScale(ValueId id) const
    {
        return id.isValid() && isSame(m_draft, {id, {}}, {m_grid.scale, {}});
    }

    /// A constant of one number or one per column, as a vector; invalid for others. `isVector`: of one axis, whatever
    /// the result has.
    [[nodiscard]] Tensor perColumn(ValueId id, bool isVector = false) const
    {
        const Tensor data = wideConstant(m_draft, id);
        if (!data.isValid() || data.rank() > std::max<std::size_t>(m_rank, 1)) { // more axes than the result
            return {};
        }
        if (data.size() == 1) {
            return data.reshaped({1});
        }
        const bool isColumn = m_rank > 0 && !isVector ? isChannel(data.shape()) : data.shape() == Shape{m_columns};
        return isColumn ? data.reshaped({m_columns}) : Tensor();
    }

    /// [C, 1, 1] or [1, C, 1, 1]: all of it lies along axis 1 of the result.
    [[nodiscard]] bool isChannel(const Shape& shape) const
    {
        Shape wanted(m_rank, 1);
        wanted[1] = m_columns;
        const auto missing = static_cast<std::ptrdiff_t>(m_rank - shape.size());
        return missing <= 1 && std::equal(shape.begin(), shape.end(), wanted.begin() + missing, wanted.end());
    }

    const Draft& m_draft;
    Grid m_grid;
    std::int64_t m_columns;
    std::size_t m_rank;
};

constexpr std::array<std::int64_t, 4> kFloatCasts{1, 10, 11, 16};

std::optional<OnlyReader> castOf(const Draft& draft, ValueId sum)
{
    const auto cast = onlyReader(draft, sum, "Cast");
    const std::int64_t to = cast ? intAttribute(draft.node(cast->id), "to", 0) : 0;
    return std::ranges::find(kFloatCasts, to) != kFloatCasts.end() ? cast : std::nullopt;
}

/// A DequantizeLinear without a zero point other than 0.
std::optional<OnlyReader> dequantiseOf(const Draft& draft, ValueId sum)
{
    const auto reader = onlyReader(draft, sum, "DequantizeLinear");
    if (!reader || draft.node(reader->id).inputs[0] != sum) {
        return std::nullopt;
    }
    const Node& node = draft.node(reader->id);
    const ValueId scale = operandOf(node, 1);
    const ValueId zero = operandOf(node, 2);
    const Tensor zeros = wideConstant(draft, zero);
    const bool isFromZero = !zero.isValid() || (zeros.isValid() && ops::algebra::sumAbsolute(zeros) == 0);
    const bool isPlain = scale.isValid() && isFromZero && intAttribute(node, "block_size", 0) == 0;
    return isPlain ? reader : std::nullopt;
}

/// What makes numbers of the product's result; nothing where it is read otherwise.
std::optional<Widening> wideningOf(Dequantiser& to, const Node& node)
{
    const Draft& draft = to.draft();
    ValueId sum = node.outputs[0];
    Widening widening{};
    if (const auto add = onlyReader(draft, sum, "Add"); add && add->other.isValid() && draft.isConstant(add->other)) {
        widening.add = add->id;
        widening.wholeBias = add->other;
        sum = add->result;
    }
    if (const auto cast = castOf(draft, sum)) {
        widening.node = *cast;
        return widening;
    }
    const auto dequantise = dequantiseOf(draft, sum);
    if (!dequantise) {
        return std::nullopt;
    }
    const Node& last = draft.node(dequantise->id);
    const std::int64_t axis = intAttribute(last, "axis", 1);
    const auto rank = static_cast<std::int64_t>(to.rankOf(node.outputs[0]));
    widening.node = *dequantise;
    widening.scale = operandOf(last, 1);
    widening.isOfColumns = node.op == "ConvInteger" ? axis == 1 || axis + rank == 1 : axis == -1 || axis + 1 == rank;
    return widening;
}

/// Columns of the result by the constant weight.
std::int64_t columnsOf(const Tensor& weight, bool isConvolution)
{
    return isConvolution ? weight.shape().front() : weight.shape().back();
}

/// The layer with scales and bias in the place of all that follows the product.
void replaceAll(Dequantiser& to, NodeId id, const Tail& tail, const Grid& grid, ValueId floats, bool isConvolution)
{
    const Node node = to.draft().node(id);
    const std::string weightName = to.draft().value(node.inputs[1]).name; // what is added moves the values
    const ValueId scale = to.constant(weightName + ".scale", tail.weightScale);
    const ValueId bias = tail.bias.isValid() ? to.constant(weightName + ".bias", tail.bias) : ValueId();
    const ValueId w = to.floatsOf(node.inputs[1], {scale, operandOf(node, 3), isConvolution ? 0 : kColumns});
    const IntegerLayer layer = integerLayer(to, {isConvolution ? "Conv" : "MatMul", floats, w, bias, grid.scale, scale,
                                                 isConvolution ? node.attributes : graph::Attributes()});
    for (const NodeId gone : tail.nodes) {
        to.remove(gone);
    }
    to.finish(id, layer.form, "", layer.inputs, {tail.result});
    const NodeId product = tail.product.isValid() ? to.draft().value(tail.product).producer : NodeId();
    if (product.isValid() && to.draft().readerCount(tail.product) == 0 && !to.draft().isOutput(tail.product)) {
        to.remove(product);
    }
}

/// The product of whole numbers, x by its scale, in the place of the Cast: whatever follows stays.
void replaceProduct(Dequantiser& to, NodeId id, const OnlyReader& cast, const Grid& grid, ValueId floats,
                    bool isConvolution)
{
    const Node node = to.draft().node(id);
    const ValueId one = to.constant(node.name + "/one", Tensor::scalar<double>(1));
    const ValueId whole = to.add({"", "Div", 14, {}}, "/levels", {floats, grid.scale}, floats);
    const ValueId w = to.floatsOf(node.inputs[1], {one, operandOf(node, 3), isConvolution ? 0 : kColumns});
    const IntegerLayer layer = integerLayer(to, {isConvolution ? "Conv" : "MatMul",
                                                 whole,
                                                 w,
                                                 {},
                                                 one,
                                                 one,
                                                 isConvolution ? node.attributes : graph::Attributes()});
    to.remove(cast.id);
    to.finish(id, layer.form, "", layer.inputs, {cast.result});
}

/// The grid that the product's zero point and its operand's scale are; without one that is known, that of rows of a
/// constant table, whose scale is one with that of the weight.
std::optional<Grid> askedGrid(Dequantiser& to, const Node& node)
{
    const std::optional<Grid> known = to.knownGrid(operandOf(node, 0));
    const ValueId scale = known ? known->scale : to.constant(node.name + "/one", Tensor::scalar<double>(1));
    const Grid asked{scale, operandOf(node, 2)};
    return isOfTensor(to.draft(), asked) ? std::optional(asked) : std::nullopt;
}

/// The weight has no zero point, one, or one per column of the result.
bool hasFittingZeros(const Draft& draft, const Node& node)
{
    const ValueId id = operandOf(node, 3);
    if (!id.isValid() || !draft.isConstant(id)) {
        return !id.isValid();
    }
    const Tensor& zeros = draft.value(id).constant;
    const Tensor& weight = draft.value(node.inputs[1]).constant;
    return zeros.size() == 1 || zeros.shape() == Shape{columnsOf(weight, node.op == "ConvInteger")};
}

/// What follows the product, where it is what follows a layer.
std::optional<Tail> tailOf(Dequantiser& to, const Node& node, const Widening& widening, const Grid& grid)
{
    const Tensor& levels = to.draft().value(node.inputs[1]).constant;
    const bool isConvolution = node.op == "ConvInteger";
    const std::size_t rank = isConvolution ? levels.rank() : 0;
    return TailReader(to.draft(), grid, columnsOf(levels, isConvolution), rank).read(widening);
}

} // namespace

bool integerProduct(Dequantiser& to, NodeId id)
{
    const Node node = to.draft().node(id);
    const ValueId weight = operandOf(node, 1);
    const auto widening = wideningOf(to, node);
    const std::optional<Grid> grid = widening ? askedGrid(to, node) : std::nullopt;
    if (!grid || !weight.isValid()) {
        return false;
    }
    if (!to.draft().isConstant(weight) || to.draft().value(weight).constant.rank() < 2) {
        to.note(id, "its weight is computed, or no matrix");
        return false;
    }
    const std::optional<Tail> tail = tailOf(to, node, *widening, *grid);
    if (!tail && (widening->add.isValid() || widening->scale.isValid())) {
        to.note(id,
                "the whole numbers that are added to it, or the scale behind it, are not constants of one number or "
                "one per column, in steps of the scales of both operands");
        return false;
    }
    const bool isOfInput = to.isOfInput(operandOf(node, 0));
    ValueId floats = isOfInput ? ValueId() : to.tracedFloatsOf(operandOf(node, 0), *grid);
    if (!floats.isValid() && !isOfInput) {
        to.note(id, "its operand is not quantised here, or by another zero point");
        return false;
    }
    const bool isConvolution = node.op == "ConvInteger";
    if (!hasFittingZeros(to.draft(), node)) {
        to.note(id, "the zero points of its weight are computed, or are neither one nor one per column");
        return false;
    }
    const Dequantiser::Working working(to, id);
    floats = isOfInput ? to.floatsOf(operandOf(node, 0), *grid) : floats;
    if (tail) {
        replaceAll(to, id, *tail, *grid, floats, isConvolution);
    } else {
        replaceProduct(to, id, widening->node, *grid, floats, isConvolution);
    }
    return true;
}

} // namespace retro::rewrite
