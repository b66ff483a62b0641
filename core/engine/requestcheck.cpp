// SPDX-License-Identifier: Apache-2.0
#include "core/engine/requestcheck.h"

#include "core/lrp/rules.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::engine
{

using base::Result;

namespace
{

Result<void> checkForwarding(const ExplainRequest& request)
{
    if (!request.forwarding) {
        return {};
    }
    if (request.engine != EngineKind::Promise) {
        return base::usageError("forward values come in chosen forms to the engine promise alone; leave --engine out",
                                "--forward");
    }
    if (request.save != execute::SavePolicy::Autograd || request.keptByPlan) {
        return base::usageError("how forward values get to the rules that read them says what is saved; leave --save, "
                                "--plan, --budget and --strategy out",
                                "--forward");
    }
    if (request.inputsOnly) {
        return base::usageError("with the relevance of the inputs alone, forward values are let go on the way as it "
                                "is; leave --inputs-only out",
                                "--forward");
    }
    return {};
}

Result<void> checkParameters(const ExplainRequest& request)
{
    if (request.parameters && (request.inputsOnly || request.stopAtCheckpoints)) {
        return base::usageError("what parameters carried follows from a whole pass; leave --inputs-only and "
                                "--stop-at-checkpoints out",
                                "--parameters");
    }
    return {};
}

Result<void> checkSaving(const ExplainRequest& request)
{
    if (request.save == execute::SavePolicy::Nothing) {
        return base::usageError(
            "rules read values of the forward pass, and nothing is to be saved of it; save autograd, "
            "all or what a plan keeps",
            "--save");
    }
    if (request.save == execute::SavePolicy::Plan && (!request.keptByPlan || request.engine != EngineKind::Promise)) {
        return base::usageError("what a plan keeps is for the engine promise, and a plan is needed for it");
    }
    return {};
}

} // namespace

Result<void> checkRequest(const ExplainRequest& request)
{
    RETRO_CHECK(checkForwarding(request));
    RETRO_CHECK(checkParameters(request));
    if (request.record && request.engine != EngineKind::Promise) {
        const char* engine = request.engine == EngineKind::Oracle ? "the oracle" : "a compiled program";
        return base::usageError(
            fmt::format("{} makes no events, so there is nothing to record; use --engine promise with --run", engine));
    }
    RETRO_CHECK(checkSaving(request));
    if (request.stopAtCheckpoints && request.engine == EngineKind::Oracle) {
        return base::usageError("the oracle makes no visits and cannot stop at checkpoints; use --engine promise",
                                "--stop-at-checkpoints");
    }
    return {};
}

Result<void> checkTimesInput(const lrp::Composite& composite, std::span<const trace::NodeRule> rules,
                             const execute::BoundModel& model)
{
    const bool hasTokens = std::ranges::any_of(
        rules, [](const trace::NodeRule& rule) { return rule.rule.ends_with(lrp::kTimesEmbedding); });
    for (const base::ValueId input : model.graph().inputs()) {
        if (composite.timesInput && !hasTokens && model.isTracked(input) &&
            !tensor::isFloating(model.typeOf(input).dtype)) {
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
