// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/verify.h"

#include "core/base/cancel.h"
#include "core/engine/explain/numericalstop.h"
#include "core/engine/explain/stopwatch.h"
#include "core/engine/results/runfacts.h"
#include "core/engine/verify/cellchecks.h"
#include "core/engine/verify/rewritechecks.h"
#include "core/engine/verify/tapechecks.h"
#include "core/engine/verify/targettape.h"
#include "core/engine/verify/wiringchecks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace retro::engine
{

using base::Result;

namespace
{

/// Shares of what started that may be missing in the ledger, by precision.
double ledgerTolerance(execute::Precision precision) { return precision == execute::Precision::Float ? 1e-4 : 1e-9; }

/// The first value (in the order of values) whose relevance differs.
Counterexample differingRelevance(const ExplainResult& a, const ExplainResult& b)
{
    for (std::size_t i = 0; i < a.relevance.size(); ++i) {
        const tensor::Tensor& x = a.relevance[i];
        const tensor::Tensor& y = b.relevance[i];
        const bool isSame = x.isValid() == y.isValid() && (!x.isValid() || x.bitEqual(y));
        if (!isSame) {
            const graph::Graph& graph = a.model->graph();
            const base::NodeId node = graph.nodeOf(base::ValueId(i));
            return {fmt::format("the relevance of {} differs", graph.value(base::ValueId(i)).name),
                    node.index() < graph.nodeCount() ? graph.node(node).name : graph.value(base::ValueId(i)).name};
        }
    }
    return {};
}

std::string statementOf(const char* id)
{
    return fmt::format("{} = oracle, relevance of every value, bit for bit", id);
}

constexpr const char* kPromise = "promise";
constexpr const char* kSaved = "everything saved";
constexpr const char* kCompiled = "compiled";
constexpr const char* kConservation = "conservation";
constexpr const char* kConserved = "what started = what reached the inputs + what the ledger books";

/// Refusals make a property not applicable; that the question is none, or that a person stopped it, does not.
bool endsAll(const base::Error& error)
{
    return error.code == base::ErrorCode::Cancelled || error.code == base::ErrorCode::Usage;
}

PropertyResult refused(const char* id, std::string statement, const base::Error& error)
{
    return {id, std::move(statement), PropertyState::NotApplicable, withoutAdvice(error).text()};
}

Result<PropertyResult> checkAgainst(const LoadedModel& model, ExplainRequest request, const ExplainResult& oracle,
                                    const char* id, const std::stop_token& stop)
{
    const Result<ExplainResult> result = explain(model, request, stop);
    if (!result.ok()) {
        return endsAll(result.error()) ? Result<PropertyResult>(result.error())
                                       : refused(id, statementOf(id), result.error());
    }
    return judged(id, statementOf(id), differingRelevance(oracle, *result),
                  fmt::format("composite {}, {} visits", result->composite.name, result->counts.visits));
}

PropertyResult checkLedger(const ExplainResult& oracle, execute::Precision precision)
{
    if (carriesGradient(oracle)) {
        return {kConservation, kConserved, PropertyState::NotApplicable, "a gradient is not conserved"};
    }
    double booked = 0;
    double size = std::abs(oracle.relevanceStart);
    for (const auto& [cause, amount] : causeTotals(oracle.ledger)) {
        booked += amount;
        size += std::abs(amount);
    }
    const double missing = oracle.relevanceStart - oracle.relevanceInputs - booked;
    const std::string text = fmt::format("{:.6g} started, {:.6g} reached the inputs, {:.6g} booked; {:.3g} is missing",
                                         oracle.relevanceStart, oracle.relevanceInputs, booked, missing);
    const bool isClosed = std::abs(missing) <= ledgerTolerance(precision) * size;
    return judged(kConservation, kConserved, {isClosed ? "" : text}, text);
}

/// Nothing to compare with: every property, with the reason.
PropertyResults withoutOracle(const base::Error& error)
{
    PropertyResults results;
    for (const char* id : {kPromise, kSaved, kCompiled}) {
        results.push_back(refused(id, statementOf(id), error));
    }
    results.push_back(refused(kConservation, kConserved, error));
    return results;
}

/// The same question to the promise engine, to the compiled program, to the engine with everything saved and to the
/// oracle: relevance of every value, bit for bit. Then the conservation ledger of the oracle. An engine that refuses
/// the question, or ends at a number that is not finite, makes its property not applicable, with the reason; the oracle
/// makes all of them so. Errors: Cancelled, Usage.
Result<PropertyResults> checkEngines(const LoadedModel& model, const ExplainRequest& request,
                                     const std::stop_token& stop)
{
    ExplainRequest question = request;
    question.engine = EngineKind::Oracle;
    const Result<ExplainResult> answered = explain(model, question, stop);
    if (!answered.ok()) {
        return endsAll(answered.error()) ? Result<PropertyResults>(answered.error()) : withoutOracle(answered.error());
    }
    const ExplainResult& oracle = *answered;
    PropertyResults results;
    question.engine = EngineKind::Promise;
    RETRO_TRY(results.emplace_back(), checkAgainst(model, question, oracle, kPromise, stop));
    question.save = execute::SavePolicy::All;
    RETRO_TRY(results.emplace_back(), checkAgainst(model, question, oracle, kSaved, stop));
    question.save = request.save;
    question.engine = EngineKind::Compiled;
    RETRO_TRY(results.emplace_back(), checkAgainst(model, question, oracle, kCompiled, stop));
    results.push_back(checkLedger(oracle, request.precision));
    return results;
}

Result<TargetTape> subjectIn(const LoadedModel& model, const VerifyRequest& request, execute::Precision precision,
                             const std::stop_token& stop)
{
    return targetTape(model, request.inputs, request.target, precision, stop);
}

void append(PropertyResults& all, PropertyResults more) { std::ranges::move(more, std::back_inserter(all)); }

/// P1 to P13 in the order of their numbers; the others stay behind them.
void sortByNumber(PropertyResults& results)
{
    const auto number = [](const PropertyResult& one) {
        return one.id.size() > 1 && one.id[0] == 'P' ? std::stoi(one.id.substr(1)) : 1000;
    };
    std::ranges::stable_sort(results, {}, number);
}

ExplainRequest questionOf(const VerifyRequest& request)
{
    ExplainRequest question;
    question.inputs = request.inputs;
    question.target = request.target;
    question.composite = request.composite;
    question.precision = request.precision;
    return question;
}

Result<VerifyResult> checkAll(const LoadedModel& model, const VerifyRequest& request, const std::stop_token& stop,
                              const StageProgress& progress)
{
    const Stopwatch watch;
    VerifyResult result;
    const auto report = [&progress](const char* stage) {
        if (progress) {
            progress(stage, 0, 1);
        }
    };
    report("tape");
    RETRO_TRY(const TargetTape own, subjectIn(model, request, request.precision, stop));
    result.cells = own.made.tape.size();
    result.model = own.made.model;
    result.target = own.chosen;
    RETRO_TRY(result.properties, checkTape(own.made, own.target, own.start, stop, &result.course));
    if (!isSound(own.made)) {
        return result; // nothing else can be said of it
    }
    append(result.properties, checkWiring(own.made, own.target, request.seed));
    report("gradients in double");
    RETRO_TRY(const TargetTape wide, subjectIn(model, request, execute::Precision::Double, stop));
    RETRO_TRY(result.nodes, checkNodes(wide.made, request.seed, stop, progress));
    result.properties.push_back(judgeNodes(result.nodes));
    RETRO_TRY(result.properties.emplace_back(), checkWhole(wide.made, wide.target, wide.start, request.seed, stop));
    if (request.hasShadow && request.precision == execute::Precision::Float) {
        result.ulps = ulpDistances(own.made, wide.made);
    }
    report("rewrites");
    RETRO_TRY(PropertyResults rewrites, checkRewrites(model, request.inputs, request.target, request.seed, stop));
    append(result.properties, std::move(rewrites));
    report("engines");
    RETRO_TRY(PropertyResults engines, checkEngines(model, questionOf(request), stop));
    append(result.properties, std::move(engines));
    sortByNumber(result.properties);
    result.seconds = watch.seconds();
    return result;
}

} // namespace

bool VerifyResult::isViolated() const
{
    return std::ranges::any_of(properties,
                               [](const PropertyResult& one) { return one.state == PropertyState::Violated; });
}

Result<VerifyResult> verify(const LoadedModel& model, const VerifyRequest& request, const std::stop_token& stop,
                            const StageProgress& progress)
{
    Result<VerifyResult> result = checkAll(model, request, stop, progress);
    RETRO_CHECK(base::checkStop(stop)); // a rule that was stopped reads like one that failed
    return result;
}

} // namespace retro::engine
