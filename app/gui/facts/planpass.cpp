// SPDX-License-Identifier: Apache-2.0
#include "app/gui/facts/planpass.h"

#include "app/gui/facts/fusedfacts.h"
#include "app/gui/facts/inputinfo.h"
#include "app/gui/jobs/runhandles.h"
#include "core/engine/language/languagequestion.h"
#include "core/engine/language/languagereport.h"
#include "core/engine/plan/plannedforward.h"
#include "core/engine/plan/plannedgradient.h"
#include "core/engine/plan/plannedsaving.h"

namespace retro::app
{

using base::Result;

namespace
{

engine::PlanOptions wishOf(const PlanToCarry& carried)
{
    engine::PlanOptions wish;
    wish.plan = carried.plan;
    wish.found = carried.found;
    wish.strategy = carried.strategy;
    return wish;
}

std::shared_ptr<ExplainDone> answerTo(const ExplainJob& job)
{
    auto done = std::make_shared<ExplainDone>();
    done->generation = job.generation;
    done->model = job.model;
    done->inputs = job.question.inputs;
    done->job = job;
    done->hasRelevance = true;
    done->planPass = PlanPass{std::make_shared<const schedule::Plan>(job.plan->plan), {}};
    return done;
}

/// What a pass that a plan carried out step by step, a gradient or a forward pass, has in common with an explanation.
template <class Made>
Result<void> takePass(const Made& made, const std::shared_ptr<const execute::BoundModel>& bound,
                      const std::stop_token& token, ExplainDone& done)
{
    done.bound = bound;
    done.input = inputInfo(*made.recorded);
    done.fused = std::make_shared<views::FusedNodes>(fusedNodes(*done.model, *made.recorded->graph));
    for (const runtime::StepRecord& step : made.run.steps) {
        done.planPass->bytes.push_back(step.measured.transient);
    }
    done.runPlan = made.runPlan;
    RETRO_TRY(done.run, makeHandle(made.recorded, token));
    return {};
}

/// The gradient is what the oracle is asked then, too; the question in the panel stays.
Result<std::shared_ptr<ExplainDone>> gradientByPlan(ExplainJob& job, engine::ExplainRequest request,
                                                    const std::stop_token& token)
{
    ExplainJob asked = job;
    request.composite = asked.question.composite = "gradient";
    asked.question.rules.clear();
    asked.question.start = "one";
    request.start = {};
    request.start.kind = engine::StartKind::One;
    request.checkpoints.clear();
    runtime::PlanRunOptions options;
    options.stop = token;
    RETRO_TRY(const engine::PlannedGradient made,
              engine::recordedPlannedGradient(*job.model, request, wishOf(*job.plan), std::move(options)));
    std::shared_ptr<ExplainDone> done = answerTo(asked);
    done->composite = request.composite;
    RETRO_CHECK(takePass(made, made.gradient.model, token, *done));
    return done;
}

/// No relevance: what is on screen are the values, and what of them is in memory.
Result<std::shared_ptr<ExplainDone>> forwardByPlan(ExplainJob& job, const engine::ExplainRequest& request,
                                                   const std::stop_token& token)
{
    runtime::PlanRunOptions options;
    options.stop = token;
    RETRO_TRY(const engine::PlannedForward made,
              engine::recordedPlannedForward(*job.model, request, wishOf(*job.plan), std::move(options)));
    std::shared_ptr<ExplainDone> done = answerTo(job);
    done->hasRelevance = false;
    RETRO_CHECK(takePass(made, made.model, token, *done));
    return done;
}

Result<std::shared_ptr<ExplainDone>> relevanceByPlan(ExplainJob& job, engine::ExplainRequest request,
                                                     const std::stop_token& token)
{
    request.engine = engine::EngineKind::Promise;
    request.save = execute::SavePolicy::Plan;
    request.keptByPlan = engine::keptBy(wishOf(*job.plan));
    request.record = true;
    request.keepValues = true;
    request.forwarding.reset();
    RETRO_TRY(const engine::ExplainResult result, engine::explain(*job.model, request, token));
    job.question.composite = request.composite;
    job.question.rules.clear(); // they are part of it
    std::shared_ptr<ExplainDone> done = answerTo(job);
    done->composite = request.composite;
    done->bound = result.model;
    done->assigned = result.assigned;
    done->warnings = result.warnings;
    done->rulesApplied = result.rulesApplied;
    done->input = inputInfo(*result.run);
    done->fused = std::make_shared<views::FusedNodes>(fusedNodes(*job.model, *result.run->graph));
    done->runPlan = result.runPlan;
    RETRO_TRY(const auto language, languageOf(job));
    if (language) {
        RETRO_TRY(const engine::LanguageReport report, engine::reportOf(*language, *job.model, job.question, result));
        done->text = std::make_shared<const trace::RunText>(engine::runText(report));
    }
    RETRO_TRY(done->run, makeHandle(result.run, token));
    return done;
}

} // namespace

Result<std::shared_ptr<ExplainDone>> passByPlan(ExplainJob& job, engine::ExplainRequest request,
                                                const std::stop_token& token)
{
    switch (job.plan->half) {
    case views::PlanFor::Relevance:
        return relevanceByPlan(job, std::move(request), token);
    case views::PlanFor::Forward:
        return forwardByPlan(job, request, token);
    case views::PlanFor::Gradient:
        break;
    }
    return gradientByPlan(job, std::move(request), token);
}

} // namespace retro::app
