// SPDX-License-Identifier: Apache-2.0
#include "core/tape/model/modeltape.h"

#include "core/base/cancel.h"

#include <algorithm>

namespace retro::tape
{

using base::Result;
using tensor::Tensor;

namespace
{

/// A node of the graph: takes and gives whole bundles.
class NodeOperator final : public Operator<Bundle>
{
public:
    NodeOperator(std::shared_ptr<const BoundModel> model, NodeId node, std::shared_ptr<const ModelRule> rule,
                 std::stop_token stop)
        : m_model(std::move(model)), m_node(node), m_rule(std::move(rule)), m_stop(std::move(stop))
    {}

    [[nodiscard]] Result<Bundle> forward(Operands<Bundle> operands, const Payload<Bundle>&) const override
    {
        RETRO_CHECK(base::checkStop(m_stop));
        const std::vector<Tensor> bySlot = operandsBySlot(operands);
        RETRO_CHECK(m_model->op(m_node).check(bySlot));
        return Bundle(m_model->op(m_node).forward(bySlot));
    }

    [[nodiscard]] Result<Parts<Bundle>> reverse(const Site<Bundle>& site, const Bundle& upstream) const override
    {
        RETRO_CHECK(base::checkStop(m_stop));
        const std::vector<Tensor> bySlot = operandsBySlot(site.operands);
        const std::vector<std::size_t> slotOf = presentSlots();
        std::vector<std::uint8_t> wanted(bySlot.size(), 0);
        for (std::size_t i = 0; i < slotOf.size(); ++i) {
            wanted[slotOf[i]] = site.wanted[i];
        }
        RETRO_TRY(std::vector<Tensor> parts, (*m_rule)({m_node, bySlot, site.value.tensors, upstream.tensors, wanted}));
        Parts<Bundle> all(slotOf.size());
        for (std::size_t i = 0; i < slotOf.size(); ++i) {
            if (slotOf[i] < parts.size() && parts[slotOf[i]].isValid()) {
                all[i] = Bundle(std::move(parts[slotOf[i]]));
            }
        }
        return all;
    }

private:
    [[nodiscard]] const std::vector<ValueId>& inputs() const { return m_model->graph().node(m_node).inputs; }

    [[nodiscard]] std::vector<std::size_t> presentSlots() const
    {
        std::vector<std::size_t> present;
        for (std::size_t slot = 0; slot < inputs().size(); ++slot) {
            if (inputs()[slot].isValid()) {
                present.push_back(slot);
            }
        }
        return present;
    }

    /// Constants come from the model, which widens narrow ones.
    [[nodiscard]] std::vector<Tensor> operandsBySlot(Operands<Bundle> operands) const
    {
        std::vector<Tensor> bySlot(inputs().size());
        std::size_t next = 0;
        for (std::size_t slot = 0; slot < bySlot.size(); ++slot) {
            if (inputs()[slot].isValid()) {
                const bool isConstant = m_model->graph().value(inputs()[slot]).kind == graph::ValueKind::Constant;
                const Bundle& operand = *operands[next++];
                bySlot[slot] = isConstant ? m_model->constant(inputs()[slot]) : operand.only();
            }
        }
        return bySlot;
    }

    std::shared_ptr<const BoundModel> m_model;
    NodeId m_node;
    std::shared_ptr<const ModelRule> m_rule;
    std::stop_token m_stop;
};

/// Result `k` of a bundle of `count`.
class ProjectionOperator final : public Operator<Bundle>
{
public:
    ProjectionOperator(std::size_t k, std::size_t count) : m_k(k), m_count(count) {}

    [[nodiscard]] Result<Bundle> forward(Operands<Bundle> operands, const Payload<Bundle>&) const override
    {
        return Bundle(operands.front()->tensors[m_k]);
    }

    [[nodiscard]] Result<Parts<Bundle>> reverse(const Site<Bundle>&, const Bundle& upstream) const override
    {
        Bundle all(std::vector<Tensor>(m_count, Tensor()));
        all.tensors[m_k] = upstream.only();
        return Parts<Bundle>{std::move(all)};
    }

private:
    std::size_t m_k;
    std::size_t m_count;
};

class Compiler
{
public:
    Compiler(std::shared_ptr<const BoundModel> model, ModelRule rule, std::stop_token stop)
        : m_rule(std::make_shared<const ModelRule>(std::move(rule))), m_stop(std::move(stop))
    {
        m_made.model = std::move(model);
        m_made.idOf.assign(graph().valueCount(), ModelTape::kNowhere);
    }

