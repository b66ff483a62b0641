// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/quantise/quantisedforms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace retro::ops
{

namespace
{

constexpr std::int64_t kQuantizeOpset = 21;

using OperandTypeList = std::vector<std::optional<TensorType>>;

/// A step of such an operator, bound by itself.
class Step
{
public:
    /// A node of the standard; `context` says where it stands. `operands`: nothing for one that is absent.
    static base::Result<Step> bindStep(const BindContext& context, std::string_view op, std::int64_t opset,
                                       const OperandTypeList& operands, graph::Attributes attributes)
    {
        graph::Node node = context.node;
        node.op = op;
        node.domain.clear();
        node.opset = opset;
        node.attributes = std::move(attributes);
        node.inputs.clear();
        std::vector<TensorType> types;
        for (const std::optional<TensorType>& operand : operands) {
            node.inputs.push_back(operand ? graph::ValueId(context.graph.valueCount()) : graph::ValueId());
            types.push_back(operand.value_or(TensorType()));
        }
        node.outputs.resize(1);
        const std::vector<Tensor> constants(types.size());
        Step step;
        RETRO_TRY(step.m_op, bind({context.graph, context.id, node, types, constants, context.floatType, nullptr}));
        return step;
    }

    [[nodiscard]] const TensorType& type() const { return m_op->outputTypes()[0]; }
    [[nodiscard]] Tensor run(std::span<const Tensor> operands) const { return m_op->forward(operands)[0]; }

private:
    std::unique_ptr<BoundOperator> m_op;
};

struct FunctionSteps
{
    std::vector<std::size_t> slots; ///< of the quantised operands
    std::vector<Step> dequantise;   ///< one per slot
    std::vector<Step> before;       ///< channels to the front; none or one
    std::vector<Step> function;     ///< one
    std::vector<Step> after;        ///< channels to the back; none or one
    std::vector<Step> quantise;     ///< one
    std::size_t plain = QuantisedForm::kNone;
    std::size_t result = 0;
};

/// Operands taken apart, a function of the standard, the result quantised. Integers carry no relevance: the rewrite
/// `dequantise` writes the steps as nodes of floats.
class QuantisedFunction final : public PassiveOperator
{
public:
    explicit QuantisedFunction(FunctionSteps steps) : m_steps(std::move(steps))
    {
        m_outputTypes = {m_steps.quantise.front().type()};
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const auto at = [&](std::size_t slot) { return slot < operands.size() ? operands[slot] : Tensor(); };
        std::vector<Tensor> values;
        if (m_steps.plain != QuantisedForm::kNone) {
            values.push_back(at(m_steps.plain));
        }
        for (std::size_t i = 0; i < m_steps.slots.size(); ++i) {
            const std::size_t slot = m_steps.slots[i];
            const std::array<Tensor, 3> quantised{at(slot), at(slot + 1), at(slot + 2)};
            values.push_back(m_steps.dequantise[i].run(quantised));
        }
        for (const Step& step : m_steps.before) {
            values.front() = step.run({&values.front(), 1});
        }
        Tensor result = m_steps.function.front().run(values);
        for (const Step& step : m_steps.after) {
            result = step.run({&result, 1});
        }
        const std::array<Tensor, 3> last{result, at(m_steps.result), at(m_steps.result + 1)};
        return {m_steps.quantise.front().run(last)};
    }

private:
    FunctionSteps m_steps;
};

/// The type of an operand; nothing when it is absent.
std::optional<TensorType> typeAt(const BindContext& context, std::size_t slot)
{
    return context.present(slot) ? std::optional(context.operandTypes[slot]) : std::nullopt;
}

base::Result<void> expectForm(const BindContext& context, const QuantisedForm& form,
                              const std::vector<std::size_t>& slots)
{
    const std::size_t needed = std::max(form.result + 1, slots.empty() ? form.first + 1 : slots.back() + 2);
    const bool isWhole = form.count == 0 ? !slots.empty() : slots.size() == form.count;
    for (std::size_t slot = 0; slot < needed; ++slot) {
        const bool isZeroPoint = slot == form.result + 1 || std::ranges::any_of(slots, [slot](std::size_t operand) {
                                     return slot == operand + 2;
                                 });
        if (!isWhole || (!isZeroPoint && !context.present(slot))) {
            return context.error(fmt::format("operand {} is missing", slot));
        }
    }
    RETRO_CHECK(expectOneOutput(context));
    return {};
}

/// Transpose of all channels to the front or to the back.
graph::Attributes channelOrder(std::size_t rank, bool toFront)
{
    std::vector<std::int64_t> order(rank);
    for (std::size_t i = 0; i < rank; ++i) {
        order[i] = static_cast<std::int64_t>(i);
    }
    if (rank > 2 && toFront) {
        std::rotate(order.begin() + 1, order.end() - 1, order.end());
    } else if (rank > 2) {
        std::rotate(order.begin() + 1, order.begin() + 2, order.end());
    }
    return {{"perm", order}};
}

/// DequantizeLinear of each quantised operand; `types` gets what they give.
base::Result<void> addDequantise(const BindContext& context, FunctionSteps& steps, OperandTypeList& types)
{
    for (const std::size_t slot : steps.slots) {
        const OperandTypeList operands{typeAt(context, slot), typeAt(context, slot + 1), typeAt(context, slot + 2)};
        RETRO_TRY(Step step, Step::bindStep(context, "DequantizeLinear", kQuantizeOpset, operands, {}));
        types.push_back(step.type());
        steps.dequantise.push_back(std::move(step));
    }
    return {};
}

/// A Transpose of channels, whose result's type takes the place of the operand's.
base::Result<void> addChannels(const BindContext& context, bool toFront, std::vector<Step>& steps, TensorType& type)
{
    if (context.intAttribute("channels_last", 0) == 0) {
        return {};
    }
    RETRO_TRY(Step step, Step::bindStep(context, "Transpose", 13, {type}, channelOrder(type.shape.size(), toFront)));
    type = step.type();
    steps.push_back(std::move(step));
    return {};
}

BoundResult bindQuantisedFunction(const BindContext& context)
{
    const QuantisedForm& form = *quantisedForm(context.node.domain, context.node.op);
    FunctionSteps steps;
    steps.slots = form.quantisedSlots(context.node.inputs.size());
    RETRO_CHECK(expectForm(context, form, steps.slots));
    steps.plain = form.plain;
    steps.result = form.result;
    OperandTypeList types;
    if (form.plain != QuantisedForm::kNone) {
        types.push_back(context.operandTypes[form.plain]);
    }
    RETRO_CHECK(addDequantise(context, steps, types));
    RETRO_CHECK(addChannels(context, true, steps.before, *types[0]));
    RETRO_TRY(Step function, Step::bindStep(context, form.function, quantisedOpset(form, context.node), types,
                                            functionAttributes(context.node)));
    TensorType result = function.type();
    steps.function.push_back(std::move(function));
    RETRO_CHECK(addChannels(context, false, steps.after, result));
    const OperandTypeList last{result, typeAt(context, form.result), typeAt(context, form.result + 1)};
    RETRO_TRY(Step quantise, Step::bindStep(context, "QuantizeLinear", kQuantizeOpset, last, {}));
    steps.quantise.push_back(std::move(quantise));
    return bound<QuantisedFunction>(std::move(steps));
}

} // namespace

std::span<const OperatorDeclaration> quantisedFunctionDeclarations()
{
    static const std::vector<OperatorDeclaration> kDeclarations = [] {
        std::vector<OperatorDeclaration> all;
        for (const QuantisedForm& form : quantisedForms()) {
            all.push_back({"com.microsoft", form.op, 1, 0, "no relevance", false, bindQuantisedFunction});
        }
        return all;
    }();
    return kDeclarations;
}

} // namespace retro::ops
