// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/enginechecks.h"

#include "core/engine/runfacts.h"

#include <fmt/format.h>

#include <cmath>

namespace retro::engine
{

using base::Result;

namespace
{

/// Shares of what started that may be missing in the ledger, by precision.
double ledgerTolerance(execute::Precision precision) { return precision == execute::Precision::Double ? 1e-9 : 1e-4; }

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

Result<PropertyResult> checkAgainst(const LoadedModel& model, ExplainRequest request, const ExplainResult& oracle,
                                    const char* id, const std::stop_token& stop)
{
    const std::string statement = fmt::format("{} = oracle, relevance of every value, bit for bit", id);
    const Result<ExplainResult> result = explain(model, request, stop);
    if (!result.ok()) {
        if (result.error().code == base::ErrorCode::Cancelled) {
            return result.error();
        }
        return PropertyResult{id, statement, PropertyState::NotApplicable, result.error().text()};
    }
    return judged(id, statement, differingRelevance(oracle, *result),
                  fmt::format("composite {}, {} visits", result->composite.name, result->counts.visits));
}

PropertyResult checkLedger(const ExplainResult& oracle, execute::Precision precision)
{
    constexpr const char* kStatement = "what started = what reached the inputs + what the ledger books";
    if (carriesGradient(oracle)) {
        return {"conservation", kStatement, PropertyState::NotApplicable, "a gradient is not conserved"};
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
    return judged("conservation", kStatement, {isClosed ? "" : text}, text);
}

} // namespace

Result<PropertyResults> checkEngines(const LoadedModel& model, const ExplainRequest& request,
                                     const std::stop_token& stop)
{
    ExplainRequest question = request;
    question.engine = EngineKind::Oracle;
    RETRO_TRY(const ExplainResult oracle, explain(model, question, stop));
    PropertyResults results;
    question.engine = EngineKind::Promise;
    RETRO_TRY(results.emplace_back(), checkAgainst(model, question, oracle, "promise", stop));
    question.save = execute::SavePolicy::All;
    RETRO_TRY(results.emplace_back(), checkAgainst(model, question, oracle, "everything saved", stop));
    question.save = request.save;
    question.engine = EngineKind::Compiled;
    RETRO_TRY(results.emplace_back(), checkAgainst(model, question, oracle, "compiled", stop));
    results.push_back(checkLedger(oracle, request.precision));
    return results;
}

} // namespace retro::engine
