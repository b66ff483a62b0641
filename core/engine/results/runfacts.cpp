// SPDX-License-Identifier: Apache-2.0
#include "core/engine/results/runfacts.h"

#include "core/engine/explain/segment.h"
#include "core/engine/input/inputfacts.h"
#include "core/engine/plan/carriedplan.h"
#include "core/engine/plan/planevents.h"
#include "core/engine/question/fields.h"
#include "core/trace/gradientrun.h"
#include "core/trace/targetplace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace retro::engine
{

void fillValues(trace::Run& run, const ValueSources& from)
{
    const graph::Graph& graph = from.model.graph();
    run.graph = from.model.sharedGraph();
    run.values.resize(graph.valueCount());
    for (std::size_t i = 0; i < graph.valueCount(); ++i) {
        run.shapes.push_back(from.model.typeOf(base::ValueId(i)).shape);
        if (from.saved != nullptr) {
            run.values[i] = from.saved->anyValue(base::ValueId(i));
        }
    }
    for (std::size_t i = 0; i < from.inputs.size(); ++i) {
        run.values[graph.inputs()[i].index()] = from.inputs[i];
    }
    for (std::size_t i = 0; i < from.outputs.size(); ++i) {
        run.values[graph.outputs()[i].index()] = from.outputs[i];
    }
}

namespace
{

trace::ForwardedForm formOf(ForwardForm form)
{
    switch (form) {
    case ForwardForm::Rebuild:
        return trace::ForwardedForm::Rebuild;
    case ForwardForm::Alias:
        return trace::ForwardedForm::Alias;
    case ForwardForm::Compress:
        return trace::ForwardedForm::Compress;
    case ForwardForm::Store:
        break;
    }
    return trace::ForwardedForm::Store;
}

void fillForwarding(trace::RunFacts& facts, const ForwardingDone& done)
{
    for (const ForwardDecision& one : done.plan.decisions) {
        facts.forwarded.push_back({one.value, formOf(one.form), one.bytes, one.kept, one.isFallback, one.reason});
    }
    facts.numbers["forward_stored_bytes"] = static_cast<double>(done.storedBytes);
    facts.numbers["forward_kept_bytes"] = static_cast<double>(done.keptBytes);
    facts.numbers["forward_rebuilds"] = static_cast<double>(done.rebuilds());
}

} // namespace

bool carriesGradient(const ExplainResult& result)
{
    return result.composite.dividesStart || trace::carriesGradient(result.rules);
}

void fillFacts(trace::RunFacts& facts, const FactSources& from)
{
    const auto& [model, request, result, save] = from;
    facts.kind = "explain";
    facts.modelName = model.name;
    Question question;
    question.composite = result.composite.name;
    question.start = nameOf(request.start);
    keepQuestion(question, facts);
    facts.save = save;
    facts.precision = std::string(tensor::nameOf(execute::dtypeOf(request.precision)));
    facts.targetValue = result.target.value;
    facts.targetIndex = result.target.index;
    facts.targetLogit = result.target.logit;
    facts.numbers = {{"relevance_start", result.relevanceStart},
                     {"relevance_inputs", result.relevanceInputs},
                     {"seconds_load", model.seconds},
                     {"seconds_forward", result.secondsForward},
                     {"seconds_relevance", result.secondsRelevance},
                     {"peak_bytes", static_cast<double>(result.peakBytes)}};
    facts.numbers[trace::kGradientNumber] = carriesGradient(result) ? 1 : 0;
    if (const auto segment = segmentIn(request.target)) {
        facts.numbers[trace::kSegmentNumber] = static_cast<double>(*segment);
    }
    if (request.followsDocument) {
        facts.numbers["traversal_document"] = 1;
        facts.numbers["rescues"] = result.counts.rescues;
    }
    if (result.composite.timesInput) {
        facts.numbers["times_input"] = 1; // relevance of an input is to be read as gradient × input
    }
    facts.conditions = request.conditionWords;
    if (!request.conditions.empty()) {
        facts.conditions = fmt::format("beside {}", fmt::join(request.conditions, "; "));
    }
    if (result.region) {
        facts.region = result.region->text;
        facts.numbers["region"] = result.region->total;
        for (const RegionShare& share : regionShares(*result.region, result.relevance, result.model->graph())) {
            facts.numbers["region of " + result.model->graph().value(share.value).name] = share.total;
        }
    }
    if (result.planSaving && result.planSaving->plan) {
        facts.numbers["plan_peak"] = static_cast<double>(result.planSaving->plan->predicted.peak);
        facts.numbers["held_peak"] = static_cast<double>(result.planSaving->heldPeak);
    }
    if (result.planSaving && result.planSaving->search) {
        facts.planTries = result.planSaving->search->tries;
        facts.numbers["plan_search_events_left_out"] = static_cast<double>(result.planSaving->search->leftOut);
    }
    if (result.forwarding) {
        fillForwarding(facts, *result.forwarding);
    }
    facts.input = inputFacts(model.card ? &*model.card : nullptr, request);
    if (model.card) {
        facts.labels = model.card->labels;
        facts.title = model.card->title;
        facts.scores = model.card->scores;
    }
}

} // namespace retro::engine
