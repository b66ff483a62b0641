// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explain/requestcheck.h"

#include "core/engine/plan/plannedsaving.h"
#include "core/engine/question/combinations.h"
#include "core/lrp/rules/rules.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::engine
{

using base::Result;

namespace
{

/// What a request asks for, as combinations.h names it.
std::vector<Asked> asksOf(const ExplainRequest& request)
{
    std::vector<Asked> asks;
    const auto add = [&asks](bool isAsked, const char* what, const char* option) {
        if (isAsked) {
            asks.push_back({what, option});
        }
    };
    add(request.engine == EngineKind::Oracle, "engine=oracle", "--engine oracle");
    add(request.engine == EngineKind::Compiled, "engine=compiled", "--engine compiled");
    add(request.followsDocument, "traversal=document", "--traversal document");
    add(request.save == execute::SavePolicy::All, "save=all", "--save all");
    add(keepsForInputs(request), "save=frozen", "--save frozen");
    add(request.save == execute::SavePolicy::Plan && !keepsForInputs(request), "planned",
        "--plan, --budget or --strategy");
    add(request.forwarding.has_value(), "forwarded", "--forward");
    add(request.inputsOnly, "inputs-only", "--inputs-only");
    add(request.parameters, "parameters", "--parameters");
    add(request.record, "run", "--run");
    add(request.region.isAsked(), "region-of", "--region");
    add(!request.conditions.empty(), "condition", "--condition");
    add(!request.checkpoints.empty(), "checkpoint", "--checkpoint");
    add(request.stopAtCheckpoints, "stop-at-checkpoints", "--stop-at-checkpoints");
    joinPlanOfEngine(asks);
    return asks;
}

Result<void> checkSaving(const ExplainRequest& request)
{
    if (request.save == execute::SavePolicy::Nothing) {
        return base::usageError(
            "rules read values of the forward pass, and nothing is to be saved of it; save autograd, "
            "all or what a plan keeps",
            "--save");
    }
    const bool isPromise = request.engine == EngineKind::Promise;
    if (request.save == execute::SavePolicy::Plan &&
        (!request.keptByPlan || (!isPromise && carriesOut(request) == nullptr))) {
        return base::usageError("what a plan keeps is for the engine promise, and a plan is needed for it");
    }
    return {};
}

} // namespace

Result<void> checkRequest(const ExplainRequest& request)
{
    RETRO_CHECK(checkTogether(asksOf(request)));
    return checkSaving(request);
}

Result<void> checkTimesInput(const lrp::Composite& composite, std::span<const trace::NodeRule> rules,
                             const execute::BoundModel& model)
{
    const bool hasTokens = std::ranges::any_of(
        rules, [](const trace::NodeRule& rule) { return rule.rule.ends_with(lrp::kTimesEmbedding); });
    for (const base::ValueId input : model.graph().inputs()) {
        if (composite.timesInput && !hasTokens && model.isTracked(input) && model.isOfTokens(input)) {
            return base::usageError(fmt::format("gradient × input has no meaning for the input \"{}\", whose "
                                                "elements are {}; choose another composite (gradient, attnlrp)",
                                                model.graph().value(input).name,
                                                tensor::nameOf(model.typeOf(input).dtype)),
                                    "composite");
        }
    }
    return {};
}

std::vector<TargetRequest> targetsOf(const ExplainRequest& request)
{
    std::vector<TargetRequest> all{request.target};
    all.insert(all.end(), request.alsoTargets.begin(), request.alsoTargets.end());
    return all;
}

} // namespace retro::engine
