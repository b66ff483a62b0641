// SPDX-License-Identifier: Apache-2.0
#include "app/gui/facts/planpass.h"

#include "app/gui/facts/fusedfacts.h"
#include "app/gui/facts/inputinfo.h"
#include "app/gui/jobs/runhandles.h"
#include "core/engine/plan/plannedgradient.h"

namespace retro::app
{

using base::Result;

Result<std::shared_ptr<ExplainDone>> passByPlan(ExplainJob& job, engine::ExplainRequest request,
                                                const std::stop_token& token)
{
    // The question changes with it: what is on screen, and what the oracle is asked, is the gradient from one.
    request.composite = job.question.composite = "gradient";
    job.question.rules.clear();
    job.question.start = "one";
    request.start = {};
    request.start.kind = engine::StartKind::One;
    request.checkpoints.clear();
    engine::PlanOptions wish;
    wish.plan = *job.plan;
    runtime::PlanRunOptions options;
    options.stop = token;
    RETRO_TRY(const engine::PlannedGradient made,
              engine::recordedPlannedGradient(*job.model, request, std::move(wish), std::move(options)));
    auto done = std::make_shared<ExplainDone>();
    done->generation = job.generation;
    done->model = job.model;
    done->composite = request.composite;
    done->bound = made.gradient.model;
    done->inputs = job.question.inputs;
    done->job = job;
    done->hasRelevance = true;
    done->input = inputInfo(*made.recorded);
    done->fused = std::make_shared<views::FusedNodes>(fusedNodes(*job.model, *made.recorded->graph));
    PlanPass pass{job.plan, {}, made.chosen.record.visits};
    for (const runtime::StepRecord& step : made.run.steps) {
        pass.bytes.push_back(step.measured.transient);
    }
    done->planPass = std::move(pass);
    RETRO_TRY(done->run, makeHandle(made.recorded, token));
    return done;
}

} // namespace retro::app
