// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ways/rowsalone.h"

#include "core/engine/model/changedgraph.h"
#include "core/engine/ways/hiddenkeys.h"
#include "core/engine/ways/rowneeds.h"
#include "core/graph/attributes.h"
#include "core/ops/elements.h"
#include "core/ops/kernel/slices.h"
#include "core/ops/layerkind.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
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
using tensor::Shape;

/// A node that the model needs no more: its results are integers that are known before the run (extents).
bool isKnownBefore(const execute::BoundModel& model, NodeId id)
{
    return std::ranges::all_of(model.graph().node(id).outputs, [&](ValueId output) {
        return !output.isValid() ||
               (model.isConstant(output) && std::ranges::count(model.graph().outputs(), output) == 0);
    });
}

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
                m_edges[i] = OperandRows(node.inputs.size());
                m_edges[i][0] =
                    NeededRows{static_cast<std::size_t>(graph::intAttribute(node, "axis", 0)), NeededRows::Form::Among};
            } else if (takeAttention(id, needs, hidden)) {
                continue;
            } else if (std::optional<OperandRows> cached = needs.ofNewCache(node); cached && isPaddedForAll(node)) {
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
        m_edges[choice.index()] = OperandRows(gather.inputs.size());
        m_edges[choice.index()][0] =
            NeededRows{static_cast<std::size_t>(graph::intAttribute(gather, "axis", 0)), NeededRows::Form::Among};
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
    [[nodiscard]] const OperandRows& edgesOf(NodeId node) const { return m_edges[node.index()]; }
    /// Results of a node that are 0 behind the rows, where they should be more: no output of the graph.
    [[nodiscard]] bool isPadded(NodeId node) const { return m_isPadded[node.index()]; }

private:
    /// An attention of which no reader needs queries behind the token: those that it makes there are not those of the
    /// whole graph.
    bool takeAttention(NodeId id, const RowNeeds& needs, HiddenKeys& hidden)
    {
        const Node& node = m_graph.node(id);
        const std::optional<WrittenAttention> written = hidden.writtenOut(id);
        if (!written && !ops::isAttention(node)) {
            return false;
        }
        const Shape& out = m_model.typeOf(node.outputs[0]).shape;
        const std::optional<std::size_t> axis = rowAxis(node);
        const bool isOneQuery = out.size() > 1 && out[out.size() - 2] == 1;
        if (!isOneQuery && (!axis || *axis + 2 != out.size())) {
            return false;
        }
        if (!written) {
            std::optional<OperandRows> edges = needs.ofCausal(node, hidden);
            m_edges[id.index()] = edges ? std::move(*edges) : OperandRows();
            return edges.has_value();
        }
        if (!hidden.areBehind(written->masks, written->queries, written->keys)) {
            return false;
        }
        m_edges[id.index()] = OperandRows(node.inputs.size());
        m_edges[id.index()][1] = NeededRows{out.size() - 2, NeededRows::Form::Padded};
        const std::size_t rank = m_model.typeOf(m_graph.node(written->scores).outputs[0]).shape.size();
        OperandRows& scores = m_edges[written->scores.index()];
        scores = OperandRows(m_graph.node(written->scores).inputs.size());
        scores[1] = NeededRows{rank - 1, NeededRows::Form::Padded};
        if (written->queries == written->keys) {
            scores[0] = NeededRows{rank - 2, NeededRows::Form::Padded};
        }
        return true;
    }

    void take(NodeId id, std::size_t axis, std::optional<OperandRows> edges)
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
                   (ops::areElements(node, {ops::Elements::Taken}) &&
                    m_model.typeOf(output).shape[axis] == shape[axis]);
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
                   const OperandRows& edges = m_edges[use.node.index()];
                   return !edges.empty() && edges[use.slot] && edges[use.slot]->form == NeededRows::Form::Padded;
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
            const OperandRows& edges = m_edges[use.node.index()];
            const std::optional<NeededRows> needed = edges.empty() ? std::nullopt : edges[use.slot];
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
    std::vector<OperandRows> m_edges;               // by NodeId; empty: all operands are whole
    std::vector<bool> m_isPadded;                   // by NodeId
    std::size_t m_count = 0;
};

/// The planned graph.
class RowWriter
{
public:
    RowWriter(const execute::BoundModel& model, const RowPlan& plan, std::vector<std::int64_t> rows)
        : m_model(model), m_graph(model.graph()), m_plan(plan), m_rows(std::move(rows))
    {}

