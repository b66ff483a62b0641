// SPDX-License-Identifier: Apache-2.0
// RNN, GRU and LSTM step by step. What an activation reads is one linear layer of input and state side by side, as
// Arras et al. 2017 have it; products with gates are nodes Gate, whose operand 0 is the signal.
#include "core/ops/layerkind.h"
#include "core/rewrite/body/recurrentsteps.h"

#include <fmt/format.h>

namespace retro::rewrite
{

using ops::RecurrentKind;
using tensor::DType;

namespace
{

/// Steps of all directions that are written out at most.
constexpr std::int64_t kMostSteps = 20'000;

/// The whole operator: directions, steps in the order of each, results put together.
class RecurrentWriter
{
public:
    RecurrentWriter(BodyBuilder body, RecurrentSetting setting)
        : m_body(std::move(body)), m_setting(std::move(setting)), m_lengths(m_body, m_setting)
    {}

    [[nodiscard]] base::Result<FunctionBody> write() &&
    {
        const std::vector<ValueId> inputs = inputsOfSteps();
        const std::vector<ValueId> states = initialStates(kInitialState, "initial state");
        const std::vector<ValueId> cells = m_setting.kind == RecurrentKind::Lstm
                                               ? initialStates(kInitialCell, "initial cell")
                                               : std::vector<ValueId>{};
        for (std::size_t d = 0; d < m_setting.isReverse.size(); ++d) {
            runDirection(d, inputs, {states[d], cells.empty() ? ValueId() : cells[d]});
        }
        finishSequence();
        finishState(1, "last state", m_lastStates);
        if (m_setting.kind == RecurrentKind::Lstm) {
            finishState(2, "last cell", m_lastCells);
        }
        return std::move(m_body).finish();
    }

private:
    /// batch × inputs for each step.
    std::vector<ValueId> inputsOfSteps()
    {
        ValueId x = m_body.operand(kInput);
        if (m_setting.isBatchFirst) {
            x = m_body.transpose("input by step", x, {1, 0, 2});
        }
        std::vector<ValueId> parts = apart("input", x, m_setting.steps, {m_setting.batch, m_setting.inputs});
        return parts;
    }

    /// The parts of extent 1 along the first axis, each in that shape.
    std::vector<ValueId> apart(const std::string& name, ValueId x, std::int64_t count, const Shape& shape)
    {
        if (count == 1) {
            return {m_body.reshape(name + " 0, flat", x, shape)};
        }
        const std::vector<std::int64_t> ones(static_cast<std::size_t>(count), 1);
        std::vector<ValueId> parts = m_body.split(name, x, 0, ones);
        for (std::size_t i = 0; i < parts.size(); ++i) {
            parts[i] = m_body.reshape(fmt::format("{} {}, flat", name, i), parts[i], shape);
        }
        return parts;
    }

    /// batch × hidden for each direction.
    std::vector<ValueId> initialStates(std::size_t slot, const std::string& name)
    {
        const Shape shape{m_setting.batch, m_setting.hidden};
        const std::size_t directions = m_setting.isReverse.size();
        if (!m_body.isGiven(slot)) {
            return std::vector<ValueId>(
                directions, m_body.constant(name, tensor::Tensor::zeros(m_body.given(kInput).type.dtype, shape)));
        }
        ValueId states = m_body.operand(slot);
        if (m_setting.isBatchFirst) {
            states = m_body.transpose(name + " by direction", states, {1, 0, 2});
        }
        return apart(name, states, static_cast<std::int64_t>(directions), shape);
    }

    void runDirection(std::size_t d, const std::vector<ValueId>& inputs, RecurrentState state)
    {
        RecurrentSteps steps(m_body, m_setting, d);
        std::vector<ValueId> results(inputs.size());
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            const std::size_t t = m_setting.isReverse[d] ? inputs.size() - 1 - i : i;
            const RecurrentState after = steps.step(t, inputs[t], state);
            results[t] = m_lengths.orZero(steps.name(t, "result"), t, after.hidden);
            state.hidden = m_lengths.valueOrKept(steps.name(t, "state"), t, after.hidden, state.hidden);
            state.cell = after.cell.isValid() ? m_lengths.valueOrKept(steps.name(t, "cell"), t, after.cell, state.cell)
                                              : ValueId();
        }
        m_sequence.push_back(std::move(results));
        m_lastStates.push_back(state.hidden);
        m_lastCells.push_back(state.cell);
    }

