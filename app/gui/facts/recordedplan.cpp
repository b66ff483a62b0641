// SPDX-License-Identifier: Apache-2.0
#include "app/gui/facts/recordedplan.h"

#include "core/analysis/report.h"
#include "core/engine/plan/runplan.h"
#include "core/engine/plan/savingforecast.h"
#include "core/schedule/planorders.h"
#include "views/plan/runaxis.h"

#include <algorithm>

namespace retro::app
{

namespace
{

/// What the traversal of a recorded run kept, dropped and brought back.
views::SavingNumbers savingOf(const trace::RunPlan& plan, const trace::Run& run, const analysis::OpGraph& joint)
{
    engine::SavingForecast counts;
    engine::countReturns(plan.dropped, counts);
    views::SavingNumbers saving;
    saving.kept = plan.kept.size();
    for (const analysis::OpValue& value : joint.values()) {
        const auto id = run.graph->findValue(value.name);
        saving.keptBytes += id && std::ranges::find(plan.kept, *id) != plan.kept.end() ? value.bytes : 0;
    }
    saving.dropped = counts.dropped;
    saving.byPromise = counts.byPromise;
    saving.recomputed = counts.recomputed;
    for (const event::Event& event : run.events) {
        saving.promises += event.kind == event::EventKind::NewPromise ? 1 : 0;
        const bool isOfTraversal = event.kind == event::EventKind::Visit && event.mode != event::Mode::None;
        saving.visits += isOfTraversal ? 1 : 0;
    }
    return saving;
}

} // namespace

void takeRecordedPlan(std::shared_ptr<const trace::RunPlan> plan, const trace::Run& run, const std::string& where,
                      ExplainDone& done)
{
    base::Result<engine::RestoredPlan> restored = engine::restorePlan(*plan, where);
    if (!restored) {
        done.warnings.push_back("the plan of the run cannot be shown: " + restored.error().text());
        return;
    }
    auto subject = std::make_shared<views::PlanSubject>();
    subject->model = QString::fromStdString(run.facts.modelName);
    subject->half = restored->half.isForwardAlone                           ? views::PlanFor::Forward
                    : restored->half.kind == analysis::JointKind::Relevance ? views::PlanFor::Relevance
                                                                            : views::PlanFor::Gradient;
    subject->forward = std::move(restored->forward);
    subject->joint = std::move(restored->joint);
    subject->unit = restored->half.unit;
    subject->constantBytes = restored->half.constantBytes;
    subject->storeAllPeak = restored->storeAllPeak;
    subject->baseCost = restored->baseCost;
    views::PlanQuestion question;
    question.strategy = restored->strategy.empty() ? question.strategy : restored->strategy;
    question.budget = restored->result.budget;
    auto shown = std::make_shared<views::ShownPlan>(
        *views::shownPlan(subject, std::move(question), std::move(restored->result)));
    if (!plan->kept.empty() || !plan->dropped.empty()) {
        shown->saving = savingOf(*plan, run, subject->graph());
    }
    done.planPass = PlanPass{std::make_shared<const schedule::Plan>(shown->plan()), {}};
    done.shownPlan = std::move(shown);
    done.runPlan = std::move(plan);
}

views::PlanAnalysisPointer analysisOf(const views::PlanSubject& subject, const std::stop_token& stop)
{
    const analysis::OpGraph& graph = subject.forward;
    if (graph.size() == 0) {
        return nullptr;
    }
    analysis::JointOptions options;
    options.kind =
        subject.half == views::PlanFor::Relevance ? analysis::JointKind::Relevance : analysis::JointKind::Gradient;
    const base::Result<analysis::Report> report = analysis::makeReport(graph, analysis::Machine(), options, stop);
    if (!report || stop.stop_requested()) {
        return nullptr;
    }
    auto analysis = std::make_shared<views::PlanAnalysis>();
    const auto candidates = schedule::candidateOrders(graph, subject.joint, stop);
    for (const analysis::ScoredOrder& order : report->orders) {
        const std::string name(analysis::nameOf(order.heuristic));
        const auto known = std::ranges::find(candidates, name, &schedule::CandidateOrder::name);
        analysis->orders.push_back({name, std::string(analysis::descriptionOf(order.heuristic)), order.peak,
                                    order.peakLive, known == candidates.end() ? 0 : known->storeAllPeak});
    }
    analysis->verdict = report->compressibility;
    const auto nameOf = [](const analysis::OpGraph& of, analysis::OpId op) {
        return op == analysis::kNone ? std::string() : of.op(op).name;
    };
    const analysis::OpGraph& joint = subject.graph();
    const analysis::Bound largest = analysis::largestOperator(joint, false);
    const analysis::Bound floor = analysis::memoryFloor(joint);
    analysis->limits.push_back(
        {"any order of the forward operators", report->forwardBound.bytes, nameOf(graph, report->forwardBound.at)});
    analysis->limits.push_back({"any plan: largest operator", largest.bytes, nameOf(joint, largest.at)});
    analysis->limits.push_back({"any plan: with what must wait", floor.bytes, nameOf(joint, floor.at)});
    for (const analysis::CutSet& cut : report->cuts) {
        analysis->cuts.push_back({nameOf(graph, report->profile.order[cut.position]), cut.bytes, cut.values});
    }
    std::ranges::stable_sort(analysis->cuts, {}, &views::PlanAnalysis::Cut::bytes);
    if (report->longestSkip.value != analysis::kNone) {
        analysis->longestSkip = graph.value(report->longestSkip.value).name;
        analysis->longestSkipPositions = report->longestSkip.positions;
    }
    return analysis;
}

} // namespace retro::app
