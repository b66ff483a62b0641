// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/wayofinput.h"

#include "core/ops/algebra.h"
#include "core/ops/elements.h"

#include <algorithm>
#include <vector>

namespace retro::diagnosis
{

namespace
{

/// Between an input and the target.
class WayOfInput
{
public:
    WayOfInput(const Facts& facts, ValueId input) : m_facts(facts), m_graph(facts.graph()), m_input(input)
    {
        const std::vector<bool> behind = descendantsOf(m_graph, m_graph.inputNode(input));
        for (std::size_t i = 0; i < m_graph.nodeCount(); ++i) {
            m_isOnWay.push_back(behind[i] && facts.leadsToTarget()[i]);
        }
    }

    [[nodiscard]] std::optional<Cut> cut() const
    {
        if (m_facts.statistics(m_input).isAllZero()) {
            return Cut{CutKind::EmptyInput, m_graph.inputNode(m_input), m_input};
        }
        for (const auto find :
             {&WayOfInput::zeroFactor, &WayOfInput::allZero, &WayOfInput::leftOut, &WayOfInput::nothingHandedOn}) {
            if (const std::optional<Cut> found = (this->*find)()) {
                return found;
            }
        }
        return std::nullopt;
    }

private:
    /// f(NodeId) of every node on the way in order, until one gives something.
    template <class F>
    [[nodiscard]] std::optional<Cut> first(F&& f) const
    {
        for (std::size_t i = 0; i < m_isOnWay.size() && !m_facts.stop().stop_requested(); ++i) {
            if (m_isOnWay[i]) {
                if (const std::optional<Cut> found = f(NodeId(i))) {
                    return found;
                }
            }
        }
        return std::nullopt;
    }

    [[nodiscard]] bool isOnWay(ValueId value) const
    {
        if (value == m_input) {
            return true;
        }
        const NodeId producer = value.isValid() ? m_graph.value(value).producer : NodeId();
        return producer.isValid() && m_isOnWay[producer.index()];
    }

    [[nodiscard]] std::optional<Cut> zeroFactor() const
    {
        return first([this](NodeId id) -> std::optional<Cut> {
            if (!m_facts.isKind(id, ops::StructureKind::Product)) {
                return std::nullopt;
            }
            for (const ValueId operand : m_graph.node(id).inputs) {
                const bool isConstant = operand.isValid() && !m_graph.nodeOf(operand).isValid();
                if (isConstant && m_facts.statistics(operand).isAllZero()) {
                    return Cut{CutKind::ZeroFactor, id, operand};
                }
            }
            return std::nullopt;
        });
    }

    [[nodiscard]] std::optional<Cut> allZero() const
    {
        return first([this](NodeId id) -> std::optional<Cut> {
            for (const ValueId output : m_graph.node(id).outputs) {
                if (output.isValid() && m_facts.statistics(output).isAllZero()) {
                    return Cut{CutKind::AllZero, id, output};
                }
            }
            return std::nullopt;
        });
    }

    [[nodiscard]] std::optional<Cut> leftOut() const
    {
        return first([this](NodeId id) -> std::optional<Cut> {
            const graph::Node& node = m_graph.node(id);
            const bool takes = ops::areElements(node, {ops::Elements::Taken, ops::Elements::PickedBy});
            return takes && leavesOut(id) ? std::optional(Cut{CutKind::LeftOut, id, {}}) : std::nullopt;
        });
    }

    /// Where a node reads, carried back along what only moves elements; everything else reads everything.
    [[nodiscard]] bool leavesOut(NodeId taking) const
    {
        std::vector<Tensor> reads(m_graph.valueCount());
        const graph::Node& node = m_graph.node(taking);
        std::vector<Tensor> ones;
        for (const ValueId output : node.outputs) {
            const Tensor value = isUsed(output) ? m_facts.value(output) : Tensor();
            ones.push_back(marks(value));
        }
        carryThrough(taking, ones, reads);
        for (std::size_t i = taking.index(); i-- > 0;) {
            if (!m_isOnWay[i]) {
                continue;
            }
            std::vector<Tensor> marked;
            for (const ValueId output : m_graph.node(NodeId(i)).outputs) {
                marked.push_back(output.isValid() ? reads[output.index()] : Tensor());
            }
            if (std::ranges::any_of(marked, &Tensor::isValid)) {
                carryThrough(NodeId(i), marked, reads);
            }
        }
        return !reads[m_input.index()].isValid();
    }

