// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/composite/softmaxshift.h"

#include "core/graph/attributes.h"
#include "core/ops/algebra.h"
#include "core/ops/elements.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <variant>
#include <vector>

namespace retro::lrp
{

using base::NodeId;
using base::ValueId;
using graph::Node;
using tensor::Tensor;

namespace
{

/// Nodes that a search walks back at most.
constexpr int kMostSteps = 24;
/// Numbers up to it keep a sum of exponentials from zero and count for nothing beside one.
constexpr double kMostEpsilon = 1e-5;

using enum ops::Elements;

bool isMove(const Node& node) { return ops::areElements(node, {Kept, Converted, Reshaped, Repeated}); }

/// One softmax over groups.
class GroupedSoftmax
{
public:
    explicit GroupedSoftmax(const execute::BoundModel& model) : m_model(model), m_graph(model.graph()) {}

    /// `shifted` = x − `shift`.
    [[nodiscard]] bool isShift(ValueId shifted, ValueId shift)
    {
        const Node* exponential = soleReader(shifted, "Exp");
        if (exponential == nullptr || !findSum(exponential->outputs[0])) {
            return false;
        }
        return isOfGroups(shift, 0);
    }

private:
    [[nodiscard]] const Node* makerOf(ValueId value) const
    {
        const NodeId maker = value.isValid() ? m_graph.nodeOf(value) : NodeId();
        return maker.isValid() && !m_graph.isInput(maker) ? &m_graph.node(maker) : nullptr;
    }

    /// The node that makes a value, looked at through moves of its elements.
    [[nodiscard]] const Node* originOf(ValueId value) const
    {
        const Node* maker = makerOf(value);
        for (int i = 0; i < kMostSteps && maker != nullptr && isMove(*maker); ++i) {
            maker = makerOf(maker->inputs[0]);
        }
        return maker;
    }

    /// The value that a value is, but for moves of its elements.
    [[nodiscard]] ValueId rootOf(ValueId value) const
    {
        for (int i = 0; i < kMostSteps; ++i) {
            const Node* maker = makerOf(value);
            if (maker == nullptr || !isMove(*maker)) {
                break;
            }
            value = maker->inputs[0];
        }
        return value;
    }

    [[nodiscard]] const Node* soleReader(ValueId value, std::string_view op) const
    {
        const auto uses = m_graph.uses(value);
        const Node* reader = uses.size() == 1 ? &m_graph.node(uses[0].node) : nullptr;
        if (reader != nullptr && isMove(*reader)) {
            return soleReader(reader->outputs[0], op);
        }
        return reader != nullptr && reader->domain.empty() && reader->op == op ? reader : nullptr;
    }

    /// e is divided by a sum over its groups, and read by nothing but the quotient and the sum.
    [[nodiscard]] bool findSum(ValueId e)
    {
        std::vector<ValueId> forms{e}; // e, and what moves its elements
        bool isDivided = false;
        for (std::size_t i = 0; i < forms.size(); ++i) {
            for (const graph::Use& use : m_graph.uses(forms[i])) {
                const Node& reader = m_graph.node(use.node);
                const bool isQuotient =
                    ops::areElements(reader, {Divided}) && use.slot == 0 && isSumOf(e, reader.inputs[1]);
                isDivided = isDivided || isQuotient;
                if (isMove(reader) && use.slot == 0) {
                    forms.push_back(reader.outputs[0]);
                } else if (!isQuotient && !isScatteredSum(reader, e)) {
                    return false;
                }
            }
        }
        return isDivided;
    }

    [[nodiscard]] bool isScatteredSum(const Node& node, ValueId e) const
    {
        const bool isScatter = node.domain.empty() && (node.op == "ScatterElements" || node.op == "ScatterND");
        return isScatter && graph::attributeOr<std::string>(node, "reduction", "none") == "add" &&
               node.inputs.size() == 3 && isAbout(node.inputs[0], 0) && rootOf(node.inputs[2]) == rootOf(e);
    }

