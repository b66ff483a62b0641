// SPDX-License-Identifier: Apache-2.0
// A product of one-hot rows and a matrix picks rows of the matrix: it becomes the look-up that it stands for, also
// where it is written as a sum of products. So does a GatherND by one index at each place.
#include "core/graph/attributes.h"
#include "core/ops/algebra.h"
#include "core/ops/elements.h"
#include "core/ops/kernel/elementmap.h"
#include "core/ops/layerkind.h"
#include "core/ops/numbertypes.h"
#include "core/rewrite/genericshapes.h"
#include "core/rewrite/passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retro::rewrite
{

using graph::Node;
using tensor::DType;
using tensor::Tensor;

namespace
{

/// Layers that read one-hot rows as they are.
constexpr std::array<std::string_view, 8> kReadsRows{"Conv", "Einsum", "Gemm",     "GRU",
                                                     "LSTM", "MatMul", "NhwcConv", "RNN"};
using enum ops::Elements;
/// Columns up to which an identity matrix is made for rows that stay.
constexpr std::int64_t kMostColumns = 2048;

/// Rows of zeros with a 1 where a number points to; of a number outside, of zeros alone.
struct OneHotRows
{
    ValueId numbers;
    std::int64_t start = 0; ///< the number that points to the first column
    std::int64_t columns = 0;
    std::int64_t behind = 0; ///< axes behind that of the columns
    bool countsBack = false; ///< −1 points to the last column
    bool isStrict = false;   ///< a number outside is refused
};

/// A linear layer without a bias of its own, as rows of a table.
struct TableLayer
{
    ValueId rows;            ///< the operand that has the rows
    ValueId weight;          ///< the constant that has the table
    Tensor table;            ///< columns of the one-hot rows × width; a view where the weight is turned
    ValueId bias;            ///< of a Gemm; invalid without one
    bool isTurned = false;   ///< the weight is width × columns
    std::int64_t behind = 0; ///< axes of one element behind the columns of the rows
};

bool isAllFinite(const Tensor& table)
{
    const bool isNarrow = tensor::sizeOf(table.dtype()) < sizeof(float);
    return ops::algebra::allFinite(isNarrow ? table.to(DType::Float32) : table);
}

class OneHotLookups
{
public:
    OneHotLookups(Draft& draft, std::vector<RewriteStep>& steps) : m_draft(draft), m_steps(steps), m_shapes(draft) {}

    void run()
    {
        const std::size_t count = m_draft.nodeCount();
        for (std::size_t i = 0; i < count && !m_draft.isStopped(); ++i) {
            if (!m_draft.isRemoved(NodeId(i))) {
                tryAt(NodeId(i));
                tryGatherNd(NodeId(i));
            }
        }
        for (std::size_t i = 0; i < count && !m_draft.isStopped(); ++i) {
            if (!m_draft.isRemoved(NodeId(i))) {
                tryRowsOf(NodeId(i));
            }
        }
    }

private:
    [[nodiscard]] const Node* makerOf(ValueId value) const
    {
        const bool isMade = value.isValid() && m_draft.value(value).producer.isValid();
        return isMade ? &m_draft.node(m_draft.value(value).producer) : nullptr;
    }
    /// With at least so many operands.
    [[nodiscard]] bool isMadeBy(ValueId value, std::string_view op, std::size_t operands = 1) const
    {
        const Node* const maker = makerOf(value);
        return maker != nullptr && maker->op == op && maker->domain.empty() && maker->inputs.size() >= operands &&
               std::all_of(maker->inputs.begin(), maker->inputs.begin() + static_cast<std::ptrdiff_t>(operands),
                           [](ValueId operand) { return operand.isValid(); });
    }
    /// Float32 where it is not known.
    [[nodiscard]] DType typeOf(ValueId value) { return m_shapes.typeOf(value).value_or(DType::Float32); }
    [[nodiscard]] bool isNumber(ValueId value, double number) const
    {
        return m_draft.isConstant(value) && m_draft.value(value).constant.size() == 1 &&
               m_draft.value(value).constant.at(0) == number;
    }

    void tryAt(NodeId id)
    {
        const std::optional<TableLayer> product = layerOf(m_draft.node(id));
        const std::optional<TableLayer> layer = product ? product : summedLayerOf(m_draft.node(id));
        if (!layer) {
            return;
        }
        const ValueId operand = layer->rows;
        std::optional<OneHotRows> rows = rowsOf(operand);
        ValueId shape; // of a Reshape between, which leaves the last axis
        if (!rows && isMadeBy(operand, "Reshape", 2)) {
            shape = makerOf(operand)->inputs[1];
            const Tensor& extents = m_draft.value(shape).constant;
            const bool isKept = m_draft.isConstant(shape) && extents.size() > 0 &&
                                extents.at(extents.size() - 1) == static_cast<double>(layer->table.shape()[0]);
            rows = isKept ? rowsOf(makerOf(operand)->inputs[0]) : std::nullopt;
        }
        const bool isFit = rows && rows->behind == layer->behind && rows->columns == layer->table.shape()[0];
        if (isFit && isAllFinite(layer->table)) { // 0 · ∞ is no 0
            replace(id, *rows, *layer, shape);
        }
    }

    /// Rows of a table, by a list of one index at each place.
    void tryGatherNd(NodeId id)
    {
        const Node node = m_draft.node(id);
        const bool isLookup = node.domain.empty() && node.op == "GatherND" && node.inputs.size() == 2 &&
                              node.inputs[0].isValid() && node.inputs[1].isValid() &&
                              m_draft.isConstant(node.inputs[0]) && !m_draft.isConstant(node.inputs[1]) &&
                              intAttribute(node, "batch_dims", 0) == 0;
        const auto shape = isLookup ? m_shapes.of(node.inputs[1]) : std::nullopt;
        if (!shape || shape->size() < 2 || !isOne(shape->back())) {
            return;
        }
        const ValueId indices = withoutAxis(node, node.inputs[1], -1);
        m_draft.replaceNode(id, Node{"Gather",
                                     "",
                                     node.name,
                                     node.scope,
                                     node.opset,
                                     {node.inputs[0], indices},
                                     node.outputs,
                                     {{"axis", std::int64_t{0}}}});
        m_steps.push_back({"look up rows",
                           fmt::format("{} → rows of \"{}\"", node.name, m_draft.value(node.inputs[0]).name),
                           {node.name},
                           {node.name},
                           false});
    }

    /// One-hot rows of tokens that layers read as they are become rows of an identity matrix.
    void tryRowsOf(NodeId id)
    {
        const Node& node = m_draft.node(id);
        const ValueId made = node.outputs.empty() ? ValueId() : node.outputs[0];
        const std::optional<DType> type = typeOfRows(node);
        const std::optional<OneHotRows> rows = type && made.isValid() ? rowsOf(made) : std::nullopt;
        const auto shape = rows ? m_shapes.of(made) : std::nullopt;
        if (shape && rows->columns <= kMostColumns && goesIntoLayers(made) && isMadeOfInputs(rows->numbers)) {
            replaceRows(id, *rows, *type, static_cast<std::int64_t>(shape->size()));
        }
    }

    /// The type of floats that a node makes of what is none; nothing of other nodes.
    [[nodiscard]] std::optional<DType> typeOfRows(const Node& node) const
    {
        constexpr std::size_t kOnValue = 1;
        constexpr std::size_t kValues = 2;
        const bool isChoice = ops::areElements(node, {Chosen});
        if (ops::isCast(node)) {
            const std::optional<DType> made = ops::dtypeOfOnnx(intAttribute(node, "to", 0));
            return made && tensor::isFloating(*made) ? made : std::nullopt;
        }
        const std::size_t slot = isChoice ? kOnValue : kValues;
        if ((!isChoice && node.op != "OneHot") || node.inputs.size() <= slot || !node.inputs[slot].isValid()) {
            return std::nullopt;
        }
        const DType type = m_draft.value(node.inputs[slot]).dtype;
        return tensor::isFloating(type) ? std::optional(type) : std::nullopt;
    }

    /// Layers with constant weights read the value, moved or not, and nothing else does.
    [[nodiscard]] bool goesIntoLayers(ValueId value) const
    {
        std::vector<ValueId> open{value};
        std::set<ValueId> seen{value};
        bool goes = m_draft.readerCount(value) > 0;
        while (goes && !open.empty()) {
            const ValueId next = open.back();
            open.pop_back();
            goes = areReadersFit(next, [&](ValueId moved) {
                if (moved.isValid() && seen.insert(moved).second) {
                    open.push_back(moved);
                }
            });
        }
        return goes;
    }

    /// All that reads the value are layers, or nodes that move it; `take` gets what those make.
    template <class Take>
    [[nodiscard]] bool areReadersFit(ValueId value, const Take& take) const
    {
        const bool isOld = value.index() < m_draft.before().valueCount();
        std::size_t readers = 0;
        for (const graph::Use& use : isOld ? m_draft.before().uses(value) : std::span<const graph::Use>()) {
            const Node& node = m_draft.node(use.node);
            if (m_draft.isRemoved(use.node) || use.slot >= node.inputs.size() || node.inputs[use.slot] != value) {
                continue;
            }
            const bool isLayer = std::ranges::count(kReadsRows, node.op) > 0 && node.inputs.size() > 1 &&
                                 m_draft.isConstant(node.inputs[1]);
            const bool isJoin = ops::areElements(node, {Joined});
            const bool isMove = isJoin || ops::keepsElements(node) || ops::areElements(node, {Turned, Taken, Padded});
            if ((use.slot != 0 && !isJoin) || (!isLayer && !isMove)) {
                return false;
            }
            if (!isLayer) {
                std::ranges::for_each(node.outputs, take);
            }
            ++readers;
        }
        return readers == m_draft.readerCount(value);
    }

    /// Whole numbers of inputs and constants alone.
    [[nodiscard]] bool isMadeOfInputs(ValueId value)
    {
        std::vector<ValueId> open{value};
        std::set<ValueId> seen;
        while (!open.empty()) {
            const ValueId next = open.back();
            open.pop_back();
            if (!next.isValid() || m_draft.isConstant(next) || !seen.insert(next).second) {
                continue;
            }
            if (tensor::isFloating(typeOf(next))) {
                return false;
            }
            if (const Node* const maker = makerOf(next); maker != nullptr) {
                open.insert(open.end(), maker->inputs.begin(), maker->inputs.end());
            }
        }
        return true;
    }

    /// Takes out what made a value that nobody reads now.
    void removeMakers(ValueId value, std::vector<std::string>& removed)
    {
        std::vector<ValueId> open{value};
        while (!open.empty()) {
            const ValueId at = open.back();
            open.pop_back();
            const NodeId maker = at.isValid() ? m_draft.value(at).producer : NodeId();
            const bool isRead = !maker.isValid() || m_draft.isRemoved(maker) ||
                                std::ranges::any_of(m_draft.node(maker).outputs, [&](ValueId made) {
                                    return made.isValid() && (m_draft.readerCount(made) > 0 || m_draft.isOutput(made));
                                });
            if (!isRead) {
                removed.push_back(m_draft.node(maker).name);
                open.insert(open.end(), m_draft.node(maker).inputs.begin(), m_draft.node(maker).inputs.end());
                m_draft.removeNode(maker);
            }
        }
    }

    [[nodiscard]] std::optional<TableLayer> layerOf(const Node& node) const
    {
        const std::optional<bool> turned = sumsLastAxis(node);
        if (!turned || !m_draft.isConstant(node.inputs[1]) || m_draft.isConstant(node.inputs[0])) {
            return std::nullopt;
        }
        Tensor table = m_draft.value(node.inputs[1]).constant;
        const bool isPlain = intAttribute(node, "transA", 0) == 0 && floatAttribute(node, "alpha", 1) == 1 &&
                             floatAttribute(node, "beta", 1) == 1;
        if (table.rank() != 2 || !tensor::isFloating(table.dtype()) || !isPlain) {
            return std::nullopt;
        }
        if (*turned) {
            table = table.permuted(std::array<std::int64_t, 2>{1, 0});
        }
        const ValueId bias = node.inputs.size() > 2 ? node.inputs[2] : ValueId();
        return TableLayer{node.inputs[0], node.inputs[1], std::move(table), bias, *turned, 0};
    }

    /// A product that is written out: ReduceSum over the columns of rows · table, or of Where(rows, table, 0), in which
    /// the rows have an axis of one element behind their columns.
    [[nodiscard]] std::optional<TableLayer> summedLayerOf(const Node& node)
    {
        const bool isSum = node.domain.empty() && node.op == "ReduceSum" && !node.inputs.empty() &&
                           intAttribute(node, "keepdims", 1) == 0;
        const bool isChoosing =
            isSum && isMadeBy(node.inputs[0], "Where", 3) && isNumber(makerOf(node.inputs[0])->inputs[2], 0);
        if (!isChoosing && !(isSum && isMadeBy(node.inputs[0], "Mul", 2))) {
            return std::nullopt;
        }
        const Node* const product = makerOf(node.inputs[0]);
        const auto whole = m_shapes.of(node.inputs[0]);
        if (!whole || !sumsOverLastButOne(node, whole->size())) {
            return std::nullopt;
        }
        const bool isTableFirst = !isChoosing && m_draft.isConstant(product->inputs[0]);
        TableLayer layer{
            product->inputs[isTableFirst ? 1 : 0], product->inputs[isTableFirst ? 0 : 1], {}, {}, false, 1};
        const auto rows = m_shapes.of(layer.rows);
        Tensor table = m_draft.isConstant(layer.weight) ? m_draft.value(layer.weight).constant.contiguous() : Tensor();
        while (table.isValid() && table.rank() > 2 && table.shape().front() == 1) {
            table = table.reshaped({table.shape().begin() + 1, table.shape().end()});
        }
        if (!rows || rows->size() != whole->size() || !isOne(rows->back()) || !table.isValid() || table.rank() != 2 ||
            !tensor::isFloating(table.dtype())) {
            return std::nullopt;
        }
        while (isMadeBy(layer.rows, "Cast")) {
            layer.rows = makerOf(layer.rows)->inputs[0];
        }
        if (isMadeBy(layer.rows, "Unsqueeze")) { // the axis of one element
            layer.rows = makerOf(layer.rows)->inputs[0];
            layer.behind = 0;
            const auto inner = m_shapes.of(layer.rows);
            if (!inner || inner->size() + 1 != whole->size()) {
                return std::nullopt;
            }
        }
        layer.table = std::move(table);
        return layer;
    }

    [[nodiscard]] bool sumsOverLastButOne(const Node& sum, std::size_t rank) const
    {
        const bool isOperand = sum.inputs.size() > 1 && sum.inputs[1].isValid();
        const std::vector<std::int64_t> axes =
            !isOperand                          ? graph::attributeOr<std::vector<std::int64_t>>(sum, "axes", {})
            : m_draft.isConstant(sum.inputs[1]) ? ops::integersOf(m_draft.value(sum.inputs[1]).constant)
                                                : std::vector<std::int64_t>();
        return axes.size() == 1 && rank > 2 &&
               (axes.front() == -2 || axes.front() == static_cast<std::int64_t>(rank) - 2);
    }

    /// Whether a product of rows by a matrix reads it as width × columns; nothing of other nodes. An Einsum is one that
    /// is written "…v,vd->…d" or "…v,dv->…d".
    [[nodiscard]] static std::optional<bool> sumsLastAxis(const Node& node)
    {
        if (ops::isProduct(node)) {
            return intAttribute(node, "transB", 0) != 0;
        }
        std::string text = graph::attributeOr<std::string>(node, "equation", {});
        std::erase(text, ' ');
        const std::size_t comma = text.find(',');
        const std::size_t arrow = text.find("->");
        if (!ops::isEinsum(node) || node.inputs.size() != 2 || comma == std::string::npos || comma == 0 ||
            arrow != comma + 3 || text[comma - 1] == '.') {
            return std::nullopt;
        }
        const char summed = text[comma - 1];
        const bool isTurned = text[comma + 2] == summed;
        const char width = text[comma + (isTurned ? 1 : 2)];
        const std::string places = text.substr(0, comma - 1);
        const bool isProduct = text[comma + (isTurned ? 2 : 1)] == summed && width != summed &&
                               places.find(summed) == std::string::npos && places.find(width) == std::string::npos &&
                               text.substr(arrow + 2) == places + width;
        return isProduct ? std::optional(isTurned) : std::nullopt;
    }

    /// A value of one-hot rows along its last axis.
    [[nodiscard]] std::optional<OneHotRows> rowsOf(ValueId value)
    {
        while (isMadeBy(value, "Cast") || isMadeBy(value, "Identity") || isChoice(value)) {
            value = makerOf(value)->inputs[0];
        }
        if (isMadeBy(value, "Equal", 2)) {
            const Node& node = *makerOf(value);
            auto rows = rowsOf(node, 0, value);
            return rows ? rows : rowsOf(node, 1, value);
        }
        if (isMadeBy(value, "OneHot", 3)) {
            return rowsOfOneHot(*makerOf(value));
        }
        return isMadeBy(value, "Gather", 2) ? rowsOfIdentity(*makerOf(value)) : std::nullopt;
    }

    /// Where(x, 1, 0), which is x in another type.
    [[nodiscard]] bool isChoice(ValueId value) const
    {
        return isMadeBy(value, "Where", 3) && isNumber(makerOf(value)->inputs[1], 1) &&
               isNumber(makerOf(value)->inputs[2], 0);
    }

    /// Equal of numbers, along an axis of extent 1, and start, start + 1 … along it (operand `slot`).
    [[nodiscard]] std::optional<OneHotRows> rowsOf(const Node& equal, std::size_t slot, ValueId result)
    {
        const ValueId counted = equal.inputs[slot];
        ValueId numbers = equal.inputs[1 - slot];
        Tensor columns = m_draft.isConstant(counted) ? m_draft.value(counted).constant : Tensor();
        std::size_t behind = 0;
        for (; columns.isValid() && columns.rank() > 1 && columns.shape().back() == 1; ++behind) {
            columns = columns.contiguous().reshaped({columns.shape().begin(), columns.shape().end() - 1});
        }
        const std::optional<std::pair<std::int64_t, std::int64_t>> range =
            columns.isValid() ? rangeOf(columns) : std::nullopt;
        const auto whole = m_shapes.of(result);
        if (!range || !whole) {
            return std::nullopt;
        }
        while (isMadeBy(numbers, "Expand") || isWidening(numbers)) {
            numbers = makerOf(numbers)->inputs[0];
        }
        const auto shape = m_shapes.of(numbers);
        const bool isAlong = shape && spreadsAlong(*shape, *whole, behind);
        if (!isAlong || tensor::isFloating(typeOf(numbers)) || typeOf(numbers) == DType::Bool) {
            return std::nullopt;
        }
        return OneHotRows{numbers, range->first, range->second, static_cast<std::int64_t>(behind)};
    }

    /// Of extent 1 along the axis with so many behind it, and equal along the others.
    static bool spreadsAlong(const GenericShape& shape, const GenericShape& whole, std::size_t behind)
    {
        bool isAlong = shape.size() == whole.size() && behind < whole.size();
        for (std::size_t axis = 0; isAlong && axis < whole.size(); ++axis) {
            const bool isCounted = axis + behind + 1 == whole.size();
            isAlong = isCounted ? isOne(shape[axis]) : shape[axis] == whole[axis];
        }
        return isAlong;
    }

    static bool isOne(const GenericExtent& extent) { return extent.isKnown() && extent.first == 1; }

    /// A Cast of whole numbers that loses none of them that is a token.
    [[nodiscard]] bool isWidening(ValueId value)
    {
        if (!isMadeBy(value, "Cast")) {
            return false;
        }
        const DType from = typeOf(makerOf(value)->inputs[0]);
        return !tensor::isFloating(from) && from != DType::Bool && tensor::sizeOf(typeOf(value)) >= sizeof(float);
    }

    /// The first number of start, start + 1 … along the last axis, the same in every row, and how many they are.
    [[nodiscard]] static std::optional<std::pair<std::int64_t, std::int64_t>> rangeOf(const Tensor& constant)
    {
        const std::int64_t columns = constant.rank() == 0 ? 0 : constant.shape().back();
        if (columns < 2 || constant.dtype() == DType::Bool) {
            return std::nullopt;
        }
        const double start = constant.at(0);
        for (std::int64_t i = 0; i < constant.size(); ++i) {
            if (constant.at(i) != start + static_cast<double>(i % columns)) {
                return std::nullopt;
            }
        }
        return std::pair(static_cast<std::int64_t>(start), columns);
    }

    [[nodiscard]] std::optional<OneHotRows> rowsOfOneHot(const Node& node)
    {
        const Tensor& values = m_draft.value(node.inputs[2]).constant;
        const Tensor& depth = m_draft.value(node.inputs[1]).constant;
        const bool isKnown = m_draft.isConstant(node.inputs[2]) && m_draft.isConstant(node.inputs[1]) &&
                             values.size() == 2 && values.at(0) == 0 && values.at(1) == 1 && depth.size() == 1;
        const std::int64_t axis = intAttribute(node, "axis", -1);
        const auto shape = axis < 0 ? std::nullopt : m_shapes.of(node.inputs[0]);
        if (!isKnown || (axis >= 0 && !shape) || tensor::isFloating(typeOf(node.inputs[0]))) {
            return std::nullopt;
        }
        const std::int64_t behind = axis < 0 ? -1 - axis : std::ssize(*shape) - axis;
        return OneHotRows{node.inputs[0], 0, static_cast<std::int64_t>(depth.at(0)), behind, true};
    }

    /// Rows of an identity matrix.
    [[nodiscard]] std::optional<OneHotRows> rowsOfIdentity(const Node& node) const
    {
        const Tensor& eye = m_draft.value(node.inputs[0]).constant;
        const bool isTable = m_draft.isConstant(node.inputs[0]) && eye.rank() == 2 &&
                             eye.shape()[0] == eye.shape()[1] && intAttribute(node, "axis", 0) == 0 &&
                             !m_draft.isConstant(node.inputs[1]);
        for (std::int64_t i = 0; isTable && i < eye.size(); ++i) {
            if (eye.at(i) != (i % (eye.shape()[0] + 1) == 0 ? 1 : 0)) {
                return std::nullopt;
            }
        }
        return isTable ? std::optional(OneHotRows{node.inputs[1], 0, eye.shape()[0], 0, true, true}) : std::nullopt;
    }

    ValueId add(const Node& like, const std::string& op, std::vector<ValueId> inputs, DType type,
                graph::Attributes attributes = {})
    {
        const std::string name = fmt::format("{}/{}", like.name, op);
        const ValueId made = m_draft.addResult(name, type);
        Node node{
            op, "", m_draft.value(made).name, like.scope, like.opset, std::move(inputs), {made}, std::move(attributes)};
        m_draft.addNode(std::move(node));
        return made;
    }
    ValueId number(const Node& like, std::int64_t value)
    {
        return m_draft.addConstant(like.name + "/number", Tensor::scalar(value), DType::Int64);
    }

    /// A value without an axis that has one element.
    ValueId withoutAxis(const Node& like, ValueId value, std::int64_t which)
    {
        const std::vector<std::int64_t> axis{which};
        const ValueId axes =
            m_draft.addConstant(like.name + "/axes", Tensor::of<std::int64_t>({1}, axis), DType::Int64);
        return like.opset >= 13 ? add(like, "Squeeze", {value, axes}, typeOf(value))
                                : add(like, "Squeeze", {value}, typeOf(value), {{"axes", axis}});
    }

    /// Numbers of the rows to pick; where a number points to no column, one behind the last.
    ValueId indicesOf(const Node& like, const OneHotRows& rows)
    {
        ValueId numbers = rows.numbers;
        const DType type = typeOf(numbers);
        if (!rows.countsBack) { // they have an axis of extent 1 in the place of the columns
            numbers = withoutAxis(like, numbers, -1 - rows.behind);
        }
        const bool isSigned =
            type == DType::Int64 || type == DType::Int32 || type == DType::Int16 || type == DType::Int8;
        const bool isShifted = rows.start != 0 || (isSigned && !rows.countsBack);
        if (type != DType::Int64 && (isShifted || type != DType::Int32)) {
            numbers = add(like, "Cast", {numbers}, DType::Int64, {{"to", std::int64_t{7}}});
        }
        if (rows.start != 0) {
            numbers = add(like, "Sub", {numbers, number(like, rows.start)}, DType::Int64);
        }
        if (isShifted) {
            const ValueId isBelow = add(like, "Less", {numbers, number(like, 0)}, DType::Bool);
            numbers = add(like, "Where", {isBelow, number(like, rows.columns), numbers}, DType::Int64);
        }
        return numbers;
    }

    /// What picks rows of a table, in the place of a node.
    Node gatherOf(const Node& like, const OneHotRows& rows, ValueId table)
    {
        const ValueId indices = indicesOf(like, rows);
        return {"Gather",     rows.isStrict ? "" : "retrograde", like.name,
                like.scope,   rows.isStrict ? like.opset : 1,    {table, indices},
                like.outputs, {{"axis", std::int64_t{0}}}};
    }

    /// `rank` of the rows with their columns.
    void replaceRows(NodeId id, const OneHotRows& rows, DType type, std::int64_t rank)
    {
        const Node node = m_draft.node(id);
        std::vector<double> eye(static_cast<std::size_t>(rows.columns * rows.columns), 0);
        for (std::int64_t i = 0; i < rows.columns; ++i) {
            eye[static_cast<std::size_t>(i * (rows.columns + 1))] = 1;
        }
        const Tensor table = Tensor::of<double>({rows.columns, rows.columns}, eye).to(type);
        Node last = gatherOf(node, rows, m_draft.addConstant(node.name + "/columns", table, type));
        if (rows.behind > 0) {
            last.outputs = {m_draft.addResult(node.name + "/rows", type)};
            last.name = m_draft.value(last.outputs[0]).name;
            std::vector<std::int64_t> order(static_cast<std::size_t>(rank));
            std::iota(order.begin(), order.end(), std::int64_t{0});
            std::rotate(order.end() - 1 - rows.behind, order.end() - 1, order.end());
            Node turned{"Transpose",       "",           node.name,        node.scope, node.opset,
                        {last.outputs[0]}, node.outputs, {{"perm", order}}};
            m_draft.addNode(std::move(last));
            last = std::move(turned);
        }
        m_draft.replaceNode(id, std::move(last));
        finish(node, rows, "an identity matrix");
    }

    /// Takes out what made the operand of the node that was there, and tells of it.
    void finish(const Node& node, const OneHotRows& rows, const std::string& table)
    {
        std::vector<std::string> removed{node.name};
        for (const ValueId operand : node.inputs) {
            removeMakers(operand, removed);
        }
        m_steps.push_back(
            {"look up one-hot",
             fmt::format("{} of one-hot rows of {} → rows of {}", node.name, m_draft.value(rows.numbers).name, table),
             removed,
             {node.name},
             false});
    }

    void replace(NodeId id, OneHotRows rows, const TableLayer& layer, ValueId reshape)
    {
        const Node product = m_draft.node(id);
        const ValueId weight = layer.weight;
        if (rows.behind > 0) {
            rows.numbers = withoutAxis(product, rows.numbers, -1);
            rows.behind = 0;
        }
        const DType type = m_draft.value(weight).dtype;
        const bool isAsItIs = !layer.isTurned && m_draft.value(weight).constant.rank() == 2;
        const ValueId table =
            isAsItIs ? weight : m_draft.addConstant(product.name + "/table", layer.table.contiguous(), type);
        Node last = gatherOf(product, rows, table);
        const auto goOn = [&](const std::string& op, ValueId with) {
            const ValueId made = m_draft.addResult(product.name + "/rows", type);
            last.outputs = {made};
            last.name = m_draft.value(made).name;
            m_draft.addNode(std::move(last));
            last = Node{op, "", product.name, product.scope, product.opset, {made, with}, product.outputs, {}};
        };
        if (reshape.isValid()) {
            std::vector<std::int64_t> extents = ops::integersOf(m_draft.value(reshape).constant);
            extents.back() = layer.table.shape()[1];
            goOn("Reshape",
                 m_draft.addConstant(product.name + "/shape", Tensor::of<std::int64_t>({std::ssize(extents)}, extents),
                                     DType::Int64));
        }
        if (layer.bias.isValid()) {
            goOn("Add", layer.bias);
        }
        m_draft.replaceNode(id, std::move(last));
        finish(product, rows, fmt::format("\"{}\"", m_draft.value(weight).name));
    }

    Draft& m_draft;
    std::vector<RewriteStep>& m_steps;
    GenericShapes m_shapes;
};

} // namespace

void lookUpOneHot(Draft& draft, std::vector<RewriteStep>& steps) { OneHotLookups(draft, steps).run(); }

} // namespace retro::rewrite
