// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/body/recurrentsteps.h"

#include "core/ops/algebra.h"
#include "core/ops/kernel/slices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace retro::rewrite
{

using ops::GateActivation;
using ops::GateFunction;
using ops::RecurrentKind;
using tensor::Tensor;

RecurrentLengths::RecurrentLengths(BodyBuilder& body, const RecurrentSetting& setting)
    : m_body(body), m_runs(static_cast<std::size_t>(setting.steps))
{
    if (body.isGiven(kLengths)) {
        const ValueId wide = body.add("Cast", "lengths wide", {body.operand(kLengths)}, {{"to", std::int64_t{7}}});
        m_lengths = body.reshape("lengths", wide, {setting.batch, 1});
        m_zero = body.number("behind the end", 0);
    }
}

ValueId RecurrentLengths::runs(std::size_t t)
{
    if (!m_runs[t].isValid()) {
        const ValueId step = m_body.ints(fmt::format("step {}", t), {static_cast<std::int64_t>(t)});
        m_runs[t] = m_body.add("Less", fmt::format("step {} runs", t), {step, m_lengths});
    }
    return m_runs[t];
}

ValueId RecurrentLengths::valueOrKept(const std::string& name, std::size_t t, ValueId value, ValueId before)
{
    return m_lengths.isValid() ? m_body.add("Where", name, {runs(t), value, before}) : value;
}

ValueId RecurrentLengths::orZero(const std::string& name, std::size_t t, ValueId value)
{
    return m_lengths.isValid() ? m_body.add("Where", name, {runs(t), value, m_zero}) : value;
}

RecurrentSteps::RecurrentSteps(BodyBuilder& body, const RecurrentSetting& setting, std::size_t direction)
    : m_body(body), m_setting(setting), m_direction(direction),
      m_name(setting.isReverse[direction] ? "backward" : "forward")
{
    switch (setting.kind) {
    case RecurrentKind::Rnn:
        m_candidate = layerOf("state", 0, 1);
        break;
    case RecurrentKind::Gru:
        m_gates = layerOf("gate", 0, 2);
        m_candidate = layerOf("candidate", 2, 3, setting.resetsAfter ? Reads::Input : Reads::Both);
        if (setting.resetsAfter) {
            m_candidateState = layerOf("candidate state", 2, 3, Reads::State);
        }
        break;
    case RecurrentKind::Lstm:
        m_gates = layerOf("gate", 0, setting.isCoupled ? 2 : 3);
        m_candidate = layerOf("candidate", 3, 4);
        m_peepholes = {peephole("input gate", 0), peephole("output gate", 1), peephole("forget gate", 2)};
        break;
    }
}

std::string RecurrentSteps::name(std::size_t t, std::string_view what) const
{
    return fmt::format("{}/{}/{}", m_name, t, what);
}

RecurrentSteps::Layer RecurrentSteps::layerOf(const std::string& name, std::int64_t first, std::int64_t last,
                                              Reads reads)
{
    const std::int64_t begin = first * m_setting.hidden;
    const std::int64_t rows = (last - first) * m_setting.hidden;
    Layer layer;
    layer.weights = weightsOf(fmt::format("{}/{} weights", m_name, name), begin, rows, reads);
    if (m_body.isGiven(kBiases)) {
        layer.bias = biasOf(fmt::format("{}/{} bias", m_name, name), begin, rows, reads);
    }
    return layer;
}

bool RecurrentSteps::areConstant(std::initializer_list<std::size_t> slots) const
{
    return std::ranges::all_of(slots, [&](std::size_t slot) { return m_body.given(slot).constant.isValid(); });
}

/// These rows of a constant operand, in the direction of the steps.
Tensor RecurrentSteps::constantPart(std::size_t slot, std::int64_t begin, std::int64_t count) const
{
    const auto direction = static_cast<std::int64_t>(m_direction);
    const Tensor own = ops::withoutAxis(ops::slice(m_body.given(slot).constant, 0, direction, 1), 0);
    return ops::slice(own, 0, begin, count).contiguous();
}

/// The same of an operand that is computed, by nodes.
ValueId RecurrentSteps::partOf(const std::string& name, std::size_t slot, std::int64_t begin, std::int64_t count)
{
    const Shape& shape = m_body.shapeOf(slot);
    const auto direction = static_cast<std::int64_t>(m_direction);
    const auto cut = [&](const std::string& what, ValueId x, std::int64_t axis, std::int64_t at, std::int64_t extent,
                         std::int64_t all) {
        std::vector<std::int64_t> extents;
        for (const std::int64_t one : {at, extent, all - at - extent}) {
            if (one > 0) {
                extents.push_back(one);
            }
        }
        return extents.size() == 1 ? x : m_body.split(what, x, axis, extents)[at > 0 ? 1 : 0];
    };
    const ValueId own = cut(name + ", directions", m_body.operand(slot), 0, direction, 1, shape[0]);
    const ValueId rows = cut(name + ", rows", own, 1, begin, count, shape[1]);
    Shape flat(shape.begin() + 1, shape.end());
    flat[0] = count;
    return m_body.reshape(name, rows, flat);
}

ValueId RecurrentSteps::weightsOf(const std::string& name, std::int64_t begin, std::int64_t rows, Reads reads)
{
    if (!areConstant({kWeights, kStateWeights})) {
        const auto of = [&](const char* what, std::size_t slot) {
            return partOf(reads == Reads::Both ? name + what : name, slot, begin, rows);
        };
        return reads == Reads::Both    ? beside(name, of(" of the input", kWeights), of(" of the state", kStateWeights))
               : reads == Reads::Input ? of("", kWeights)
                                       : of("", kStateWeights);
    }
    const std::array parts{constantPart(kWeights, begin, rows), constantPart(kStateWeights, begin, rows)};
    const std::array extents{m_setting.inputs, m_setting.hidden};
    const Tensor both = ops::joined({parts[0].dtype(), {rows, m_setting.inputs + m_setting.hidden}}, parts, extents, 1);
    return m_body.constant(name, reads == Reads::Both ? both.contiguous() : parts.at(reads == Reads::Input ? 0 : 1));
}

ValueId RecurrentSteps::biasOf(const std::string& name, std::int64_t begin, std::int64_t rows, Reads reads)
{
    const std::int64_t stateBiases = m_body.shapeOf(kBiases)[1] / 2;
    if (!areConstant({kBiases})) {
        const auto of = [&](const std::string& what, std::int64_t at) { return partOf(what, kBiases, at, rows); };
        return reads == Reads::Both
                   ? m_body.add("Add", name,
                                {of(name + " of the input", begin), of(name + " of the state", stateBiases + begin)})
                   : of(name, reads == Reads::Input ? begin : stateBiases + begin);
    }
    const std::array biases{constantPart(kBiases, begin, rows), constantPart(kBiases, stateBiases + begin, rows)};
    return m_body.constant(name, reads == Reads::Both ? ops::algebra::add(biases[0], biases[1])
                                                      : biases.at(reads == Reads::Input ? 0 : 1));
}

ValueId RecurrentSteps::peephole(const std::string& name, std::int64_t gate)
{
    if (!m_body.isGiven(kPeepholes)) {
        return {};
    }
    const std::string own = fmt::format("{}/{} peephole", m_name, name);
    const std::int64_t h = m_setting.hidden;
    return areConstant({kPeepholes}) ? m_body.constant(own, constantPart(kPeepholes, gate * h, h))
                                     : partOf(own, kPeepholes, gate * h, h);
}

ValueId RecurrentSteps::apply(const std::string& name, const Layer& layer, ValueId x)
{
    std::vector<ValueId> inputs{x, layer.weights};
    if (layer.bias.isValid()) {
        inputs.push_back(layer.bias);
    }
    return m_body.add("Gemm", name, inputs, {{"transB", std::int64_t{1}}});
}

ValueId RecurrentSteps::beside(const std::string& name, ValueId x, ValueId state)
{
    return m_body.add("Concat", name, {x, state}, {{"axis", std::int64_t{1}}});
}

ValueId RecurrentSteps::gated(const std::string& name, ValueId signal, ValueId gate)
{
    return m_body.addOf("retrograde", "Gate", name, {signal, gate});
}

namespace
{

/// Name of the operator that computes an activation, and its attributes; empty where it takes several.
struct Plain
{
    std::string op;
    graph::Attributes attributes;
};

Plain plainOf(const GateActivation& f)
{
    switch (f.function) {
    case GateFunction::Sigmoid:
        return {"Sigmoid", {}};
    case GateFunction::Tanh:
        return {"Tanh", {}};
    case GateFunction::Relu:
        return {"Relu", {}};
    case GateFunction::LeakyRelu:
        return {"LeakyRelu", {{"alpha", f.alpha}}};
    case GateFunction::ThresholdedRelu:
        return {"ThresholdedRelu", {{"alpha", f.alpha}}};
    case GateFunction::HardSigmoid:
        return {"HardSigmoid", {{"alpha", f.alpha}, {"beta", f.beta}}};
    case GateFunction::Elu:
        return {"Elu", {{"alpha", f.alpha}}};
    case GateFunction::Softsign:
        return {"Softsign", {}};
    case GateFunction::Softplus:
        return {"Softplus", {}};
    case GateFunction::Affine:
    case GateFunction::ScaledTanh:
        break;
    }
    return {};
}

} // namespace

ValueId RecurrentSteps::activated(const std::string& name, std::size_t which, ValueId sum)
{
    if (std::isfinite(m_setting.clip)) {
        sum = m_body.add(
            "Clip", name + ", clipped",
            {sum, m_body.number(name + ", least", -m_setting.clip), m_body.number(name + ", most", m_setting.clip)});
    }
    const GateActivation& f = m_setting.activations[m_direction].at(which);
    const Plain plain = plainOf(f);
    if (!plain.op.empty()) {
        return m_body.add(plain.op, name, {sum}, plain.attributes);
    }
    if (f.function == GateFunction::Affine) {
        const ValueId scaled = m_body.add("Mul", name + ", scaled", {sum, m_body.number(name + ", factor", f.alpha)});
        return m_body.add("Add", name, {scaled, m_body.number(name + ", shift", f.beta)});
    }
    const ValueId scaled = m_body.add("Mul", name + ", scaled", {sum, m_body.number(name + ", factor", f.beta)});
    const ValueId bounded = m_body.add("Tanh", name + ", bounded", {scaled});
    return m_body.add("Mul", name, {bounded, m_body.number(name + ", height", f.alpha)});
}

ValueId RecurrentSteps::withPeephole(const std::string& name, ValueId sum, ValueId cell, ValueId weights)
{
    if (!weights.isValid()) {
        return sum;
    }
    return m_body.add("Add", name + " with cell", {sum, m_body.add("Mul", name + " cell", {cell, weights})});
}

RecurrentState RecurrentSteps::step(std::size_t t, ValueId x, const RecurrentState& before)
{
    switch (m_setting.kind) {
    case RecurrentKind::Rnn:
        return rnn(t, x, before);
    case RecurrentKind::Gru:
        return gru(t, x, before);
    case RecurrentKind::Lstm:
        break;
    }
    return lstm(t, x, before);
}

RecurrentState RecurrentSteps::rnn(std::size_t t, ValueId x, const RecurrentState& before)
{
    const ValueId both = beside(name(t, "input and state"), x, before.hidden);
    return {activated(name(t, "new state"), 0, apply(name(t, "sum"), m_candidate, both)), {}};
}

ValueId RecurrentSteps::gruCandidate(std::size_t t, ValueId x, ValueId state, ValueId reset)
{
    if (!m_setting.resetsAfter) {
        const ValueId both = beside(name(t, "input and reset state"), x, gated(name(t, "reset state"), state, reset));
        return apply(name(t, "candidate sum"), m_candidate, both);
    }
    const ValueId own = apply(name(t, "candidate state"), m_candidateState, state);
    const ValueId kept = gated(name(t, "reset state"), own, reset);
    return m_body.add("Add", name(t, "candidate sum"), {apply(name(t, "candidate input"), m_candidate, x), kept});
}

RecurrentState RecurrentSteps::gru(std::size_t t, ValueId x, const RecurrentState& before)
{
    const ValueId both = beside(name(t, "input and state"), x, before.hidden);
    const ValueId gates = activated(name(t, "gates"), 0, apply(name(t, "gate sums"), m_gates, both));
    const std::vector<ValueId> parts =
        m_body.split(name(t, "gate"), gates, 1, {m_setting.hidden, m_setting.hidden}); // update, reset
    const ValueId candidate = activated(name(t, "candidate"), 1, gruCandidate(t, x, before.hidden, parts[1]));
    const ValueId rest = oneLess("update rest", t, parts[0]);
    const ValueId fresh = gated(name(t, "taken candidate"), candidate, rest);
    const ValueId kept = gated(name(t, "kept state"), before.hidden, parts[0]);
    return {m_body.add("Add", name(t, "new state"), {fresh, kept}), {}};
}

ValueId RecurrentSteps::oneLess(const std::string& what, std::size_t t, ValueId gate)
{
    return m_body.add("Sub", name(t, what), {m_body.number(name(t, "one"), 1), gate});
}

RecurrentState RecurrentSteps::lstm(std::size_t t, ValueId x, const RecurrentState& before)
{
    const ValueId both = beside(name(t, "input and state"), x, before.hidden);
    const ValueId sums = apply(name(t, "gate sums"), m_gates, both);
    const std::int64_t h = m_setting.hidden;
    const std::vector<std::int64_t> extents(m_setting.isCoupled ? 2 : 3, h);
    const std::vector<ValueId> parts = m_body.split(name(t, "gate sum"), sums, 1, extents); // input, output, forget
    const auto gate = [&](const char* what, std::size_t i, ValueId cell) {
        return activated(name(t, what), 0, withPeephole(name(t, what) + " sum", parts[i], cell, m_peepholes.at(i)));
    };
    const ValueId in = gate("input gate", 0, before.cell);
    const ValueId forget = m_setting.isCoupled ? oneLess("forget gate", t, in) : gate("forget gate", 2, before.cell);
    const ValueId candidate = activated(name(t, "candidate"), 1, apply(name(t, "candidate sum"), m_candidate, both));
    const ValueId kept = gated(name(t, "kept cell"), before.cell, forget);
    const ValueId cell =
        m_body.add("Add", name(t, "new cell"), {kept, gated(name(t, "taken candidate"), candidate, in)});
    const ValueId out = gate("output gate", 1, cell);
    return {gated(name(t, "new state"), activated(name(t, "cell bounded"), 2, cell), out), cell};
}

} // namespace retro::rewrite
