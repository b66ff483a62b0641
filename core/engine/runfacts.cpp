// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runfacts.h"

#include "core/engine/inputfacts.h"
#include "core/engine/plan/planevents.h"

namespace retro::engine
{

void fillFacts(trace::RunFacts& facts, const FactSources& from)
{
    const auto& [model, request, result, save] = from;
    facts.kind = "explain";
    facts.modelName = model.name;
    facts.composite = result.composite.name;
    facts.engine = "promise";
    facts.save = save;
    facts.precision = std::string(tensor::nameOf(execute::dtypeOf(request.precision)));
    facts.start = nameOf(request.start);
    facts.targetValue = result.target.value;
    facts.targetIndex = result.target.index;
    facts.targetLogit = result.target.logit;
    facts.numbers = {{"relevance_start", result.relevanceStart},
                     {"relevance_inputs", result.relevanceInputs},
                     {"seconds_load", model.seconds},
                     {"seconds_forward", result.secondsForward},
                     {"seconds_relevance", result.secondsRelevance},
                     {"peak_bytes", static_cast<double>(result.peakBytes)}};
    if (result.composite.timesInput) {
        facts.numbers["times_input"] = 1; // relevance of an input is to be read as gradient × input
    }
    if (result.planSaving && result.planSaving->search) {
        facts.planTries = result.planSaving->search->tries;
        facts.numbers["plan_search_events_left_out"] = static_cast<double>(result.planSaving->search->leftOut);
    }
    facts.input = inputFacts(model.card ? &*model.card : nullptr, request);
    if (model.card) {
        facts.labels = model.card->labels;
        facts.title = model.card->title;
        facts.scores = model.card->scores;
    }
}

} // namespace retro::engine
