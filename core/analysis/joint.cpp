// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/joint.h"

#include "core/analysis/frontier.h"

#include <algorithm>

namespace retro::analysis
{

namespace
{

using base::inputError;
using base::Result;

/// Values without a second copy of one.
class Operands
{
public:
    void add(OpValueId id)
    {
        if (std::find(m_ids.begin(), m_ids.end(), id) == m_ids.end()) {
            m_ids.push_back(id);
        }
    }
    [[nodiscard]] const std::vector<OpValueId>& ids() const { return m_ids; }

private:
    std::vector<OpValueId> m_ids;
};

class JointBuilder
{
public:
    JointBuilder(const OpGraph& forward, const JointOptions& options)
        : m_forward(forward), m_options(options), m_gradient(forward.values().size(), kNone)
    {}

    void addForward(std::span<const OpId> order)
    {
        for (const OpValue& value : m_forward.values()) {
            m_values.push_back(value);
            m_values.back().isOutput = false;
            m_values.back().isRequired = false;
            const bool isGiven = value.producer == kNone || m_forward.op(value.producer).phase == Phase::Source;
            m_values.back().isPinned = value.isPinned || isGiven;
        }
        for (const OpId id : order) {
            if (m_forward.op(id).phase != Phase::Source) {
                m_ops.push_back(m_forward.op(id));
                m_origin.push_back(id);
            }
        }
        m_forwardCount = m_ops.size();
    }

    void addGradients(std::span<const OpId> order)
    {
        for (auto at = order.rbegin(); at != order.rend(); ++at) {
            const std::vector<OpValueId>& outputs = m_forward.op(*at).outputs;
            for (auto output = outputs.rbegin(); output != outputs.rend(); ++output) {
                addGradientOf(*output, *at);
            }
            if (m_options.hasParameterGradients && m_forward.op(*at).hasParameters) {
                addParameterGradient(*at);
            }
        }
    }

    Result<JointGraph> finish() &&
    {
        if (m_ops.size() == m_forwardCount) {
            return inputError("no value has a gradient: no output of the graph is differentiable");
        }
        JointGraph joint;
        joint.forwardCount = m_forwardCount;
        joint.origin = std::move(m_origin);
        RETRO_TRY(joint.graph, OpGraph::make(std::move(m_ops), std::move(m_values)));
        return joint;
    }

private:
    [[nodiscard]] std::string prefix() const { return m_options.kind == JointKind::Gradient ? "d:" : "r:"; }

    /// What the second half reads of the readers of a value.
    struct Taken
    {
        Operands operands; ///< that it reads
        Operands hashed;   ///< that it would read beside gradients of parameters
        void add(OpValueId id)
        {
            operands.add(id);
            hashed.add(id);
        }
    };

    /// What the reverse rule of `reader` reads: gradients of its outputs, what it saved. False when it has none.
    bool readFrom(OpId reader, Taken& taken, bool isForParameters) const
    {
        const Op& op = m_forward.op(reader);
        bool hasGradient = false;
        for (const OpValueId output : op.outputs) {
            if (m_gradient[output] != kNone) {
                taken.add(m_gradient[output]);
                hasGradient = true;
            }
        }
        if (!hasGradient) {
            return false;
        }
        const bool readsAll = m_options.kind == JointKind::Relevance;
        const OperandReads saved =
            readsAll ? OperandReads{op.inputs, op.outputs} : OperandReads{op.savedInputs, op.savedOutputs};
        const OperandReads& read = readsAll || isForParameters || !op.operandReads ? saved : *op.operandReads;
        addTo(taken.hashed, saved);
        addTo(taken.operands, read);
        return true;
    }

    static void addTo(Operands& operands, const OperandReads& reads)
    {
        std::ranges::for_each(reads.inputs, [&](OpValueId id) { operands.add(id); });
        std::ranges::for_each(reads.outputs, [&](OpValueId id) { operands.add(id); });
    }

