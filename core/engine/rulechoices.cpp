// SPDX-License-Identifier: Apache-2.0
#include "core/engine/rulechoices.h"

#include "core/lrp/ruleapplication.h"
#include "core/lrp/ruleformulas.h"
#include "core/lrp/rules.h"

namespace retro::engine
{

std::vector<RuleChoice> ruleChoices(const execute::BoundModel& model, base::NodeId node)
{
    std::vector<RuleChoice> choices;
    for (const std::string_view name : lrp::ruleNames()) {
        const base::Result<lrp::RulePointer> rule = lrp::makeRule(name, {});
        const bool fits =
            rule.ok() && (*rule)->accepts(model.op(node).structure()) && lrp::misfitOf(**rule, model, node).empty();
        if (fits) {
            const std::string_view structure = ops::nameOf(model.op(node).structure().kind());
            choices.push_back({std::string(name), lrp::formulaOf((*rule)->text(), structure), (*rule)->parameters()});
        }
    }
    return choices;
}

} // namespace retro::engine
