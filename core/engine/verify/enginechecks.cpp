// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/enginechecks.h"

#include "core/engine/explain/numericalstop.h"
#include "core/engine/results/runfacts.h"

#include <fmt/format.h>

#include <cmath>

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

} // namespace

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

} // namespace retro::engine
