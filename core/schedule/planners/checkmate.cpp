// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/milp/checkmatemodel.h"
#include "core/schedule/planners/candidates.h"
#include "core/schedule/planners/plannerlist.h"

#include <fmt/format.h>

namespace retro::schedule
{

namespace
{

/// Budgets of the relaxation that is rounded, in shares: what rounding adds needs room.
constexpr double kSlack[] = {1.0, 0.9};
constexpr double kThresholds[] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9};

void offerAtEveryThreshold(const CheckmateModel& model, const std::vector<double>& values, BestDraft& best)
{
    for (const double threshold : kThresholds) {
        Draft draft;
        draft.sequence = model.rounded(values, threshold);
        best.offer(std::move(draft));
    }
}

/// Plans from the relaxation, rounded; false when even the relaxation has no solution at the whole budget.
bool offerRounded(MilpBackend& solver, const PlanRequest& request, const Deadline& deadline, BestDraft& best)
{
    for (const double share : kSlack) {
        if (deadline.isOver()) {
            break;
        }
        const auto budget = static_cast<std::uint64_t>(static_cast<double>(request.budget) * share);
        const CheckmateModel model(*request.graph, request.baseSequence(), budget);
        MilpOptions options;
        options.isRelaxed = true;
        options.isOver = [&deadline] { return deadline.isOver(); };
        const MilpAnswer answer = solver.solve(model.problem(), options);
        if (answer.status == MilpStatus::Infeasible && share == 1.0) {
            return !model.isExact();
        }
        if (!answer.values.empty()) {
            offerAtEveryThreshold(model, answer.values, best);
        }
    }
    return true;
}

base::Error refusal(bool isProven)
{
    return base::engineError(isProven ? "infeasible in this order with every operator at most once per stage, as the "
                                        "integer programme proves; another order may fit"
                                      : "the integer programme found no plan in the time that it had");
}

base::Result<Draft> draft(const PlanRequest& request)
{
    MilpBackend* const solver = milpBackend();
    if (solver == nullptr) {
        return base::engineError("this Retrograde was built without CBC (Debian package coinor-libcbc-dev)");
    }
    if (request.graph->size() > kMostCheckmateOps) {
        return base::engineError(
            fmt::format("{} joint operators are too many for the integer programme, which takes up "
                        "to {}; `shave` and `dtr` take any number",
                        request.graph->size(), kMostCheckmateOps));
    }
    const Deadline deadline(request);
    BestDraft best(request);
    if (!offerRounded(*solver, request, deadline, best)) {
        return refusal(true);
    }
    if (base::Result<Draft> shaved = kShave.draft(request); shaved.ok()) {
        best.offer(std::move(*shaved));
    }
    const CheckmateModel model(*request.graph, request.baseSequence(), request.budget);
    MilpOptions options;
    options.isOver = [&] { return deadline.isOver(); };
    if (best.fits()) {
        options.start = model.pointOf(best.best().sequence);
    }
    const MilpAnswer answer = solver->solve(model.problem(), options);
    const bool isProven = answer.status == MilpStatus::Optimal && model.isExact();
    if (!answer.values.empty()) {
        Draft draft;
        draft.sequence = model.sequenceOf(answer.values);
        best.offer(std::move(draft));
    }
    if (!best.fits()) {
        return refusal(answer.status == MilpStatus::Infeasible && model.isExact());
    }
    RETRO_TRY(Draft made, std::move(best).take());
    made.isOptimalInOrder = isProven;
    return made;
}

} // namespace

const Planner kCheckmate{"checkmate", "integer programme over stages (Checkmate), solved by CBC; up to 120 operators",
                         &draft, false};

} // namespace retro::schedule
