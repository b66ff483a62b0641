// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explain/automaticrules.h"

#include "core/diagnosis/candidaterules.h"
#include "core/diagnosis/growthalong.h"
#include "core/lrp/composite/ruleoverride.h"
#include "core/ops/algebra.h"
#include "core/trace/ledgersummary.h"

#include <fmt/format.h>

namespace retro::engine
{

namespace
{

using base::Result;
using diagnosis::GrowthAlong;

/// A part of relevance (a condition, a pass that stopped early) is looked at closer from so many decades on: healthy
/// models stay below.
constexpr double kDecadesOfPart = 1;

GrowthAlong growthOf(const ExplainResult& result)
{
    const graph::Graph& graph = result.model->graph();
    std::vector<trace::NodeBalance> balances(graph.runNodeCount());
    for (std::size_t i = 0; i < balances.size(); ++i) {
        balances[i].node = base::NodeId(i);
    }
    trace::addRows(balances, result.ledger);
    std::vector<double> inputs;
    for (const base::ValueId input : graph.inputs()) {
        const tensor::Tensor& relevance = result.relevance[input.index()];
        inputs.push_back(relevance.isValid() ? ops::algebra::sumAbsolute(relevance) : 0);
    }
    return diagnosis::growthAlong(graph, balances, inputs);
}

bool isPart(const ExplainRequest& request) { return !request.conditions.empty() || request.stopAtCheckpoints; }

/// The same question, with nothing that follows from it and nothing that lets only a part of relevance through.
ExplainRequest plainOf(const ExplainRequest& request)
{
    ExplainRequest plain = request;
    plain.record = plain.keepValues = plain.parameters = plain.keepsForward = plain.stopAtCheckpoints = false;
    plain.region = RegionRequest();
    plain.conditions.clear();
    plain.conditionWords.clear();
    plain.checkpoints.clear();
    plain.goesOnWhenNotFinite = true;
    if (plain.onRelevance) {
        plain.onRelevance = [](const auto&...) { return Result<void>(); };
    }
    return plain;
}

/// How the plain pass grows; nothing where there is nothing to mend.
Result<std::optional<GrowthAlong>> explosionOf(const ExplainRequest& request, const ExplainResult& first,
                                               const PassOfRequest& explain)
{
    GrowthAlong growth = growthOf(first);
    if (isPart(request) && growth.decades > kDecadesOfPart) {
        RETRO_TRY(const ExplainResult plain, explain(plainOf(request)));
        growth = growthOf(plain);
    }
    return growth.isCompound() ? std::optional(growth) : std::nullopt;
}

std::string compositeWith(const ExplainRequest& request, const diagnosis::CandidateRules& rules)
{
    lrp::Specification named = lrp::splitSpecification(request.composite);
    named.overrides.insert(named.overrides.end(), rules.overrides.begin(), rules.overrides.end());
    return lrp::joinSpecification(named);
}

} // namespace

bool isAutomatic(const ExplainRequest& request)
{
    const std::string base = lrp::splitSpecification(request.composite).base;
    return base == "auto" || base.starts_with("auto:");
}

bool addsRules(const ExplainRequest& request, const ExplainResult& result)
{
    return isAutomatic(request) && lrp::splitSpecification(result.composite.name).overrides.size() >
                                       lrp::splitSpecification(request.composite).overrides.size();
}

Result<ExplainResult> withAutomaticRules(const ExplainRequest& request, ExplainResult first,
                                         const PassOfRequest& explain)
{
    if (first.composite.dividesStart) { // its values hold gradients
        return first;
    }
    RETRO_TRY(const std::optional<GrowthAlong> growth, explosionOf(request, first, explain));
    if (!growth) {
        return first;
    }
    const diagnosis::CandidateRules* best = nullptr;
    double least = growth->decades;
    ExplainRequest tried = plainOf(request);
    for (const diagnosis::CandidateRules& rules : diagnosis::candidateRules()) {
        tried.composite = compositeWith(request, rules);
        const Result<ExplainResult> made = explain(tried);
        if (!made && made.error().code == base::ErrorCode::Cancelled) {
            return made.error();
        }
        // A candidate that cannot be run is none.
        const double decades = made ? growthOf(*made).decades : growth->decades;
        if (decades < least && growth->decades - decades >= diagnosis::kLeastDecadesSaved) {
            least = decades;
            best = &rules;
        }
    }
    if (best == nullptr) {
        return first;
    }
    const std::string reason = first.composite.reason;
    first = ExplainResult(); // two passes need not be held at once
    ExplainRequest taken = request;
    taken.composite = compositeWith(request, *best);
    RETRO_TRY(ExplainResult result, explain(taken));
    result.composite.reason = fmt::format("{}; relevance grew by {:.1f} decades on its way, and by {:.1f} with {}. {}",
                                          reason, growth->decades, least, best->options(), best->why);
    return result;
}

} // namespace retro::engine