    /// Gathered from the sums of the groups, maybe with a number added against zero.
    [[nodiscard]] bool isSumOf(ValueId e, ValueId divisor)
    {
        const Node* gather = originOf(withoutNumber(divisor));
        if (gather == nullptr || !ops::areElements(*gather, {PickedBy})) {
            return false;
        }
        const Node* scatter = originOf(withoutNumber(gather->inputs[0]));
        if (scatter == nullptr || !isScatteredSum(*scatter, e) ||
            rootOf(scatter->inputs[1]) != rootOf(gather->inputs[1])) {
            return false;
        }
        m_groups = rootOf(gather->inputs[1]);
        return true;
    }

    /// What a small number is added to, or keeps from zero; one that counts beside the sum would count more with a
    /// shift.
    [[nodiscard]] ValueId withoutNumber(ValueId value) const
    {
        const Node* sum = originOf(value);
        if (sum == nullptr || (!ops::areElements(*sum, {Summed, Bounded}) && sum->op != "Max")) {
            return value;
        }
        for (std::size_t slot = 0; slot < std::min<std::size_t>(sum->inputs.size(), 2); ++slot) {
            const ValueId number = sum->inputs[1 - slot];
            if (number.isValid() && isAbout(number, kMostEpsilon)) {
                return sum->inputs[slot];
            }
        }
        return value;
    }

    /// A constant no element of which is larger than that.
    [[nodiscard]] bool isAbout(ValueId value, double most) const
    {
        const Node* filled = originOf(value);
        if (filled != nullptr && filled->domain.empty() && filled->op == "ConstantOfShape") {
            const auto* data = graph::attributeOf<Tensor>(*filled, "value");
            return data == nullptr || std::abs(data->at(0)) <= most;
        }
        const ValueId root = rootOf(value);
        if (!m_model.isConstant(root) || !tensor::isFloating(m_model.constant(root).dtype())) {
            return false;
        }
        const Tensor& data = m_model.constant(root);
        return ops::algebra::sumAbsolute(data) <= most * static_cast<double>(std::max<std::int64_t>(data.size(), 1));
    }

    /// One number for each group: gathered as the sums are, or made of such.
    [[nodiscard]] bool isOfGroups(ValueId value, int depth) const
    {
        if (value.isValid() && m_model.isConstant(value)) {
            return m_model.constant(value).size() == 1;
        }
        const Node* maker = originOf(value);
        if (maker == nullptr || depth > kMostSteps) {
            return false;
        }
        if (ops::areElements(*maker, {PickedBy})) {
            return rootOf(maker->inputs[1]) == m_groups;
        }
        // Of numbers of one group they make a number of the group.
        return ops::isElementByElement(*maker) && std::ranges::all_of(maker->inputs, [&](ValueId input) {
                   return !input.isValid() || isOfGroups(input, depth + 1);
               });
    }

    const execute::BoundModel& m_model;
    const graph::Graph& m_graph;
    ValueId m_groups; ///< which group each element is of
};

} // namespace

std::optional<std::size_t> shiftedOperand(const execute::BoundModel& model, NodeId id)
{
    const Node& node = model.graph().node(id);
    if (ops::areElements(node, {Subtracted}) && GroupedSoftmax(model).isShift(node.outputs[0], node.inputs[1])) {
        return 0;
    }
    if (!ops::areElements(node, {Summed}) || node.inputs.size() != 2) {
        return std::nullopt;
    }
    for (std::size_t slot = 0; slot < 2; ++slot) { // x + (−m)
        const ValueId other = node.inputs[1 - slot];
        const NodeId maker = model.graph().nodeOf(other);
        const bool isNegative =
            maker.isValid() && !model.graph().isInput(maker) && ops::areElements(model.graph().node(maker), {Negated});
        if (isNegative && GroupedSoftmax(model).isShift(node.outputs[0], other)) {
            return slot;
        }
    }
    return std::nullopt;
}

} // namespace retro::lrp
