// SPDX-License-Identifier: Apache-2.0
#include "core/engine/gradient/rules.h"

#include "core/execute/constantvalue.h"
#include "core/rewrite/body/functionbody.h"

#include <algorithm>

namespace retro::engine
{

namespace
{

/// True when everything that somebody reads of a node is made by its steps, none of which holds gradients back.
bool makesAll(const graph::Graph& graph, const graph::Node& node, const rewrite::FunctionBody& body)
{
    const auto holdsBack = [](const graph::Node& inner) {
        return inner.domain == "retrograde" && inner.op == "Detach";
    };
    if (std::ranges::any_of(body.graph->nodes(), holdsBack)) {
        return false;
    }
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
        const base::ValueId output = node.outputs[k];
        const bool isRead = output.isValid() && (!graph.uses(output).empty() ||
                                                 std::ranges::find(graph.outputs(), output) != graph.outputs().end());
        if (isRead && std::ranges::find(body.results, k) == body.results.end()) {
            return false;
        }
    }
    return true;
}

/// An operator of many steps has the rules of its steps where it can be written out.
void askSteps(const execute::BoundModel& model, const graph::Node& node, NodeRules& rules)
{
    std::vector<rewrite::BodyOperand> operands(node.inputs.size());
    for (std::size_t slot = 0; slot < operands.size(); ++slot) {
        const base::ValueId value = node.inputs[slot];
        operands[slot].isGiven = value.isValid();
        if (value.isValid()) {
            operands[slot].type = model.typeOf(value);
            if (!model.isTracked(value)) { // else it depends on an input
                operands[slot].constant = execute::constantValue(model, value);
            }
        }
    }
    const base::Result<rewrite::FunctionBody> body = rewrite::functionBody(node, operands);
    if (!body.ok()) {
        rules.asGraph.reason += "; it is not written out in steps either: " + body.error().message;
    } else if (makesAll(model.graph(), node, *body)) {
        rules.isInSteps = true;
        rules.asGraph = {true, {}};
    }
}

NodeRules rulesOf(const execute::BoundModel& model, base::NodeId id)
{
    const ops::StructureKind kind = model.op(id).structure().kind();
    NodeRules rules;
    rules.node = id;
    rules.type = std::string(ops::nameOf(kind));
    const bool hasTracked = std::ranges::any_of(model.graph().node(id).inputs, [&](base::ValueId operand) {
        return operand.isValid() && model.isTracked(operand) && tensor::isFloating(model.typeOf(operand).dtype);
    });
    rules.passesGradient = hasTracked && kind != ops::StructureKind::NoRelevance;
    rules.onTape.isApplicable = rules.passesGradient;
    if (!hasTracked) {
        rules.onTape.reason = "no operand carries a gradient";
    } else if (!rules.passesGradient) {
        rules.onTape.reason = "the operator passes no gradient: its results are integers, or steps without a slope";
    }
    rules.asGraph = rules.passesGradient ? tape::canBeWritten(model, id) : rules.onTape;
    if (!rules.asGraph.isApplicable && rules.passesGradient && kind == ops::StructureKind::Composed &&
        tape::isGradientOpset(model)) {
        askSteps(model, model.graph().node(id), rules);
    }
    return rules;
}

} // namespace

std::vector<NodeRules> gradientRules(const execute::BoundModel& model)
{
    std::vector<NodeRules> all;
    for (std::size_t i = 0; i < model.graph().nodeCount(); ++i) {
        all.push_back(rulesOf(model, base::NodeId(i)));
    }
    return all;
}

} // namespace retro::engine