    [[nodiscard]] std::shared_ptr<const Graph> write() &&
    {
        GraphChanges changes;
        changes.value = [this](ValueId id, graph::Value& value) {
            value.shape = m_plan.axisOf(id) ? std::nullopt : value.shape;
            if (value.kind == graph::ValueKind::Result && isKnownBefore(m_model, value.producer)) {
                value.constant = m_model.storedConstant(id); // of all rows
                value.kind = graph::ValueKind::Constant;
            }
        };
        changes.node = [this](graph::GraphBuilder& builder, const std::vector<ValueId>& ids, NodeId id, Node& node) {
            m_builder = &builder;
            m_ids = &ids;
            change(id, node);
        };
        changes.keptNodes.emplace();
        for (std::size_t i = 0; i < m_graph.nodeCount(); ++i) {
            changes.keptNodes->push_back(!isKnownBefore(m_model, NodeId(i)));
        }
        changes.outputs.emplace();
        for (const ValueId output : m_graph.outputs()) {
            const bool isResult = m_graph.value(output).kind == graph::ValueKind::Result;
            if (!isResult || !m_plan.isPadded(m_graph.nodeOf(output))) {
                changes.outputs->push_back(output);
            }
        }
        const auto made = changedGraph(m_graph, changes);
        return made.ok() ? *made : nullptr;
    }

private:
    void change(NodeId id, Node& node)
    {
        const Node& given = m_graph.node(id);
        const OperandRows& edges = m_plan.edgesOf(id);
        const bool isChoice = id == m_plan.choice();
        if (isChoice && m_plan.axisOf(given.inputs[0])) { // there is nothing left to choose
            node.op = "Identity";
            node.attributes.clear();
            node.inputs.resize(1);
        }
        const bool isShaped = !isChoice && !edges.empty() && hasExtents(node);
        for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
            if (slot == 1 && isShaped) {
                node.inputs[1] = rowShape(given);
            } else if (given.inputs[slot].isValid() && !edges.empty()) {
                node.inputs[slot] = operandOf(given.inputs[slot], edges[slot], node.name, slot);
            }
        }
    }

    [[nodiscard]] ValueId idOf(ValueId value) const { return (*m_ids)[value.index()]; }

    /// The numbers of the rows.
    ValueId position()
    {
        if (!m_position.isValid()) {
            m_position = m_builder->addConstant(suffix("asked row", "asked rows"),
                                                tensor::Tensor::of<std::int64_t>({std::ssize(m_rows)}, m_rows));
        }
        return m_position;
    }

    /// What a reader gets for a value of which it needs `rows`.
    ValueId operandOf(ValueId value, const std::optional<NeededRows>& rows, const std::string& reader, std::size_t slot)
    {
        const bool isCut = m_plan.axisOf(value).has_value();
        if (rows && rows->form == NeededRows::Form::Alone && !isCut) {
            return picked(value, rows->axis, reader, slot);
        }
        return rows && rows->form == NeededRows::Form::Padded && isCut ? padded(value, rows->axis, reader, slot)
                                                                       : idOf(value);
    }

    /// The row of a value that is whole, for one reader: relevance of several is added in the order of the readers.
    ValueId picked(ValueId value, std::size_t axis, const std::string& reader, std::size_t slot)
    {
        const std::string name = reader + suffix("/row of ", "/rows of ") + std::to_string(slot);
        if (m_model.isConstant(value)) { // stays known before the run
            const tensor::Tensor& all = m_model.storedConstant(value);
            return m_builder->addConstant(name, ops::slice(all, axis, m_rows.front(), std::ssize(m_rows)).contiguous());
        }
        const ValueId row = m_builder->addResult(name);
        m_builder->declare(row, m_graph.value(value).dtype, std::nullopt);
        m_builder->addNode({"Gather",
                            "",
                            name,
                            "",
                            13,
                            {idOf(value), position()},
                            {row},
                            {{"axis", static_cast<std::int64_t>(axis)}}});
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
        const ValueId all = m_builder->addResult(name);
        m_builder->declare(all, m_graph.value(value).dtype, std::nullopt);
        const ValueId around =
            m_builder->addConstant(name + "/pads", tensor::Tensor::of<std::int64_t>({std::ssize(pads)}, pads));
        m_builder->addNode({"Pad", "", name, "", 13, {idOf(value), around}, {all}, {}});
        return all;
    }

    /// The extents of a Reshape's result with these rows.
    ValueId rowShape(const Node& node)
    {
        Shape shape = m_model.typeOf(node.outputs[0]).shape;
        shape[*m_plan.axisOf(node.outputs[0])] = std::ssize(m_rows);
        return m_builder->addConstant(node.name + suffix("/shape of the row", "/shape of the rows"),
                                      tensor::Tensor::of<std::int64_t>({std::ssize(shape)}, shape));
    }

    const execute::BoundModel& m_model;
    const Graph& m_graph;
    const RowPlan& m_plan;
    std::vector<std::int64_t> m_rows;
    graph::GraphBuilder* m_builder = nullptr;    ///< of the copy
    const std::vector<ValueId>* m_ids = nullptr; ///< there, by id in the graph
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
