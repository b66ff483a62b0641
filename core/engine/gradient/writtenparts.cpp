// SPDX-License-Identifier: Apache-2.0
#include "core/engine/gradient/writtenparts.h"

#include "core/graph/graphbuilder.h"
#include "core/graph/reach.h"
#include "core/ops/numbertypes.h"
#include "core/ops/structure.h"

#include <algorithm>
#include <set>

namespace retro::engine
{

using base::NodeId;
using base::Result;
using base::ValueId;
using tape::EmitRule;
using tape::EmitSite;
using tape::EmitValues;

namespace
{

bool isWanted(const EmitValues& values) { return std::ranges::find(values.wanted, 1) != values.wanted.end(); }

/// A graph that a rule is written into to see what it reads.
struct Trial
{
    graph::GraphBuilder builder{"trial"};
    std::vector<ValueId> operands; ///< per slot
    std::vector<ValueId> outputs;

    ValueId input(const std::string& name, const ops::TensorType& type)
    {
        return builder.addInput(name, type.dtype, type.shape);
    }
};

/// Inputs of a graph that its output depends on.
std::set<std::string> namesNeeded(const graph::Graph& graph)
{
    const std::vector<bool> isNeeded = graph::ancestorsOf(graph, graph.outputs()).values;
    std::set<std::string> names;
    for (const ValueId input : graph.inputs()) {
        if (isNeeded[input.index()]) {
            names.insert(graph.value(input).name);
        }
    }
    return names;
}

/// Makes inputs of the trial for the operands and results of a node, and for what arrives at its results.
void giveInputs(Trial& trial, const PassSubject& subject, const graph::Node& node, EmitValues& values)
{
    const execute::BoundModel& model = subject.model();
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        values.operands.push_back(
            node.inputs[i].isValid() ? trial.input(fmt::format("x{}", i), model.typeOf(node.inputs[i])) : ValueId());
    }
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
        const bool isThere = node.outputs[k].isValid();
        const ops::TensorType type = isThere ? model.typeOf(node.outputs[k]) : ops::TensorType();
        values.outputs.push_back(isThere ? trial.input(fmt::format("y{}", k), type) : ValueId());
        const bool arrives = isThere && subject.carries(node.outputs[k]);
        values.upstream.push_back(arrives ? trial.input(fmt::format("up{}", k), type) : ValueId());
    }
}

/// By the names that giveInputs gave.
ops::Reads readsByName(const graph::Node& node, const std::set<std::string>& needed)
{
    ops::Reads reads;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        reads.operands |= needed.contains(fmt::format("x{}", i)) ? ops::Reads::bit(i) : 0;
    }
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
        reads.outputs |= needed.contains(fmt::format("y{}", k)) ? ops::Reads::bit(k) : 0;
    }
    return reads;
}

} // namespace

WrittenParts::WrittenParts(const PassSubject& subject)
    : m_subject(subject), m_types(ops::numberTypes(subject.model().graph()))
{}

EmitValues WrittenParts::valuesOf(NodeId reader, const std::vector<runtime::Part>& group) const
{
    const graph::Node& node = m_subject.model().graph().node(reader);
    EmitValues values;
    values.wanted.assign(node.inputs.size(), 0);
    for (const runtime::Part& part : group) {
        values.wanted[part.slot] = m_subject.carries(node.inputs[part.slot]) ? 1 : 0;
    }
    for (const ValueId operand : node.inputs) {
        values.types.push_back(operand.isValid() ? m_types[operand.index()] : tensor::DType::Float32);
    }
    return values;
}

Result<graph::ValueId> WrittenParts::emit(tape::Emitter& emitter, NodeId reader, EmitValues values) const
{
    const execute::BoundModel& model = m_subject.model();
    const graph::Node& node = model.graph().node(reader);
    const bool arrives = std::ranges::any_of(values.upstream, &ValueId::isValid);
    if (!arrives || !isWanted(values) || model.op(reader).structure().kind() == ops::StructureKind::NoRelevance) {
        return graph::ValueId();
    }
    RETRO_TRY(const EmitRule* rule, tape::emitRuleFor(EmitSite(emitter, model, node, values)));
    for (std::size_t slot = rule->firstWithout; slot < values.wanted.size(); ++slot) {
        values.wanted[slot] = 0;
    }
    if (!isWanted(values)) {
        return graph::ValueId();
    }
    if (node.op == "Relu" && node.domain.empty()) { // what is kept is the result, which is positive where x is
        values.operands[0] = values.outputs[0];
    }
    const auto made = std::ranges::find_if(node.outputs, &ValueId::isValid);
    emitter.setFloatType(m_types[made->index()]);
    RETRO_TRY(EmitSite site, EmitSite::make(emitter, model, reader, std::move(values)));
    RETRO_TRY(const tape::EmitResult result, tape::resultOf(site, rule->emit(site)));
    graph::ValueId sum;
    for (const auto& [slot, part] : result.wrote) {
        sum = sum.isValid() ? emitter.node("Add", {sum, part}) : part;
    }
    return sum;
}

Result<ops::Reads> WrittenParts::reads(NodeId reader, ValueId operand) const
{
    const execute::BoundModel& model = m_subject.model();
    const graph::Node& node = model.graph().node(reader);
    Trial trial;
    trial.builder.setOpsets(model.graph());
    std::vector<runtime::Part> group;
    for (std::uint32_t slot = 0; slot < node.inputs.size(); ++slot) {
        if (node.inputs[slot] == operand) {
            group.push_back({reader, slot});
        }
    }
    EmitValues values = valuesOf(reader, group);
    giveInputs(trial, m_subject, node, values);
    const auto made = std::ranges::find_if(node.outputs, &ValueId::isValid);
    tape::Emitter emitter(trial.builder, model.graph().opset(), m_types[made->index()]);
    RETRO_TRY(const ValueId part, emit(emitter, reader, std::move(values)));
    if (!part.isValid()) {
        return ops::Reads();
    }
    trial.builder.addOutput(part);
    RETRO_TRY(const graph::Graph built, std::move(trial.builder).build());
    return readsByName(node, namesNeeded(built));
}

} // namespace retro::engine
