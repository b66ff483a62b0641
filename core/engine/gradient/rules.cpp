// SPDX-License-Identifier: Apache-2.0
#include "core/engine/gradient/rules.h"

#include <algorithm>

namespace retro::engine
{

namespace
{

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
