// SPDX-License-Identifier: Apache-2.0
#include "app/cli/gradientrules.h"

#include "core/engine/gradient/rules.h"
#include "core/engine/model/binding.h"

#include <fmt/format.h>

namespace retro::app
{

using engine::NodeRules;
using nlohmann::ordered_json;

namespace
{

std::string answer(const NodeRules& rules)
{
    if (!rules.asGraph.isApplicable) {
        return "no: " + rules.asGraph.reason;
    }
    return rules.isInSteps ? "yes, in steps" : "yes";
}

ordered_json toJson(const tape::Applicable& rule)
{
    ordered_json json{{"applicable", rule.isApplicable}};
    if (!rule.isApplicable) {
        json["reason"] = rule.reason;
    }
    return json;
}

} // namespace

base::Result<void> listGradientRules(const Context& context, const engine::LoadedModel& model,
                                     const engine::GradientRequest& request)
{
    RETRO_TRY(const auto bound, engine::bindModel(model, request.inputs, request.precision));
    ordered_json all = ordered_json::array();
    if (!context.json) {
        context.say(fmt::format("{:<32} {:<22} {:<20} {}", "node", "operator", "rule by type", "as graph, by name"));
    }
    for (const NodeRules& rules : engine::gradientRules(*bound)) {
        const graph::Node& node = bound->graph().node(rules.node);
        if (context.json) {
            all.push_back({{"node", node.name},
                           {"operator", node.op},
                           {"type", rules.type},
                           {"on_tape", toJson(rules.onTape)},
                           {"as_graph", toJson(rules.asGraph)},
                           {"in_steps", rules.isInSteps}});
        } else if (rules.passesGradient) {
            context.say(fmt::format("{:<32} {:<22} {:<20} {}", node.name, node.op, rules.type, answer(rules)));
        } else {
            context.say(fmt::format("{:<32} {:<22} {:<20} {}", node.name, node.op, "–", rules.onTape.reason));
        }
    }
    if (context.json) {
        context.answer({{"rules", all}});
    }
    return {};
}

} // namespace retro::app