    void addGradientOf(OpValueId id, OpId producer)
    {
        const OpValue& value = m_forward.value(id);
        const bool isRelevance = m_options.kind == JointKind::Relevance;
        if (!value.isDifferentiable && !(isRelevance && value.relevanceBytes > 0)) {
            return;
        }
        Taken taken;
        double cost = 0;
        double flops = 0;
        if (value.isOutput) {
            taken.add(id);
        }
        for (const OpId reader : m_forward.readers(id)) {
            const bool isRead = readFrom(reader, taken, false);
            cost += isRead ? m_forward.op(reader).cost : 0;
            flops += isRead ? m_forward.op(reader).flops : 0;
        }
        if (taken.operands.ids().empty()) {
            return;
        }
        m_gradient[id] = addValue(prefix() + value.name, value.isDifferentiable ? value.bytes : value.relevanceBytes);
        addOp(prefix() + value.name, taken, {m_gradient[id]}, std::max(cost, m_options.leastCost), producer);
        m_ops.back().flops = flops;
    }

    void addParameterGradient(OpId id)
    {
        Taken taken;
        if (readFrom(id, taken, true)) {
            const Op& op = m_forward.op(id);
            addOp("dw:" + op.name, taken, {}, std::max(op.cost, m_options.leastCost), id);
            m_ops.back().flops = op.flops;
        }
    }

    OpValueId addValue(std::string name, std::uint64_t bytes)
    {
        OpValue value;
        value.name = std::move(name);
        value.bytes = bytes;
        m_values.push_back(std::move(value));
        return static_cast<OpValueId>(m_values.size() - 1);
    }

    void addOp(std::string name, const Taken& taken, std::vector<OpValueId> outputs, double cost, OpId origin)
    {
        Op op;
        op.name = std::move(name);
        op.type = m_options.kind == JointKind::Gradient ? "Gradient" : "Relevance";
        op.inputs = taken.operands.ids();
        op.hashedInputs = taken.hashed.ids();
        op.outputs = std::move(outputs);
        op.cost = cost;
        op.phase = Phase::Gradient;
        m_ops.push_back(std::move(op));
        m_origin.push_back(origin);
    }

    const OpGraph& m_forward;
    JointOptions m_options;
    std::vector<Op> m_ops;
    std::vector<OpValue> m_values;
    std::vector<OpId> m_origin;
    std::vector<OpValueId> m_gradient; ///< per forward value
    std::size_t m_forwardCount = 0;
};

} // namespace

Result<JointGraph> jointGraph(const OpGraph& forward, std::span<const OpId> order, const JointOptions& options)
{
    if (!isTopological(forward, order)) {
        return inputError("the order does not hold every operator once, readers behind producers");
    }
    JointBuilder builder(forward, options);
    builder.addForward(order);
    builder.addGradients(order);
    return std::move(builder).finish();
}

Result<JointGraph> capturedJointGraph(const OpGraph& graph)
{
    JointGraph joint;
    std::vector<Op> ops;
    std::vector<OpValue> values(graph.values().begin(), graph.values().end());
    const auto add = [&](Phase phase) {
        for (const OpId id : graph.order()) {
            if (graph.op(id).phase == phase) {
                ops.push_back(graph.op(id));
                joint.origin.push_back(id);
            }
        }
    };
    add(Phase::Forward);
    joint.forwardCount = ops.size();
    add(Phase::Gradient);
    if (ops.size() == joint.forwardCount) {
        return inputError("the graph has no gradient operators");
    }
    std::ranges::for_each(values, [&](OpValue& value) {
        const bool isGiven = value.producer == kNone || graph.op(value.producer).phase == Phase::Source;
        value.isPinned = value.isPinned || isGiven;
        value.isRequired = value.isRequired || value.isOutput;
        value.isOutput = false;
    });
    RETRO_TRY(joint.graph, OpGraph::make(std::move(ops), std::move(values)));
    return joint;
}

bool hasGradients(const OpGraph& graph)
{
    return std::ranges::any_of(graph.ops(), [](const Op& op) { return op.phase == Phase::Gradient; });
}

} // namespace retro::analysis
