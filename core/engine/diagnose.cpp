// SPDX-License-Identifier: Apache-2.0
#include "core/engine/diagnose.h"

#include "core/engine/compare/compare.h"
#include "core/engine/explain/requestcheck.h"
#include "core/engine/input/pictureuse.h"
#include "core/engine/model/binding.h"
#include "core/engine/model/precision.h"
#include "core/engine/model/prepare.h"
#include "core/engine/results/runfacts.h"
#include "core/engine/results/runweights.h"
#include "core/execute/control/unroll.h"
#include "core/execute/forward.h"
#include "core/formats/modelfile.h"
#include "core/graph/graphbuilder.h"
#include "core/trace/gradientrun.h"
#include "core/trace/ledgersummary.h"

#include <algorithm>
#include <utility>

namespace retro::engine
{

using base::Result;
using base::ValueId;
using diagnosis::Facts;
using tensor::Tensor;

namespace
{

/// The graph that a model runs as, and the shape of every value.
void takeModel(const std::shared_ptr<const execute::BoundModel>& model, diagnosis::Pass& pass)
{
    pass.model = model;
    pass.graph = model->sharedGraph();
    for (std::size_t i = 0; i < pass.graph->valueCount(); ++i) {
        pass.shapes.push_back(model->typeOf(ValueId(i)).shape);
    }
}

void takeForward(std::shared_ptr<const execute::ForwardResult> forward, diagnosis::Pass& pass)
{
    pass.hasForward = true;
    pass.kept = [held = std::move(forward)](ValueId value) {
        const Tensor kept = held->saved.anyValue(value);
        return kept.isValid() ? kept : held->value(value);
    };
}

/// A model that could not be explained, for `why`: its shapes, rules and forward values, as far as they can be had.
Result<diagnosis::Pass> passWithoutRelevance(const LoadedModel& model, const ExplainRequest& request,
                                             const base::Error& why, const std::stop_token& stop)
{
    if (execute::isTooLong(why)) {
        return why; // it would be written out as far again
    }
    diagnosis::Pass pass;
    // First, as this is what most often cannot be had: written out loops take long.
    RETRO_TRY(std::shared_ptr<const execute::BoundModel> bound,
              bindModel(model, request.inputs, request.precision, nullptr, stop, bindOptionsFor(request.target)));
    if (auto prepared = prepare(model, request, nullptr, stop)) {
        bound = (*prepared)->model;
        pass.rules = (*prepared)->words;
        pass.assigned = (*prepared)->rules;
        pass.composite = (*prepared)->composite.name;
        pass.compositeReason = (*prepared)->composite.reason;
        pass.unused = (*prepared)->unused;
    }
    takeModel(bound, pass);
    if (auto target = targetValue(request.target, *bound)) {
        pass.target = *target;
    }
    auto forward = execute::forward(bound, inPrecision(bound->graph(), request.inputs, request.precision),
                                    execute::SavePolicy::All, stop);
    if (forward.ok()) {
        takeForward(std::make_shared<const execute::ForwardResult>(std::move(forward).value()), pass);
    }
    return pass;
}

diagnosis::Sources sourcesOf(const LoadedModel& model, const std::stop_token& stop)
{
    diagnosis::Sources sources;
    sources.modelName = model.name;
    sources.model = std::make_shared<diagnosis::ModelFacts>(model.read ? model.read : model.rewritten.before);
    sources.steps = model.rewritten.steps;
    sources.fused = model.rewritten.fused;
    sources.card = model.card;
    sources.stop = stop;
    return sources;
}

diagnosis::Sources sourcesOf(const LoadedModel& model, const ExplainRequest& request, const std::stop_token& stop)
{
    diagnosis::Sources sources = sourcesOf(model, stop);
    sources.inputs = request.inputs;
    for (const PictureUse& picture : request.pictures) {
        sources.pixels.push_back(pixelsOf(picture, *model.graph(), request.preparation.value_or(PictureOptions())));
    }
    sources.composite = request.composite;
    if (request.target.kind == TargetRequest::Kind::Class) {
        sources.classAsked = request.target.classIndex;
    }
    sources.hasOwnTarget = request.target.kind != TargetRequest::Kind::Argmax;
    sources.startsAtScores = request.target.atScores && !request.target.namesValue();
    return sources;
}

/// Further passes of the same model.
diagnosis::VariedPassMaker variations(const LoadedModelPointer& model, const ExplainRequest& request,
                                      const std::stop_token& stop)
{
    return [model, request, stop](const diagnosis::Variation& variation) -> Result<diagnosis::Pass> {
        ExplainRequest again = request;
        again.record = again.keepValues = false;
        again.keepsForward = true;
        again.composite = variation.composite.value_or(request.composite);
        again.inputs = variation.inputs.value_or(request.inputs);
        if (variation.classIndex) {
            again.target.kind = TargetRequest::Kind::Class;
            again.target.classIndex = *variation.classIndex;
        }
        RETRO_TRY(const ExplainResult result, explain(*model, again, stop));
        return passOf(result);
    };
}

/// The data of the inputs of a run; some may be invalid.
std::vector<Tensor> inputsOf(const trace::Run& run)
{
    std::vector<Tensor> inputs;
    for (const ValueId input : run.graph->inputs()) {
        inputs.push_back(run.values[input.index()]);
    }
    return inputs;
}

execute::Precision precisionIn(const trace::Run& run, const LoadedModel& model)
{
    const auto wide =
        precisionOf(model) == execute::Precision::Declared ? execute::Precision::Declared : execute::Precision::Double;
    return run.facts.precision == "float64" ? wide : execute::Precision::Float;
}

/// The model of a run, bound to its inputs with weights; null where that does not go.
std::shared_ptr<const execute::BoundModel> boundFor(const trace::Run& run, const LoadedModel& model,
                                                    const std::stop_token& stop)
{
    const std::vector<Tensor> inputs = inputsOf(run);
    if (!std::ranges::all_of(inputs, &Tensor::isValid)) {
        return nullptr;
    }
    auto bound = bindModel(model, inputs, precisionIn(run, model), nullptr, stop);
    const bool fits = bound.ok() && graph::structuralHash((*bound)->graph()) == graph::structuralHash(*run.graph);
    return fits ? *bound : nullptr;
}

/// Errors (Input): the graph, as it is rewritten, is not the one of the run.
Result<void> expectGraphOf(const trace::Run& run, const LoadedModel& model)
{
    // A loop is written out in the graph of the run alone: what does not fit is then not bound (boundFor()).
    const bool fits = execute::hasControlFlow(*model.graph()) ||
                      graph::structuralHash(*model.graph()) == graph::structuralHash(*run.graph);
    if (!fits) {
        return base::inputError(
            "this is not the model of the run, or the run had it rewritten in another way: give the "
            "options of that explanation (--rewrite, --no-rewrite, --no-fold), too",
            model.name);
    }
    return {};
}

/// The model in a file, rewritten as in the run; null where it is another one.
LoadedModelPointer modelIn(const std::filesystem::path& file, const trace::Run& run, const std::stop_token& stop)
{
    const auto model = loadModel(file, rewrite::RewriteOptions(), stop);
    if (!model) {
        return nullptr;
    }
    const std::string digest = run.facts.modelDigest.empty() ? std::string() : fileDigest(**model);
    if (digest != run.facts.modelDigest && !digest.empty()) {
        return nullptr;
    }
    const auto fitting = withRewritesOf(run, *model, stop);
    const bool isProved = !digest.empty(); // else its forward values have to tell
    return fitting.ok() && (isProved || expectModelOf(run, **fitting, stop).ok()) ? *fitting : nullptr;
}

/// The checks that go along with every explanation.
Result<diagnosis::Diagnosis> cheapDiagnosis(const Facts& facts)
{
    diagnosis::Options options;
    options.isCheapAlone = true;
    return diagnosis::diagnose(facts, options);
}

} // namespace

diagnosis::Pass passOf(const ExplainResult& result)
{
    diagnosis::Pass pass;
    takeModel(result.model, pass);
    if (result.forward) {
        takeForward(result.forward, pass);
    }
    pass.hasRelevance = !result.stoppedEarly; // at checkpoints: what lies behind them is not known
    pass.relevance = result.relevance;
    pass.ledger = result.ledger;
    pass.started = result.relevanceStart;
    pass.arrived = result.relevanceInputs;
    pass.rules = result.rules;
    pass.assigned = result.assigned;
    pass.target = result.target.value;
    pass.targetIndex = result.target.index;
    pass.targetScore = result.target.logit;
    pass.composite = result.composite.name;
    pass.compositeReason = result.composite.reason;
    pass.unused = result.unusedRules;
    pass.isGradient = carriesGradient(result);
    return pass;
}

diagnosis::Pass passOf(const std::shared_ptr<const trace::Run>& run, const LoadedModel* model,
                       const std::stop_token& stop)
{
    diagnosis::Pass pass;
    const auto bound = model != nullptr ? boundFor(*run, *model, stop) : nullptr;
    if (bound) {
        takeModel(bound, pass);
    } else {
        pass.graph = run->graph;
        pass.shapes = run->shapes;
    }
    pass.hasForward = true;
    pass.kept = [run](ValueId value) {
        return value.index() < run->values.size() ? run->values[value.index()] : Tensor();
    };
    pass.hasRelevance = run->facts.kind == "explain";
    pass.relevance = finalRelevance(*run);
    pass.ledger = run->ledger;
    const trace::LedgerSummary summary = trace::summarise(*run);
    pass.started = summary.start;
    pass.arrived = summary.leaves;
    pass.rules = run->rules;
    pass.target = run->facts.targetValue;
    pass.targetIndex = run->facts.targetIndex;
    pass.targetScore = run->facts.targetLogit;
    pass.composite = run->facts.composite;
    pass.isGradient = trace::carriesGradient(*run);
    return pass;
}

std::shared_ptr<Facts> factsOf(const LoadedModelPointer& model, const ExplainRequest& request,
                               const std::stop_token& stop, std::shared_ptr<const diagnosis::Population> population)
{
    diagnosis::Sources sources = sourcesOf(*model, request, stop);
    sources.population = std::move(population);
    sources.explainAgain = variations(model, request, stop);
    const auto facts = std::make_shared<std::weak_ptr<Facts>>();
    sources.makePass = [model, request, stop, facts]() -> Result<diagnosis::Pass> {
        ExplainRequest wanted = request;
        wanted.record = wanted.keepValues = wanted.inputsOnly = false;
        wanted.keepsForward = true;
        auto result = explain(*model, wanted, stop);
        if (result.ok()) {
            return passOf(*result);
        }
        const auto held = facts->lock();
        if (held == nullptr || result.error().code == base::ErrorCode::Cancelled) {
            return result.error();
        }
        auto pass = passWithoutRelevance(*model, wanted, result.error(), stop);
        if (!pass) {
            return result.error();
        }
        held->fail(result.error());
        return pass;
    };
    auto made = std::make_shared<Facts>(std::move(sources));
    *facts = made;
    return made;
}

std::shared_ptr<Facts> factsOf(const LoadedModel& model, const ExplainRequest& request, const ExplainResult& result,
                               const std::stop_token& stop)
{
    diagnosis::Sources sources = sourcesOf(model, request, stop);
    sources.makesPasses = false; // an explanation is made once
    sources.makePass = [pass = passOf(result)]() -> Result<diagnosis::Pass> { return pass; };
    return std::make_shared<Facts>(std::move(sources));
}

std::shared_ptr<Facts> factsOf(const std::shared_ptr<const trace::Run>& run, const LoadedModelPointer& model,
                               const std::string& name, const std::stop_token& stop)
{
    diagnosis::Sources sources;
    if (model) {
        sources = sourcesOf(*model, stop);
    }
    sources.modelName = run->facts.modelName;
    sources.runName = name;
    sources.pixels = pixelsOf(*run);
    sources.stop = stop;
    sources.composite = run->facts.composite;
    sources.inputs = inputsOf(*run);
    if (!std::ranges::all_of(sources.inputs, &Tensor::isValid)) {
        sources.inputs.clear();
    }
    sources.makePass = [run, model, stop]() -> Result<diagnosis::Pass> { return passOf(run, model.get(), stop); };
    return std::make_shared<Facts>(std::move(sources));
}

Result<void> expectModelOf(const trace::Run& run, const LoadedModel& model, const std::stop_token& stop)
{
    RETRO_CHECK(expectGraphOf(run, model));
    const auto bound = boundFor(run, model, stop);
    return bound
               ? expectWeightsOf(run, bound, inPrecision(bound->graph(), inputsOf(run), precisionIn(run, model)), stop)
               : Result<void>();
}

Result<LoadedModelPointer> withRewritesOf(const trace::Run& run, const LoadedModelPointer& model,
                                          const std::stop_token& stop)
{
    const Result<void> fits = expectGraphOf(run, *model);
    if (fits) {
        return model;
    }
    std::vector<rewrite::RewriteOptions> tried;
    for (const rewrite::RewriteName& name : rewrite::rewriteNames()) {
        tried.push_back(model->rewritten.options);
        tried.back().*name.option = !(tried.back().*name.option);
    }
    tried.push_back(model->rewritten.options);
    tried.back().mergeBatchNorm = tried.back().mergeBatchNormRight = false;
    tried.push_back(rewrite::noRewrites());
    for (const rewrite::RewriteOptions& options : tried) {
        RETRO_TRY(const LoadedModelPointer other, withRewrites(model, options, stop));
        if (expectGraphOf(run, *other)) {
            return other;
        }
    }
    return fits.error();
}

std::vector<std::filesystem::path> modelPlaces(const trace::RunFacts& facts, const std::filesystem::path& runFile)
{
    std::vector<std::filesystem::path> places;
    const auto add = [&places](const std::filesystem::path& place) {
        std::error_code ignored;
        if (formats::hasModelEnding(place) && std::filesystem::is_regular_file(place, ignored)) {
            places.push_back(place);
        }
    };
    if (!facts.modelName.empty()) { // no way out of the run's folder
        add(runFile.parent_path() / std::filesystem::path(facts.modelName).filename());
    }
    add(facts.modelPath);
    return places;
}

LoadedModelPointer modelOfRun(const trace::Run& run, const std::filesystem::path& runFile, const std::stop_token& stop)
{
    for (const std::filesystem::path& place : modelPlaces(run.facts, runFile)) {
        if (const LoadedModelPointer model = modelIn(place, run, stop)) {
            return model;
        }
    }
    return nullptr;
}

Result<void> addDiagnosis(const LoadedModel& model, const ExplainRequest& request, ExplainResult& result,
                          const std::shared_ptr<diagnosis::ModelFacts>& weights, const std::stop_token& stop)
{
    diagnosis::Sources sources = sourcesOf(model, request, stop);
    sources.makesPasses = false;
    sources.makePass = [&result]() -> Result<diagnosis::Pass> { return passOf(result); };
    if (weights) {
        sources.model = weights;
    }
    RETRO_TRY(diagnosis::Diagnosis made, cheapDiagnosis(Facts(std::move(sources))));
    result.diagnosis = std::make_shared<const diagnosis::Diagnosis>(std::move(made));
    result.forward.reset();
    return {};
}

std::optional<diagnosis::Finding> causeOf(const LoadedModel& model, const ExplainRequest& request,
                                          const base::Error& error, const std::stop_token& stop)
{
    const bool isOurs = error.code == base::ErrorCode::Input || error.code == base::ErrorCode::Engine ||
                        error.code == base::ErrorCode::Usage;
    if (!isOurs) {
        return std::nullopt;
    }
    diagnosis::Sources sources = sourcesOf(model, request, stop);
    sources.makesPasses = false;
    sources.makePass = [&] { return passWithoutRelevance(model, request, error, stop); };
    Facts facts(std::move(sources));
    facts.fail(error);
    const auto made = cheapDiagnosis(facts);
    const diagnosis::Finding* first = made.ok() ? made->severe() : nullptr;
    return first != nullptr ? std::optional(*first) : std::nullopt;
}

} // namespace retro::engine
