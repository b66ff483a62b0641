// SPDX-License-Identifier: Apache-2.0
#include "core/engine/rulechoices.h"

#include "core/lrp/ruleformulas.h"
#include "core/lrp/rules.h"

namespace retro::engine
{

namespace
{

std::vector<ops::TensorType> operandTypes(const execute::BoundModel& model, base::NodeId node)
{
    std::vector<ops::TensorType> types;
    for (const base::ValueId input : model.graph().node(node).inputs) {
        types.push_back(input.isValid() ? model.typeOf(input) : ops::TensorType{});
    }
    return types;
}

} // namespace

std::vector<RuleChoice> ruleChoices(const execute::BoundModel& model, base::NodeId node)
{
    std::vector<RuleChoice> choices;
    const std::vector<ops::TensorType> types = operandTypes(model, node);
    for (const std::string_view name : lrp::ruleNames()) {
        const base::Result<lrp::RulePointer> rule = lrp::makeRule(name, {});
        const bool fits =
            rule.ok() && (*rule)->accepts(model.op(node).structure()) && (*rule)->misfit(model.op(node), types).empty();
        if (fits) {
            const std::string_view structure = ops::nameOf(model.op(node).structure().kind());
            choices.push_back({std::string(name), lrp::formulaOf((*rule)->text(), structure), (*rule)->parameters()});
        }
    }
    return choices;
}

} // namespace retro::engine
