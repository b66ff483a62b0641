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
/// Share of the time that must be left to solve the programme once more.
constexpr double kAgainShare = 0.3;
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

/// The point of what is known, or of the best so far where that stands in another order; empty without one.
std::vector<double> startOf(const CheckmateModel& model, const PlanRequest& request, const BestDraft& best)
{
    const bool isKnownBetter =
        request.known != nullptr && (!best.fits() || costOf(*request.graph, *request.known) < best.cost());
    std::vector<double> point = isKnownBetter ? model.pointOf(*request.known) : std::vector<double>();
    return point.empty() && best.fits() ? model.pointOf(best.best().sequence) : point;
}

base::Error refusal(bool isProven, bool isOver)
{
    return base::engineError(isProven ? "infeasible in this order with every operator at most once per stage, as the "
                                        "integer programme proves; another order may fit"
                             : isOver ? "the integer programme found no plan in the time that it had"
                                      : "no solution of the integer programme fits by a part in 200,000 of the budget");
}

/// What a solved programme says of all plans in the order.
enum class Proof : std::uint8_t { None, Optimal, Infeasible };

/// Solves the programme from what is known, and offers what it finds.
Proof solve(MilpBackend& solver, const PlanRequest& request, const Deadline& deadline, SizeRounding rounding,
            BestDraft& best)
{
    const CheckmateModel model(*request.graph, request.baseSequence(), request.budget, rounding);
    MilpOptions options;
    options.isOver = [&] { return deadline.isOver(); };
    options.start = startOf(model, request, best);
    const MilpAnswer answer = solver.solve(model.problem(), options);
    if (!answer.values.empty()) {
        Draft draft;
        draft.sequence = model.sequenceOf(answer.values);
        best.offer(std::move(draft));
    }
    const bool isBound = model.isExact() || rounding == SizeRounding::Down;
    if (isBound && answer.status == MilpStatus::Infeasible) {
        return Proof::Infeasible;
    }
    const double bound = answer.objective * model.costUnit() * (1 + 1e-9);
    const bool isOptimal = isBound && answer.status == MilpStatus::Optimal && best.fits() && best.cost() <= bound;
    return isOptimal ? Proof::Optimal : Proof::None;
}

base::Result<Draft> checkmateDraft(const PlanRequest& request)
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
    if (base::Result<Draft> shaved = kShave.draft(request); shaved.ok()) {
        best.offer(std::move(*shaved));
    }
    PlanRequest quarter = request;
    quarter.seconds = deadline.secondsLeft() / 4;
    if (!offerRounded(*solver, quarter, Deadline(quarter), best)) {
        return refusal(true, false);
    }
    // First with sizes rounded down: what is then cheapest and fits is cheapest of all, and where nothing fits, nothing
    // does. Only where its solution does not fit by the rounding, again with sizes rounded up.
    Proof proof = solve(*solver, request, deadline, SizeRounding::Down, best);
    if (proof == Proof::None && deadline.secondsLeft() > kAgainShare * request.seconds) {
        solve(*solver, request, deadline, SizeRounding::Up, best);
    }
    if (!best.fits()) {
        return refusal(proof == Proof::Infeasible, deadline.isOver());
    }
    RETRO_TRY(Draft made, std::move(best).take());
    made.isOptimalInOrder = proof == Proof::Optimal;
    return made;
}

} // namespace

const Planner kCheckmate{"checkmate", "Checkmate",
                         "integer programme over stages (Checkmate), solved by CBC; up to 120 operators",
                         &checkmateDraft, false};

} // namespace retro::schedule