    /// Output 0: steps × directions × batch × hidden.
    void finishSequence()
    {
        std::vector<ValueId> parts;
        for (std::size_t t = 0; t < static_cast<std::size_t>(m_setting.steps); ++t) {
            for (const std::vector<ValueId>& results : m_sequence) {
                parts.push_back(results[t]);
            }
        }
        const auto directions = static_cast<std::int64_t>(m_sequence.size());
        const ValueId joined = m_body.add("Concat", "all states", parts, {{"axis", std::int64_t{0}}});
        const ValueId y = m_body.reshape("all states by step", joined,
                                         {m_setting.steps, directions, m_setting.batch, m_setting.hidden});
        m_body.output(0, m_setting.isBatchFirst ? m_body.transpose("all states by row", y, {2, 0, 1, 3}) : y);
    }

    void finishState(std::size_t output, const std::string& name, const std::vector<ValueId>& states)
    {
        const auto directions = static_cast<std::int64_t>(states.size());
        const ValueId joined = m_body.add("Concat", name, states, {{"axis", std::int64_t{0}}});
        const ValueId y =
            m_body.reshape(name + " by direction", joined, {directions, m_setting.batch, m_setting.hidden});
        m_body.output(output, m_setting.isBatchFirst ? m_body.transpose(name + " by row", y, {1, 0, 2}) : y);
    }

    BodyBuilder m_body;
    RecurrentSetting m_setting;
    RecurrentLengths m_lengths;
    std::vector<std::vector<ValueId>> m_sequence; // per direction and step
    std::vector<ValueId> m_lastStates;            // per direction
    std::vector<ValueId> m_lastCells;
};

base::Result<RecurrentSetting> settingOf(const BodyBuilder& body, RecurrentKind kind, const char* op)
{
    RecurrentSetting setting;
    setting.kind = kind;
    RETRO_TRY(setting.isReverse, ops::recurrentDirections(body.node()));
    RETRO_TRY(setting.activations, ops::recurrentActivations(body.node(), kind, setting.isReverse.size()));
    setting.isBatchFirst = body.attribute("layout", std::int64_t{0}) != 0;
    setting.resetsAfter = body.attribute("linear_before_reset", std::int64_t{0}) != 0;
    setting.isCoupled = body.attribute("input_forget", std::int64_t{0}) != 0;
    setting.clip = body.attribute("clip", setting.clip);
    const Shape& x = body.shapeOf(kInput);
    setting.steps = x[setting.isBatchFirst ? 1 : 0];
    setting.batch = x[setting.isBatchFirst ? 0 : 1];
    setting.inputs = x[2];
    setting.hidden = body.shapeOf(kStateWeights)[2];
    const std::int64_t all = setting.steps * static_cast<std::int64_t>(setting.isReverse.size());
    if (setting.steps < 1 || all > kMostSteps) {
        return base::inputError(fmt::format("{} of {} steps cannot be taken apart, only one of 1 to {}; cut the series",
                                            op, all, kMostSteps));
    }
    return setting;
}

base::Result<FunctionBody> recurrentBody(BodyBuilder body, RecurrentKind kind, const char* op)
{
    RETRO_TRY(RecurrentSetting setting, settingOf(body, kind, op));
    return RecurrentWriter(std::move(body), std::move(setting)).write();
}

} // namespace

base::Result<void> checkConstantWeights(const graph::Node& node, std::span<const BodyOperand> operands)
{
    const bool isRecurrent = ops::isRecurrent(node);
    for (const std::size_t slot : {kWeights, kStateWeights, kBiases, kPeepholes}) {
        const bool isGiven = isRecurrent && slot < operands.size() && operands[slot].isGiven;
        if (isGiven && !operands[slot].constant.isValid()) {
            return base::inputError(fmt::format(
                "{} whose operand {} is computed cannot be taken apart; make its weights constants", node.op, slot));
        }
    }
    return {};
}

base::Result<FunctionBody> rnnBody(BodyBuilder body)
{
    return recurrentBody(std::move(body), RecurrentKind::Rnn, "RNN");
}
base::Result<FunctionBody> gruBody(BodyBuilder body)
{
    return recurrentBody(std::move(body), RecurrentKind::Gru, "GRU");
}
base::Result<FunctionBody> lstmBody(BodyBuilder body)
{
    return recurrentBody(std::move(body), RecurrentKind::Lstm, "LSTM");
}

} // namespace retro::rewrite
