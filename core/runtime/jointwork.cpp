// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/jointwork.h"

#include "core/execute/runnode.h"
#include "core/ops/algebra.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::runtime
{

using base::Result;

namespace
{

void addTo(Tensor& sum, const Tensor& part)
{
    if (part.isValid()) {
        sum = sum.isValid() ? ops::algebra::add(sum, part) : part;
    }
}

std::vector<std::uint8_t> slotsOf(const std::vector<Part>& group, std::size_t operandCount)
{
    std::vector<std::uint8_t> wanted(operandCount, 0);
    for (const Part& part : group) {
        wanted[part.slot] = 1;
    }
    return wanted;
}

bool isStart(const std::vector<Part>& group) { return !group.front().reader.isValid(); }

bool isRead(const analysis::OpGraph& graph, OpId op, OpValueId id)
{
    return id != kNone && std::ranges::find(graph.reads(op), id) != graph.reads(op).end();
}

} // namespace

Result<JointWork> JointWork::make(const JointProgram& program, std::span<const Tensor> inputs, const ReverseHalf& half)
{
    JointWork work(program, inputs, half);
    const BoundModel& model = program.model();
    work.m_constants.resize(model.graph().valueCount());
    for (const NodeId node : program.constantNodes()) {
        RETRO_TRY(
            const std::vector<Tensor> results,
            execute::runNode(
                model, node, [&](ValueId value) { return work.m_constants[value.index()]; }, execute::RunKind::Aside));
        const std::vector<ValueId>& outputs = model.graph().node(node).outputs;
        for (std::size_t k = 0; k < std::min(results.size(), outputs.size()); ++k) {
            if (outputs[k].isValid()) {
                work.m_constants[outputs[k].index()] = results[k];
            }
        }
    }
    return work;
}

Result<JointWork::Outcome> JointWork::run(OpId op, const Operands& operands, bool isRepeat)
{
    return m_program.isForward(op) ? runForward(op, operands, isRepeat) : runGradient(op, operands);
}

/// Constants, inputs and what follows from constants; invalid for what a plan makes.
Tensor JointWork::known(ValueId value) const
{
    const BoundModel& model = m_program.model();
    if (model.isConstant(value)) {
        return model.constant(value);
    }
    const NodeId input = model.graph().inputNode(value);
    return input.isValid() ? m_inputs[input.index() - model.graph().nodeCount()] : m_constants[value.index()];
}

Tensor JointWork::forwardValue(OpId op, ValueId value, const Operands& operands) const
{
    const Tensor at = known(value);
    const OpValueId id = m_program.idOf(value);
    return at.isValid() || !isRead(m_program.graph(), op, id) ? at : operands(id);
}

Result<JointWork::Outcome> JointWork::runForward(OpId op, const Operands& operands, bool isRepeat) const
{
    const NodeId node = m_program.nodeOf(op);
    const std::vector<ValueId>& outputs = m_program.model().graph().node(node).outputs;
    RETRO_TRY(const std::vector<Tensor> results,
              execute::runNode(
                  m_program.model(), node, [&](ValueId value) { return forwardValue(op, value, operands); },
                  isRepeat ? execute::RunKind::Again : execute::RunKind::First));
    Outcome outcome;
    outcome.flops = m_program.model().op(node).flops();
    for (std::size_t k = 0; k < outputs.size(); ++k) {
        if (outputs[k].isValid()) {
            outcome.outputs.push_back(k < results.size() ? results[k] : Tensor());
        }
    }
    return outcome;
}

Tensor JointWork::upstreamOf(OpId op, ValueId value, const Operands& operands) const
{
    const OpValueId id = value.isValid() ? m_program.gradientOf(value) : kNone;
    return isRead(m_program.graph(), op, id) && m_isNothing[id] == 0 ? operands(id) : Tensor();
}

/// A gradient at which nothing arrives.
Tensor JointWork::zerosFor(OpValueId gradient) const
{
    const ops::TensorType& type = m_program.model().typeOf(m_program.valueOf(gradient));
    const tensor::DType dtype =
        tensor::isFloating(type.dtype) ? type.dtype : execute::dtypeOf(m_program.model().precision());
    return Tensor::zeros(dtype, type.shape);
}

Result<Tensor> JointWork::groupOf(OpId op, const std::vector<Part>& group, const Operands& operands,
                                  double& flops) const
{
    const BoundModel& model = m_program.model();
    const NodeId reader = group.front().reader;
    const graph::Node& node = model.graph().node(reader);
    const std::size_t count = std::min(node.outputs.size(), model.op(reader).outputTypes().size());
    if (m_half.givesZeros && m_half.givesZeros(reader)) {
        return zerosFor(m_program.graph().op(op).outputs.front());
    }
    std::vector<Tensor> upstream(model.op(reader).outputTypes().size());
    std::vector<Tensor> outputs(upstream.size());
    for (std::size_t k = 0; k < count; ++k) {
        upstream[k] = upstreamOf(op, node.outputs[k], operands);
        outputs[k] = node.outputs[k].isValid() ? forwardValue(op, node.outputs[k], operands) : Tensor();
    }
    if (std::ranges::none_of(upstream, [](const Tensor& one) { return one.isValid(); })) {
        return Tensor();
    }
    std::vector<Tensor> bySlot(node.inputs.size());
    for (std::size_t slot = 0; slot < bySlot.size(); ++slot) {
        bySlot[slot] = node.inputs[slot].isValid() ? forwardValue(op, node.inputs[slot], operands) : Tensor();
    }
    const std::vector<std::uint8_t> wanted = m_half.wantedOf ? m_half.wantedOf(reader) : slotsOf(group, bySlot.size());
    RETRO_TRY(const std::vector<Tensor> parts, m_half.rule({reader, bySlot, outputs, upstream, wanted}));
    flops += model.op(reader).flops();
    Tensor sum;
    for (const Part& part : group) {
        addTo(sum, part.slot < parts.size() ? parts[part.slot] : Tensor());
    }
    return sum;
}

Result<JointWork::Outcome> JointWork::runGradient(OpId op, const Operands& operands)
{
    const OpValueId id = m_program.graph().op(op).outputs.front();
    const ValueId value = m_program.valueOf(id);
    Outcome outcome;
    Tensor sum;
    PartGroups groups = m_half.partsOf(value);
    if (m_program.startsAt(value) && std::ranges::none_of(groups, isStart)) {
        groups.insert(groups.begin(), std::vector<Part>{Part()});
    }
    for (const std::vector<Part>& group : groups) {
        RETRO_TRY(const Tensor part, isStart(group) ? m_half.startAt(value, forwardValue(op, value, operands))
                                                    : groupOf(op, group, operands, outcome.flops));
        addTo(sum, part);
    }
    m_isNothing[id] = sum.isValid() ? 0 : 1;
    outcome.outputs.push_back(sum.isValid() ? std::move(sum) : zerosFor(id));
    return outcome;
}

} // namespace retro::runtime