    Result<ModelTape> compile(std::span<const Tensor> inputs)
    {
        std::vector<Bundle> leaves;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            addLeaf(graph().inputs()[i]);
            leaves.emplace_back(inputs[i]);
        }
        for (const ValueId constant : readConstants()) {
            addLeaf(constant);
            leaves.emplace_back(m_made.model->storedConstant(constant));
        }
        for (std::size_t i = 0; i < graph().nodeCount(); ++i) {
            addNode(NodeId(i));
        }
        auto tape = tape::compile(m_made.nodes, std::move(leaves));
        RETRO_CHECK(base::checkStop(m_stop));
        if (!tape.ok()) {
            return tape.error().asError();
        }
        m_made.tape = std::move(tape).value();
        track();
        return std::move(m_made);
    }

private:
    [[nodiscard]] const graph::Graph& graph() const { return m_made.model->graph(); }

    [[nodiscard]] std::vector<ValueId> readConstants() const
    {
        std::vector<ValueId> constants;
        for (std::size_t i = 0; i < graph().valueCount(); ++i) {
            if (graph().value(ValueId(i)).kind == graph::ValueKind::Constant && !graph().uses(ValueId(i)).empty()) {
                constants.push_back(ValueId(i));
            }
        }
        return constants;
    }

    void addCell(ValueId value, NodeId node)
    {
        if (value.isValid()) {
            m_made.idOf[value.index()] = static_cast<Id>(m_made.valueOf.size());
        }
        m_made.valueOf.push_back(value);
        m_made.nodeOf.push_back(node);
    }

    void addLeaf(ValueId value) { addCell(value, {}); }

    void addNode(NodeId id)
    {
        const graph::Node& node = graph().node(id);
        std::vector<Id> parents;
        for (const ValueId operand : node.inputs) {
            if (operand.isValid()) {
                parents.push_back(m_made.idOf[operand.index()]);
            }
        }
        const std::size_t count = m_made.model->op(id).outputTypes().size();
        const bool isOne = count == 1 && node.outputs.size() == 1;
        const Id own = static_cast<Id>(m_made.valueOf.size());
        m_made.nodes.push_back(
            {std::make_shared<NodeOperator>(m_made.model, id, m_rule, m_stop), std::move(parents), node.name});
        addCell(isOne ? node.outputs.front() : ValueId(), id);
        for (std::size_t k = 0; !isOne && k < std::min(count, node.outputs.size()); ++k) {
            if (node.outputs[k].isValid()) {
                m_made.nodes.push_back({std::make_shared<ProjectionOperator>(k, count), {own}, node.name});
                addCell(node.outputs[k], id);
            }
        }
    }

    [[nodiscard]] bool isTracked(ValueId value) const
    {
        return m_made.model->isTracked(value) && tensor::isFloating(m_made.model->typeOf(value).dtype);
    }

    void track()
    {
        std::vector<std::uint8_t> ofNode(graph().nodeCount(), 0);
        for (Id id = 0; id < m_made.tape.size(); ++id) {
            const ValueId value = m_made.valueOf[id];
            const bool tracks = value.isValid() && isTracked(value);
            m_made.tape.setTracked(id, tracks);
            if (tracks && m_made.nodeOf[id].isValid()) {
                ofNode[m_made.nodeOf[id].index()] = 1;
            }
        }
        for (Id id = 0; id < m_made.tape.size(); ++id) {
            if (!m_made.valueOf[id].isValid()) {
                m_made.tape.setTracked(id, ofNode[m_made.nodeOf[id].index()] != 0);
            }
        }
    }

    ModelTape m_made;
    std::shared_ptr<const ModelRule> m_rule;
    std::stop_token m_stop;
};

} // namespace

std::string ModelTape::nameOf(Id id) const
{
    return valueOf[id].isValid() ? model->graph().value(valueOf[id]).name : model->graph().labelOf(nodeOf[id]);
}

Result<ModelTape> compileModel(std::shared_ptr<const BoundModel> model, std::span<const Tensor> inputs, ModelRule rule,
                               const std::stop_token& stop)
{
    return Compiler(std::move(model), std::move(rule), stop).compile(inputs);
}

} // namespace retro::tape
