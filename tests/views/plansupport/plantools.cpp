// SPDX-License-Identifier: Apache-2.0
#include "tests/views/plansupport/plantools.h"

#include "core/analysis/bounds.h"
#include "core/analysis/report.h"

#include <QtGlobal>

#include <map>

namespace retro::tests
{

namespace
{

using analysis::Op;
using analysis::OpId;
using analysis::OpValue;
using analysis::OpValueId;

views::PlanSubjectPointer subjectFrom(std::vector<Op> ops, std::vector<OpValue> values)
{
    auto forward = analysis::OpGraph::make(std::move(ops), std::move(values));
    Q_ASSERT(forward.ok());
    const std::vector<OpId> order(forward->order().begin(), forward->order().end());
    auto joint = analysis::jointGraph(*forward, order);
    Q_ASSERT(joint.ok());
    auto subject = std::make_shared<views::PlanSubject>();
    subject->model = QStringLiteral("test");
    subject->joint = std::move(*joint);
    subject->unit = analysis::CostUnit::Operators;
    subject->storeAllPeak = analysis::storeAllPeak(subject->graph());
    subject->baseCost = analysis::costOfAll(subject->graph());
    return subject;
}

OpValue valueOf(std::string name, std::uint64_t bytes)
{
    OpValue value;
    value.name = std::move(name);
    value.bytes = bytes;
    return value;
}

/// An operator that its gradient reads whole.
Op opOf(std::string name, std::vector<OpValueId> inputs, std::vector<OpValueId> outputs)
{
    Op op;
    op.name = std::move(name);
    op.type = "Op";
    op.inputs = std::move(inputs);
    op.outputs = std::move(outputs);
    op.savedInputs = op.inputs;
    op.savedOutputs = op.outputs;
    op.cost = 10;
    op.flops = 10;
    return op;
}

std::string numbered(std::string name, std::size_t number)
{
    name += std::to_string(number);
    return name;
}

/// A graph input: there from the start.
Op sourceOf(std::string name, OpValueId output)
{
    Op op = opOf(std::move(name), {}, {output});
    op.phase = analysis::Phase::Source;
    op.cost = 0;
    return op;
}

} // namespace

views::PlanSubjectPointer chainSubject(std::size_t operators, std::uint64_t bytes)
{
    std::vector<OpValue> values{valueOf("x", bytes)};
    values.front().isPinned = true;
    std::vector<Op> ops{sourceOf("x", 0)};
    for (std::size_t i = 0; i < operators; ++i) {
        const auto id = static_cast<OpValueId>(values.size());
        values.push_back(valueOf(numbered("v", i), bytes));
        std::vector<OpValueId> inputs{id - 1};
        if (i >= 2) {
            inputs.push_back(id - 2);
        }
        ops.push_back(opOf(numbered("op", i), inputs, {id}));
    }
    values.back().isOutput = true;
    return subjectFrom(std::move(ops), std::move(values));
}

views::PlanSubjectPointer subjectOfGraph(const graph::Graph& graph)
{
    std::vector<OpValue> values;
    std::vector<Op> ops;
    std::map<std::uint32_t, OpValueId> ids;
    const auto add = [&](base::ValueId value) {
        const auto id = static_cast<OpValueId>(values.size());
        ids[value.value] = id;
        values.push_back(valueOf(graph.value(value).name, 1000));
        return id;
    };
    for (const base::ValueId input : graph.inputs()) {
        const OpValueId id = add(input);
        values[id].isPinned = true;
        ops.push_back(sourceOf(graph.value(input).name, id));
    }
    for (std::uint32_t node = 0; node < graph.nodeCount(); ++node) {
        std::vector<OpValueId> inputs;
        for (const base::ValueId input : graph.node(base::NodeId(node)).inputs) {
            if (input.isValid() && ids.contains(input.value)) {
                inputs.push_back(ids[input.value]);
            }
        }
        std::vector<OpValueId> outputs;
        for (const base::ValueId output : graph.node(base::NodeId(node)).outputs) {
            outputs.push_back(add(output));
        }
        ops.push_back(opOf(graph.node(base::NodeId(node)).name, inputs, outputs));
    }
    for (const base::ValueId output : graph.outputs()) {
        values[ids[output.value]].isOutput = true;
    }
    return subjectFrom(std::move(ops), std::move(values));
}

views::ShownPlanPointer planFor(const views::PlanSubjectPointer& subject, const views::PlanQuestion& question)
{
    schedule::PlanRequest request;
    request.graph = &subject->graph();
    request.budget = question.budget;
    request.choices = question.choices;
    request.blocks = question.blocks;
    request.seconds = 1;
    auto result = schedule::planWith(question.strategy, request);
    return result && result->plan ? views::shownPlan(subject, question, *std::move(result)) : nullptr;
}

void answerQuestions(views::PlanModel& plan)
{
    QObject::connect(&plan, &views::PlanModel::planWanted, &plan, [&plan] {
        const views::ShownPlanPointer answer = planFor(plan.subject(), plan.question());
        if (answer) {
            plan.takePlan(answer);
        } else {
            plan.takeRefusal(QStringLiteral("No plan fits."), QStringLiteral("Allow more."));
        }
    });
}

} // namespace retro::tests
