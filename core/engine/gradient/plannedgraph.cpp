// SPDX-License-Identifier: Apache-2.0
#include "core/engine/gradient/plannedgraph.h"

#include "core/engine/gradient/writtenparts.h"
#include "core/engine/model/changedgraph.h"
#include "core/engine/plan/planning.h"
#include "core/execute/reachedvalues.h"
#include "core/graph/dimensions.h"
#include "core/graph/reach.h"
#include "core/ops/layerkind.h"
#include "core/ops/numbertypes.h"
#include "core/runtime/reversehalf.h"
#include "core/schedule/simulator.h"
#include "core/tape/gradientgraph/applicable.h"
#include "core/tape/gradientgraph/olderform.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace retro::engine
{

using base::NodeId;
using base::Result;
using base::ValueId;
using graph::dimensionsOf;

namespace
{

/// Writes the steps of a plan as nodes. Ids of two graphs are used: those of the model, and those of the graph that is
/// written.
class PlannedWriter
{
public:
    PlannedWriter(const runtime::JointProgram& program, const GraphPlan& plan, ValueId target,
                  const WrittenParts& parts)
        : m_program(program), m_plan(plan.chosen.plan), m_packed(plan.packed), m_model(program.model()),
          m_graph(m_model.graph()), m_target(target), m_parts(parts), m_builder(m_graph.name() + "-gradient"),
          m_types(ops::numberTypes(m_graph)), m_emit(m_builder, m_graph.opset(), m_types[target.index()]),
          m_copy(m_graph.valueCount()), m_first(m_graph.valueCount()), m_runs(m_graph.valueCount(), 0),
          m_gradient(m_graph.valueCount())
    {}

    Result<tape::GradientGraph> write()
    {
        m_builder.setOpsets(m_graph);
        addInputs();
        setStep("-1");
        for (const NodeId node : m_program.constantNodes()) {
            runForward(node);
        }
        for (std::size_t i = 0; i < m_plan.steps.size(); ++i) {
            const schedule::Step& step = m_plan.steps[i];
            if (step.kind != schedule::StepKind::Compute) {
                continue;
            }
            setStep(std::to_string(i));
            if (m_program.isForward(step.id)) {
                runForward(m_program.nodeOf(step.id));
            } else {
                RETRO_CHECK(runGradient(m_program.valueOf(m_program.graph().op(step.id).outputs.front())));
            }
        }
        addOutputs();
        if (m_made.gradients.empty()) {
            return base::usageError("no gradient reaches a floating input of the model; choose another target");
        }
        RETRO_TRY(graph::Graph built, std::move(m_builder).build());
        m_made.graph = std::make_shared<const graph::Graph>(std::move(built));
        return std::move(m_made);
    }

private:
    void setStep(const std::string& step)
    {
        m_step = {{kStepKey, step}};
        m_emit.setMetadata(m_step);
    }

    std::string unused(std::string name) const
    {
        while (m_builder.find(name) || m_graph.findValue(name)) {
            name += "~";
        }
        return name;
    }

    [[nodiscard]] tensor::DType writtenType(ValueId value) const
    {
        const tensor::DType dtype = m_model.typeOf(value).dtype;
        return tensor::isFloating(dtype) ? m_types[value.index()] : dtype;
    }

    void addInputs()
    {
        for (const ValueId input : m_graph.inputs()) {
            m_copy[input.index()] =
                m_builder.addInput(m_graph.value(input).name, writtenType(input), m_model.typeOf(input).shape);
            m_first[input.index()] = m_copy[input.index()];
            m_known.insert(m_copy[input.index()]);
        }
        m_made.seed = unused(m_graph.value(m_target).name + "_gradient");
        m_seed = m_builder.addInput(m_made.seed, m_types[m_target.index()], m_model.typeOf(m_target).shape);
        m_known.insert(m_seed);
    }

    /// A forward value as it is in memory now.
    ValueId forward(ValueId value)
    {
        if (!value.isValid()) {
            return {};
        }
        ValueId& copy = m_copy[value.index()];
        const graph::Value& known = m_graph.value(value);
        if (!copy.isValid() && known.kind == graph::ValueKind::Constant) {
            const bool isFloat = tensor::isFloating(known.constant.dtype()); // computed ones may hold more digits
            copy = m_builder.addConstant(known.name, isFloat ? known.constant.to(known.dtype) : known.constant);
            m_first[value.index()] = copy;
            m_known.insert(copy);
        }
        return copy;
    }

    void runForward(NodeId id)
    {
        graph::Node node = m_graph.node(id);
        std::size_t run = 0;
        for (const ValueId output : node.outputs) {
            run = output.isValid() ? ++m_runs[output.index()] : run;
        }
        const std::string again = run > 1 ? fmt::format("~{}", run) : std::string();
        tape::settleOpset(node, m_graph.opset(), m_model);
        for (ValueId& input : node.inputs) {
            input = forward(input);
        }
        const std::vector<ValueId>& made = m_graph.node(id).outputs;
        for (std::size_t k = 0; k < node.outputs.size() && k < made.size(); ++k) {
            node.outputs[k] = made[k].isValid() ? addResult(made[k], again) : ValueId();
        }
        node.name = again.empty() ? node.name : node.name + again;
        node.metadata.insert(m_step.begin(), m_step.end());
        node.metadata[kStepKey] = m_step[kStepKey];
        m_builder.addNode(std::move(node));
        for (const ValueId output : made) {
            if (output.isValid() && run == 1 && m_packed.contains(output)) {
                pack(output);
            }
        }
    }

    /// What the rules that read a value look at.
    void pack(ValueId value)
    {
        const ValueId copy = m_copy[value.index()];
        m_emit.setFloatType(m_types[value.index()]);
        m_signs[value] = m_emit.node("Greater", {copy, m_emit.scalar(0)});
        m_builder.declare(m_signs[value], tensor::DType::Bool, dimensionsOf(m_model.typeOf(value).shape));
        m_known.insert(m_signs[value]);
        for (const graph::Use& use : m_graph.uses(value)) {
            const graph::Node& reader = m_graph.node(use.node);
            if (ops::isMaxPool(reader)) {
                const ValueId winners = m_emit.node("MaxPool", {copy}, reader.attributes, 2)[1];
                m_builder.declare(winners, tensor::DType::Int64,
                                  dimensionsOf(m_model.typeOf(reader.outputs.front()).shape));
                m_winners[use.node] = winners;
                m_known.insert(winners);
            }
        }
    }

    /// What a rule is given for a forward value: of a packed one 1 where it is above zero, else 0.
    ValueId forwardForRule(ValueId value)
    {
        const auto signs = value.isValid() ? m_signs.find(value) : m_signs.end();
        if (signs == m_signs.end()) {
            return forward(value);
        }
        return m_emit.node("Cast", {signs->second}, {{"to", ops::onnxOf(m_types[value.index()])}});
    }

    ValueId addResult(ValueId value, const std::string& again)
    {
        const graph::Value& source = m_graph.value(value);
        const std::string name = again.empty() ? source.name : unused(source.name + again);
        const ValueId id = m_builder.addResult(name);
        m_builder.declare(id, writtenType(value), dimensionsOf(m_model.typeOf(value).shape));
        m_copy[value.index()] = id;
        if (!m_first[value.index()].isValid()) {
            m_first[value.index()] = id;
        }
        m_known.insert(id);
        return id;
    }

    /// What the tape adds, in its order: what starts here, then the part of each reader, the last one first.
    Result<void> runGradient(ValueId value)
    {
        ValueId sum;
        const auto add = [&](ValueId part) { sum = sum.isValid() ? m_emit.node("Add", {sum, part}) : part; };
        if (m_program.startsAt(value)) { // in the shape of the target, which the plan keeps until here
            add(m_emit.node("Expand", {m_seed, m_emit.node("Shape", {forward(value)})}));
        }
        for (const std::vector<runtime::Part>& group : runtime::gradientParts(m_model, value)) {
            RETRO_TRY(const ValueId part, partOf(group));
            if (part.isValid()) {
                add(part);
            }
        }
        if (!sum.isValid()) {
            return {};
        }
        if (m_graph.inputNode(value).isValid()) {
            const std::string name = unused(m_graph.value(value).name + "_gradient");
            const ValueId output = m_builder.addResult(name);
            m_builder.declare(output, m_types[value.index()], dimensionsOf(m_model.typeOf(value).shape));
            m_emit.named("Identity", {sum}, output);
            m_named[value] = {name, output};
            sum = output;
        } else if (m_known.contains(sum)) { // the step has a result of its own
            sum = m_emit.node("Identity", {sum});
        }
        m_builder.declare(sum, m_types[value.index()], dimensionsOf(m_model.typeOf(value).shape));
        m_known.insert(sum);
        m_gradient[value.index()] = sum;
        return {};
    }

    /// What one reader gives a value: the parts of its operand slots, added. Invalid where it gives none.
    Result<ValueId> partOf(const std::vector<runtime::Part>& group)
    {
        const NodeId reader = group.front().reader;
        const graph::Node& node = m_graph.node(reader);
        tape::EmitValues values = m_parts.valuesOf(reader, group);
        for (const ValueId output : node.outputs) {
            values.upstream.push_back(output.isValid() ? m_gradient[output.index()] : ValueId());
        }
        for (const ValueId operand : node.inputs) {
            values.operands.push_back(forwardForRule(operand));
        }
        for (const ValueId output : node.outputs) {
            values.outputs.push_back(forwardForRule(output));
        }
        const auto winners = m_winners.find(reader);
        values.winners = winners == m_winners.end() ? ValueId() : winners->second;
        return m_parts.emit(m_emit, reader, std::move(values));
    }

    void addOutputs()
    {
        for (const ValueId output : m_graph.outputs()) {
            const ValueId first = m_first[output.index()].isValid() ? m_first[output.index()] : forward(output);
            if (m_graph.value(output).kind == graph::ValueKind::Result) { // ONNX wants to know what comes out
                m_builder.declare(first, writtenType(output), dimensionsOf(m_model.typeOf(output).shape));
            }
            m_builder.addOutput(first);
        }
        for (const ValueId input : m_graph.inputs()) {
            const auto named = m_named.find(input);
            if (named != m_named.end()) {
                m_builder.addOutput(named->second.second);
                m_made.gradients.push_back(named->second.first);
            }
        }
    }

    const runtime::JointProgram& m_program;
    const schedule::Plan& m_plan;
    const std::set<ValueId>& m_packed;
    const execute::BoundModel& m_model;
    const graph::Graph& m_graph;
    ValueId m_target;
    const WrittenParts& m_parts;
    graph::GraphBuilder m_builder;
    std::vector<tensor::DType> m_types; ///< by value of the model, as another runtime has them
    tape::Emitter m_emit;
    std::map<std::string, std::string> m_step;
    ValueId m_seed;
    std::vector<ValueId> m_copy;     ///< by value of the model: what was made last
    std::vector<ValueId> m_first;    ///< the same, made first
    std::vector<std::size_t> m_runs; ///< by value of the model: how often it was made
    std::vector<ValueId> m_gradient; ///< by value of the model; invalid where nothing arrives
    std::set<ValueId> m_known;       ///< results of steps, inputs and constants
    std::map<ValueId, std::pair<std::string, ValueId>> m_named; ///< gradients of inputs
    std::map<ValueId, ValueId> m_signs;                         ///< of packed values: which elements are above zero
    std::map<NodeId, ValueId> m_winners;                        ///< of poolings of packed values
    tape::GradientGraph m_made;
};

/// Without what rules wrote for operands that nobody wants: they write for all together. The nodes of the model stay,
/// as the plan runs them.
Result<std::shared_ptr<const graph::Graph>> withoutUnused(const graph::Graph& written, const graph::Graph& model)
{
    const std::vector<bool> isNeeded = graph::ancestorsOf(written, written.outputs()).nodes;
    GraphChanges changes;
    changes.keptNodes.emplace(written.nodeCount());
    for (std::size_t i = 0; i < written.nodeCount(); ++i) {
        const std::string& name = written.node(NodeId(i)).name;
        (*changes.keptNodes)[i] = isNeeded[i] || model.findNode(name.substr(0, name.rfind('~')));
    }
    return changedGraph(written, changes);
}

Result<void> checkPlan(const runtime::JointProgram& program, const schedule::Plan& plan)
{
    const auto moves = [](const schedule::Step& step) {
        return step.kind == schedule::StepKind::Offload || step.kind == schedule::StepKind::Prefetch;
    };
    if (std::ranges::any_of(plan.steps, moves)) {
        return base::usageError("the plan moves values to a tier, which a graph cannot say; plan without --tier",
                                "--graph-out");
    }
    const schedule::Simulation judged = schedule::simulate(program.graph(), plan);
    return judged.ok() ? Result<void>() : base::inputError("the plan fails: " + judged.error->text, "--plan");
}

std::int64_t stepOf(const graph::Node& node)
{
    const auto at = node.metadata.find(kStepKey);
    return at == node.metadata.end() ? -1 : std::stoll(at->second);
}

/// The step of the first gradient.
std::int64_t turnOf(const PlannedGradientGraph& made)
{
    std::int64_t turn = 0;
    for (const schedule::Step& step : made.chosen.plan.steps) {
        if (step.kind == schedule::StepKind::Compute && !made.program->isForward(step.id)) {
            break;
        }
        ++turn;
    }
    return turn;
}

/// A value that nodes before the turn read or make.
bool isBefore(const graph::Graph& joint, ValueId value, const std::vector<bool>& isNodeBefore)
{
    const NodeId maker = joint.nodeOf(value);
    return (maker.isValid() && (joint.isInput(maker) || isNodeBefore[maker.index()])) ||
           std::ranges::any_of(joint.uses(value),
                               [&](const graph::Use& use) { return isNodeBefore[use.node.index()]; });
}

/// What is there before the turn and is read behind it, in the order of its readers.
std::vector<ValueId> crossingAt(std::int64_t turn, const graph::Graph& joint, const std::string& seed)
{
    std::vector<bool> isBefore(joint.valueCount(), false); // made before the turn
    for (const ValueId input : joint.inputs()) {
        isBefore[input.index()] = joint.value(input).name != seed;
    }
    std::vector<ValueId> crossing;
    std::set<ValueId> found;
    for (const graph::Node& node : joint.nodes()) {
        const bool isForward = stepOf(node) < turn;
        for (const ValueId input : node.inputs) {
            if (!isForward && input.isValid() && isBefore[input.index()] && found.insert(input).second) {
                crossing.push_back(input);
            }
        }
        for (const ValueId output : node.outputs) {
            if (output.isValid()) {
                isBefore[output.index()] = isForward;
            }
        }
    }
    return crossing;
}

} // namespace

Result<PlannedGradientGraph> plannedGradientGraph(const std::shared_ptr<const execute::BoundModel>& model,
                                                  ValueId target, std::span<const ValueId> from,
                                                  const ChooseForGraph& choose)
{
    if (!tape::isGradientOpset(*model)) {
        return base::inputError(fmt::format("gradient graphs are written in operator set {} or later; convert the "
                                            "model to a newer opset",
                                            tape::kLeastGradientOpset));
    }
    const PassSubject subject = PassSubject::gradient(model, {target}, from);
    if (!subject.carries(target)) {
        return base::usageError(fmt::format("the target \"{}\" does not depend on a floating input that gets a "
                                            "gradient, by operators that pass one; choose another target",
                                            model->graph().value(target).name));
    }
    const WrittenParts parts(subject);
    std::optional<base::Error> error;
    const auto more = [&](NodeId node, ValueId operand) {
        Result<ops::Reads> reads = parts.reads(node, operand);
        if (!reads.ok() && !error) {
            error = reads.error();
        }
        return reads.ok() ? *reads : ops::Reads();
    };
    RETRO_TRY(const analysis::PlanningGraph planning, planningGraphOf(subject, more));
    if (error) {
        return *error;
    }
    RETRO_TRY(runtime::JointProgram program,
              runtime::JointProgram::make(model, planning, planning.graph.order(),
                                          jointOptions(analysis::JointKind::Gradient, planning.unit)));
    PlannedGradientGraph made;
    made.program = std::make_shared<const runtime::JointProgram>(std::move(program));
    RETRO_TRY(GraphPlan plan, choose(*made.program));
    RETRO_CHECK(checkPlan(*made.program, plan.chosen.plan));
    RETRO_TRY(made.gradient, PlannedWriter(*made.program, plan, target, parts).write());
    made.chosen = std::move(plan.chosen);
    RETRO_TRY(made.gradient.graph, withoutUnused(*made.gradient.graph, model->graph()));
    return made;
}

Result<SplitGradientGraph> splitAtTurn(const PlannedGradientGraph& made)
{
    const graph::Graph& joint = *made.gradient.graph;
    const std::int64_t turn = turnOf(made);
    const std::vector<ValueId> crossing = crossingAt(turn, joint, made.gradient.seed);
    GraphChanges before;
    GraphChanges behind;
    before.name = made.program->model().graph().name();
    before.outputs.emplace();
    behind.outputs.emplace();
    before.ownInputs.emplace();
    behind.ownInputs.emplace();
    for (const ValueId input : joint.inputs()) {
        (joint.value(input).name == made.gradient.seed ? behind : before).ownInputs->push_back(input);
    }
    before.keptNodes.emplace();
    behind.keptNodes.emplace();
    for (const graph::Node& node : joint.nodes()) {
        before.keptNodes->push_back(stepOf(node) < turn);
        behind.keptNodes->push_back(stepOf(node) >= turn);
    }
    const std::set<std::string> gradients(made.gradient.gradients.begin(), made.gradient.gradients.end());
    std::set<ValueId> given;
    for (const ValueId output : joint.outputs()) {
        if (gradients.contains(joint.value(output).name)) {
            behind.outputs->push_back(output);
        } else if (isBefore(joint, output, *before.keptNodes) && given.insert(output).second) {
            before.outputs->push_back(output);
        }
    }
    SplitGradientGraph split;
    split.gradient = made.gradient;
    for (const ValueId value : crossing) {
        const graph::Value& known = joint.value(value);
        if (known.kind == graph::ValueKind::Result && given.insert(value).second) {
            before.outputs->push_back(value);
        }
        behind.inputs.push_back({value, known.dtype, known.shape});
        split.gradient.forwarded.push_back(known.name);
    }
    RETRO_TRY(split.forward, changedGraph(joint, before));
    RETRO_TRY(split.gradient.graph, changedGraph(joint, behind));
    return split;
}

} // namespace retro::engine