    [[nodiscard]] bool isUsed(ValueId output) const
    {
        return output.isValid() && (output == m_facts.pass()->target ||
                                    std::ranges::any_of(m_graph.uses(output), [this](const graph::Use& use) {
                                        return m_facts.leadsToTarget()[use.node.index()];
                                    }));
    }

    /// 1 at every element, in the floating type of the pass: a way may lead through integers, as those of tokens that
    /// come as numbers. Invalid where nothing is known of the value.
    [[nodiscard]] Tensor marks(const Tensor& value) const
    {
        if (!value.isValid() || tensor::isFloating(value.dtype())) {
            return value.isValid() ? ops::algebra::filledLike(value, 1) : Tensor();
        }
        const Tensor target = m_facts.value(m_facts.pass()->target);
        const bool isKnown = target.isValid() && tensor::isFloating(target.dtype());
        return Tensor::full(isKnown ? target.dtype() : tensor::DType::Float32, value.shape(), 1);
    }

    /// What a node reads of an operand: of one that moves elements those that are marked, of others all.
    [[nodiscard]] Tensor partRead(NodeId id, std::size_t slot, const std::vector<Tensor>& marked) const
    {
        const graph::Node& node = m_graph.node(id);
        const ops::BoundOperator* op = m_facts.op(id);
        const Tensor all = marks(m_facts.value(node.inputs[slot]));
        if (op == nullptr || op->structure().kind() != ops::StructureKind::ShapeMap) {
            return all;
        }
        std::vector<Tensor> operands;
        std::ranges::transform(node.inputs, std::back_inserter(operands),
                               [this](ValueId input) { return m_facts.value(input); });
        const Tensor moved = static_cast<const ops::ShapeMap&>(op->structure()).carryBack(marked, operands, slot);
        const bool isMoved = !moved.isValid() || tensor::isFloating(moved.dtype());
        return isMoved ? moved : all; // what steers it (a condition) is read as a whole
    }

    /// Marks what a node reads on the way; nothing is marked where it reads nothing.
    void carryThrough(NodeId id, const std::vector<Tensor>& marked, std::vector<Tensor>& reads) const
    {
        const graph::Node& node = m_graph.node(id);
        for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
            const ValueId operand = node.inputs[slot];
            if (!isOnWay(operand)) {
                continue;
            }
            const Tensor part = partRead(id, slot, marked);
            if (part.isValid() && ops::algebra::sumAbsolute(part) > 0) {
                Tensor& sum = reads[operand.index()];
                sum = sum.isValid() ? ops::algebra::add(sum, part) : part;
            }
        }
    }

    [[nodiscard]] std::optional<Cut> nothingHandedOn() const
    {
        return first([this](NodeId id) -> std::optional<Cut> {
            const graph::Node& node = m_graph.node(id);
            const bool has = m_facts.balance(id).magnitude > 0;
            const bool handsOn = std::ranges::any_of(
                node.inputs, [this](ValueId operand) { return isOnWay(operand) && m_facts.magnitude(operand) > 0; });
            return has && !handsOn ? std::optional(Cut{CutKind::NothingHandedOn, id, {}}) : std::nullopt;
        });
    }

    const Facts& m_facts;
    const graph::Graph& m_graph;
    ValueId m_input;
    std::vector<bool> m_isOnWay; // by NodeId, without inputs
};

} // namespace

bool carriesRelevance(const Facts& facts, ValueId input)
{
    const Pass& pass = *facts.pass();
    return pass.model ? pass.model->isTracked(input) : tensor::isFloating(facts.graph().value(input).dtype);
}

std::optional<Cut> cutOf(const Facts& facts, ValueId input) { return WayOfInput(facts, input).cut(); }

} // namespace retro::diagnosis
