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
    {
        findGivers();
    }

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

    /// An operator that gives a value a part, and which of its parts; kNone where it says nothing of parts.
    struct Giver
    {
        OpId op;
        std::uint32_t part;
    };

    /// What the second half reads of those that give a value parts.
    struct Taken
    {
        Operands operands; ///< that it reads
        Operands hashed;   ///< that it would read beside gradients of parameters
        std::uint64_t workspace = 0;
        void add(OpValueId id)
        {
            operands.add(id);
            hashed.add(id);
        }
    };

    /// Adds the gradients of an operator's outputs. False when it has none: then it gives no parts.
    bool addUpstream(OpId reader, Taken& taken) const
    {
        bool hasGradient = false;
        for (const OpValueId output : m_forward.op(reader).outputs) {
            if (m_gradient[output] != kNone) {
                taken.add(m_gradient[output]);
                hasGradient = true;
            }
        }
        return hasGradient;
    }

    /// What every part would read if nothing were said of parts.
    [[nodiscard]] std::vector<OpValueId> allReadsOf(const Op& op) const
    {
        const bool isGradient = m_options.kind == JointKind::Gradient;
        std::vector<OpValueId> all = isGradient ? op.savedInputs : op.inputs;
        const std::vector<OpValueId>& outputs = isGradient ? op.savedOutputs : op.outputs;
        all.insert(all.end(), outputs.begin(), outputs.end());
        return all;
    }

    /// Who gives parts to which value.
    void findGivers()
    {
        m_givers.resize(m_forward.values().size());
        for (OpId id = 0; id < m_forward.size(); ++id) {
            const Op& op = m_forward.op(id);
            if (op.parts) {
                for (std::size_t i = 0; i < op.parts->size(); ++i) {
                    addGiver((*op.parts)[i].operand, id, static_cast<std::uint32_t>(i));
                }
                continue;
            }
            for (const OpValueId input : m_forward.reads(id)) {
                addGiver(input, id, kNone);
            }
        }
    }

    void addGiver(OpValueId value, OpId op, std::uint32_t part) { m_givers[value].push_back({op, part}); }

    /// What the part of `giver` reads. False when nothing arrives there.
    bool readFrom(const Giver& giver, Taken& taken) const
    {
        const Op& op = m_forward.op(giver.op);
        if (!addUpstream(giver.op, taken)) {
            return false;
        }
        const std::vector<OpValueId> all = allReadsOf(op);
        if (giver.part != kNone) {
            taken.workspace = std::max(taken.workspace, (*op.parts)[giver.part].workspace);
        }
        std::ranges::for_each(giver.part == kNone ? all : (*op.parts)[giver.part].reads,
                              [&](OpValueId id) { taken.operands.add(id); });
        std::ranges::for_each(all, [&](OpValueId id) { taken.hashed.add(id); });
        return true;
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
        OpId last = kNone; // gives several parts where it reads several views of one value
        if (value.isOutput) {
            taken.add(id);
        }
        for (const Giver& giver : m_givers[id]) {
            const bool gives = readFrom(giver, taken) && giver.op != last;
            cost += gives ? m_forward.op(giver.op).cost : 0;
            flops += gives ? m_forward.op(giver.op).flops : 0;
            last = giver.op;
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
        if (addUpstream(id, taken)) {
            const Op& op = m_forward.op(id);
            const std::vector<OpValueId> all = allReadsOf(op);
            std::ranges::for_each(op.parameterReads ? *op.parameterReads : all,
                                  [&](OpValueId value) { taken.operands.add(value); });
            std::ranges::for_each(all, [&](OpValueId value) { taken.hashed.add(value); });
            for (const OperandPart& part : op.parts.value_or(std::vector<OperandPart>())) {
                taken.workspace = std::max(taken.workspace, part.workspace); // what all parts need, theirs needs
            }
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
        op.workspace = taken.workspace;
        op.phase = Phase::Gradient;
        m_ops.push_back(std::move(op));
        m_origin.push_back(origin);
    }

    const OpGraph& m_forward;
    JointOptions m_options;
    std::vector<Op> m_ops;
    std::vector<OpValue> m_values;
    std::vector<OpId> m_origin;
    std::vector<OpValueId> m_gradient;        ///< per forward value
    std::vector<std::vector<Giver>> m_givers; ///< per forward value
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
