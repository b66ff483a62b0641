// SPDX-License-Identifier: Apache-2.0
#include "core/tape/gradientgraph/gradientgraph.h"

#include "core/execute/reachedvalues.h"
#include "core/graph/dimensions.h"
#include "core/graph/renumbered.h"
#include "core/ops/numbertypes.h"
#include "core/tape/gradientgraph/applicable.h"
#include "core/tape/gradientgraph/emitrule.h"
#include "core/tape/gradientgraph/olderform.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace retro::tape
{

using base::Result;
using graph::NodeId;

namespace
{

constexpr const char* kNoFloatingInput = "the model has no floating input that could get a gradient; --parameters asks "
                                         "for the gradients of its initializers";

using Names = std::set<std::string, std::less<>>;

class Writer
{
public:
    /// `read`: forward values that rules read, when that is known; others are no inputs then.
    Writer(const execute::BoundModel& model, ValueId target, bool isJoined, std::span<const ValueId> from,
           const Names* read = nullptr)
        : m_model(model), m_graph(model.graph()), m_target(target), m_isJoined(isJoined), m_read(read),
          m_builder(m_graph.name() + "-gradient"), m_types(ops::numberTypes(m_graph)), m_copy(m_graph.valueCount()),
          m_sum(m_graph.valueCount()),
          m_isReached(execute::reachedValues(model, from.empty() ? m_graph.inputs() : from))
    {}

    Result<GradientGraph> write()
    {
        if (!hasFloatingInput()) {
            return base::usageError(kNoFloatingInput);
        }
        if (!isTracked(m_target)) {
            return base::usageError(fmt::format("the target \"{}\" does not depend on a floating input that gets a "
                                                "gradient, by operators that pass one; choose another target",
                                                m_graph.value(m_target).name));
        }
        RETRO_CHECK(checkOpset());
        m_builder.setOpsets(m_graph);
        if (m_isJoined) {
            copyForward();
        }
        m_made.seed = unused(m_graph.value(m_target).name + "_gradient");
        m_sum[m_target.index()] =
            m_builder.addInput(m_made.seed, m_types[m_target.index()], m_model.typeOf(m_target).shape);
        Emitter emit(m_builder, m_graph.opset(), m_types[m_target.index()]);
        for (std::size_t i = m_graph.nodeCount(); i-- > 0;) {
            RETRO_CHECK(reverse(NodeId(i), emit));
        }
        addOutputs(emit);
        if (const std::string why = whyEmpty(); !why.empty()) {
            return base::usageError(why);
        }
        RETRO_TRY(graph::Graph built, std::move(m_builder).build());
        m_made.graph = std::make_shared<const graph::Graph>(std::move(built));
        return std::move(m_made);
    }

private:
    [[nodiscard]] bool isTracked(ValueId value) const { return value.isValid() && m_isReached[value.index()]; }

    [[nodiscard]] Result<void> checkOpset() const
    {
        if (isGradientOpset(m_model)) {
            return {};
        }
        return base::inputError(
            fmt::format("gradient graphs are written in operator set {} or later; convert the model "
                        "to a newer opset",
                        kLeastGradientOpset),
            fmt::format("operator set {}", m_graph.opset()));
    }

    std::string unused(std::string name) const
    {
        while (m_builder.find(name) || m_graph.findValue(name)) {
            name += "~";
        }
        return name;
    }

    ValueId copyLeaf(ValueId id)
    {
        const graph::Value& value = m_graph.value(id);
        if (value.kind == graph::ValueKind::Constant) {
            const bool isFloat = tensor::isFloating(value.constant.dtype()); // computed ones may hold more digits
            return m_builder.addConstant(value.name, isFloat ? value.constant.to(value.dtype) : value.constant);
        }
        if (!m_isJoined) {
            m_made.forwarded.push_back(value.name);
        }
        const ops::TensorType& type = m_model.typeOf(id);
        const tensor::DType dtype = tensor::isFloating(type.dtype) ? m_types[id.index()] : type.dtype;
        return m_builder.addInput(value.name, dtype, type.shape);
    }

    void copyForward()
    {
        for (const ValueId input : m_graph.inputs()) {
            m_copy[input.index()] = copyLeaf(input);
        }
        for (std::size_t i = 0; i < m_graph.valueCount(); ++i) {
            const graph::Value& value = m_graph.value(ValueId(i));
            if (value.kind == graph::ValueKind::Constant) {
                m_copy[i] = copyLeaf(ValueId(i));
            } else if (value.kind == graph::ValueKind::Result) {
                m_copy[i] = m_builder.addResult(value.name);
                m_builder.declare(m_copy[i], value.dtype, value.shape);
            }
        }
        for (graph::Node node : m_graph.nodes()) {
            settleOpset(node, m_graph.opset(), m_model);
            m_builder.addNode(renumbered(std::move(node), m_copy));
        }
        for (const ValueId output : m_graph.outputs()) {
            if (m_graph.value(output).kind == graph::ValueKind::Result) { // ONNX wants to know what comes out
                const tensor::DType dtype = m_model.typeOf(output).dtype;
                m_builder.declare(m_copy[output.index()], tensor::isFloating(dtype) ? m_types[output.index()] : dtype,
                                  shapeOf(output));
            }
            m_builder.addOutput(m_copy[output.index()]);
        }
    }

    [[nodiscard]] std::vector<graph::Dimension> shapeOf(ValueId value) const
    {
        return graph::dimensionsOf(m_model.typeOf(value).shape);
    }

    /// A forward value; alone, an input of its name. Invalid for what no rule reads.
    ValueId forward(ValueId value)
    {
        if (!value.isValid() || (m_read != nullptr && !m_read->contains(m_graph.value(value).name))) {
            return {};
        }
        ValueId& copy = m_copy[value.index()];
        if (!copy.isValid()) {
            copy = copyLeaf(value);
        }
        return copy;
    }

    /// What a rule is given, but for the forward values.
    [[nodiscard]] EmitValues valuesOf(const graph::Node& node) const
    {
        EmitValues values;
        for (const ValueId output : node.outputs) {
            values.upstream.push_back(output.isValid() ? m_sum[output.index()] : ValueId());
        }
        for (const ValueId operand : node.inputs) {
            values.wanted.push_back(isTracked(operand) ? 1 : 0);
            values.types.push_back(operand.isValid() ? m_types[operand.index()] : tensor::DType::Float32);
        }
        return values;
    }

    Result<void> reverse(NodeId id, Emitter& emit)
    {
        const graph::Node& node = m_graph.node(id);
        EmitValues values = valuesOf(node);
        const bool arrives = std::ranges::any_of(values.upstream, &ValueId::isValid);
        const bool isWanted = std::ranges::find(values.wanted, 1) != values.wanted.end();
        if (!arrives || !isWanted || m_model.op(id).structure().kind() == ops::StructureKind::NoRelevance) {
            return {};
        }
        RETRO_TRY(const EmitRule* rule, emitRuleFor(EmitSite(emit, m_model, node, values)));
        for (std::size_t slot = rule->firstWithout; slot < values.wanted.size(); ++slot) {
            values.wanted[slot] = 0;
        }
        if (std::ranges::find(values.wanted, 1) == values.wanted.end()) {
            return {};
        }
        std::ranges::transform(node.inputs, std::back_inserter(values.operands),
                               [this](ValueId operand) { return forward(operand); });
        std::ranges::transform(node.outputs, std::back_inserter(values.outputs),
                               [this](ValueId output) { return forward(output); });
        emit.setFloatType(typeOfResults(node));
        RETRO_TRY(EmitSite site, EmitSite::make(emit, m_model, id, std::move(values)));
        RETRO_TRY(const EmitResult result, resultOf(site, rule->emit(site)));
        land(node, result, emit);
        return {};
    }

    /// Constants of a rule are of the type that arrives.
    [[nodiscard]] tensor::DType typeOfResults(const graph::Node& node) const
    {
        const auto made = std::ranges::find_if(node.outputs, &ValueId::isValid);
        return m_types[made->index()];
    }

    /// Parts for an operand that occurs twice are added first, in operand order, as on the tape.
    void land(const graph::Node& node, const EmitResult& result, Emitter& emit)
    {
        std::vector<std::pair<ValueId, ValueId>> joined; // operand and its whole part, as they come
        for (const auto& [slot, part] : result.wrote) {
            const auto same = std::ranges::find(joined, node.inputs[slot], &std::pair<ValueId, ValueId>::first);
            if (same == joined.end()) {
                joined.emplace_back(node.inputs[slot], part);
            } else {
                same->second = emit.node("Add", {same->second, part});
            }
        }
        for (const auto& [operand, part] : joined) {
            ValueId& sum = m_sum[operand.index()];
            sum = sum.isValid() ? emit.node("Add", {sum, part}) : part;
        }
    }

    [[nodiscard]] bool hasFloatingInput() const
    {
        return std::ranges::any_of(m_graph.inputs(), [this](ValueId input) { return isTracked(input); });
    }

    /// A graph that gives no gradient is none: why there is none; empty where there is one.
    [[nodiscard]] std::string whyEmpty() const
    {
        if (!m_made.gradients.empty()) {
            return {};
        }
        return hasFloatingInput() ? "no gradient reaches a floating input of the model; choose another target"
                                  : kNoFloatingInput;
    }

    void addOutputs(Emitter& emit)
    {
        for (const ValueId input : m_graph.inputs()) {
            const ValueId sum = m_sum[input.index()];
            if (!isTracked(input) || !sum.isValid()) {
                continue;
            }
            const std::string name = unused(m_graph.value(input).name + "_gradient");
            const ValueId output = m_builder.addResult(name);
            m_builder.declare(output, m_types[input.index()], shapeOf(input));
            emit.named("Identity", {sum}, output);
            m_builder.addOutput(output);
            m_made.gradients.push_back(name);
        }
    }

    const execute::BoundModel& m_model;
    const graph::Graph& m_graph;
    ValueId m_target;
    bool m_isJoined;
    const Names* m_read;
    graph::GraphBuilder m_builder;
    std::vector<tensor::DType> m_types; ///< by old value, as another runtime has them
    std::vector<ValueId> m_copy;        ///< by old value
    std::vector<ValueId> m_sum;         ///< gradient that arrived so far, by old value
    std::vector<bool> m_isReached;      ///< from an input that gets a gradient, by old value
    GradientGraph m_made;
};

/// Names of the values that some node reads.
Names namesRead(const graph::Graph& graph)
{
    Names names;
    for (std::size_t i = 0; i < graph.valueCount(); ++i) {
        if (!graph.uses(ValueId(i)).empty()) {
            names.insert(graph.value(ValueId(i)).name);
        }
    }
    return names;
}

} // namespace

Result<GradientGraph> gradientGraph(const execute::BoundModel& model, ValueId target, bool isJoined,
                                    std::span<const ValueId> from)
{
    RETRO_TRY(GradientGraph made, Writer(model, target, isJoined, from).write());
    if (isJoined) {
        return made;
    }
    const Names read = namesRead(*made.graph);
    return Writer(model, target, false, from, &read).write();
}

} // namespace retro::tape
