// SPDX-License-Identifier: Apache-2.0
#include "core/engine/diagnose.h"

#include "app/cli/context.h"
#include "core/diagnosis/registry.h"
#include "core/engine/language/languagequestion.h"
#include "core/engine/population.h"
#include "core/engine/question/resolve.h"
#include "core/formats/modelfile.h"
#include "core/trace/runfile.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace retro::app
{

namespace
{

using base::Result;

struct DiagnoseOptions
{
    ModelOptions model;
    std::string modelOfRun; ///< --model
    std::string against;
    std::string labels; ///< file
    std::vector<std::string> againstInputs;
    std::vector<std::string> families;
    std::vector<std::string> checks;
    std::string explained; ///< id of a check
    std::string failOn;
    bool isDeep = false;
    bool isAll = false;
    bool isReference = false; ///< of a folder, its first input alone
};

bool isRunFile(const std::string& path) { return path.ends_with(".retro"); }

/// The request of `explain` with the same defaults.
Result<engine::ExplainRequest> diagnosedRequest(const DiagnoseOptions& options, const engine::LoadedModel& model)
{
    const engine::Question& question = options.model.question;
    if (Result<engine::ExplainRequest> asked = engine::resolveWithInputs(question, model);
        asked.ok() || !question.text.empty() || !question.ids.empty()) {
        return asked;
    }
    // An input of a language model that is no text of it: checks say what is wrong with it.
    RETRO_TRY(engine::ExplainRequest request, engine::resolve(question, model));
    RETRO_TRY(request.inputs, options.model.resolve(model));
    return request;
}

using FactsPointer = std::shared_ptr<diagnosis::Facts>;

using PopulationPointer = std::shared_ptr<const diagnosis::Population>;

/// What the model says of the inputs of a folder; null where there is none. Their first one is asked about after that.
Result<PopulationPointer> populationOf(const Context& context, const engine::LoadedModelPointer& model,
                                       DiagnoseOptions& options)
{
    RETRO_TRY(auto inputs, engine::labelledInputs(options.model.question.inputs, options.labels, *model));
    if (inputs) {
        options.model.question.inputs = inputs->items.front().sources;
    }
    return inputs && !options.isReference
               ? engine::populationOf(model, options.model.question, std::move(*inputs), {}, context.progress())
               : Result<PopulationPointer>(PopulationPointer());
}

Result<FactsPointer> factsOfModel(const Context& context, DiagnoseOptions options)
{
    RETRO_TRY(const engine::LoadedModelPointer model, options.model.load());
    RETRO_TRY(PopulationPointer population, populationOf(context, model, options));
    RETRO_TRY(const engine::ExplainRequest request, diagnosedRequest(options, *model));
    return engine::factsOf(model, request, {}, std::move(population));
}

/// Of a run and its model: the one that is named, else the one that is found.
Result<FactsPointer> factsOfRun(const std::string& path, const DiagnoseOptions& options, bool isNamed)
{
    RETRO_TRY(const std::shared_ptr<const trace::Run> run, trace::readRun(path));
    engine::LoadedModelPointer model;
    if (isNamed) {
        ModelOptions named = options.model;
        named.model = options.modelOfRun;
        RETRO_TRY(model, named.load());
        RETRO_CHECK(engine::expectModelOf(*run, *model));
    } else {
        model = engine::modelOfRun(*run, path);
    }
    return engine::factsOf(run, model, std::filesystem::path(path).filename().string());
}

/// Another model on the same input, the same model on another one, or another run.
Result<FactsPointer> referenceOf(const Context& context, const DiagnoseOptions& options)
{
    if (isRunFile(options.against)) {
        return factsOfRun(options.against, options, false);
    }
    DiagnoseOptions other = options;
    if (formats::hasModelEnding(options.against)) {
        other.model.model = options.against;
    } else if (!options.against.empty()) {
        other.model.question.inputs = {options.against};
    }
    if (!options.againstInputs.empty()) {
        other.model.question.inputs = options.againstInputs;
    }
    if (isRunFile(other.model.model)) {
        return base::usageError("beside a recorded run, name another run (.retro) or a model to compare with",
                                "--against " + options.against);
    }
    other.labels.clear();
    other.isReference = true;
    return factsOfModel(context, std::move(other));
}

Result<int> leastLevelOf(const std::string& name)
{
    for (const diagnosis::Level level : {diagnosis::Level::Note, diagnosis::Level::Warning, diagnosis::Level::Error}) {
        if (name == diagnosis::nameOf(level)) {
            return static_cast<int>(level);
        }
    }
    return base::usageError("name note, warning or error", "--fail-on " + name);
}

Result<void> explainCheck(const Context& context, const std::string& id)
{
    const diagnosis::Check* check = diagnosis::findCheck(id);
    if (check == nullptr) {
        std::string known;
        for (const diagnosis::Check* one : diagnosis::checks()) {
            known += fmt::format("{}{}", known.empty() ? "" : ", ", one->id);
        }
        return base::usageError(fmt::format("there is no such check; known are {}", known), "--explain " + id);
    }
    for (const std::string& line : diagnosis::explanationOf(*check)) {
        context.say(line);
    }
    return {};
}

void sayDiagnosis(const Context& context, const diagnosis::Diagnosis& found, bool isAll)
{
    if (context.json) {
        context.answer(diagnosis::jsonOf(found));
    } else {
        for (const std::string& line : diagnosis::textOf(found, isAll ? 0 : 3)) {
            context.say(line);
        }
    }
}

/// A finding has the least level, or the diagnosis itself failed, where that counts.
bool fails(const diagnosis::Diagnosis& found, int least, bool countsFailure)
{
    const bool isFound = std::ranges::any_of(found.findings, [least](const diagnosis::Finding& finding) {
        return static_cast<int>(finding.level) >= least;
    });
    return isFound || (found.failure && countsFailure);
}

Result<void> diagnoseFile(Context& context, const DiagnoseOptions& options)
{
    if (!options.explained.empty()) {
        return explainCheck(context, options.explained);
    }
    if (options.model.model.empty()) {
        return base::usageError("name a model or a recorded run (.retro)", "diagnose");
    }
    const bool isOfRun = isRunFile(options.model.model);
    const bool isNamed = !options.modelOfRun.empty();
    if (isNamed && !isOfRun) {
        return base::usageError("names the model of a recorded run (.retro); of a model alone give it as MODEL",
                                "--model " + options.modelOfRun);
    }
    if (isOfRun && !options.model.question.inputs.empty()) {
        return base::usageError("a recorded run has its input already: ask MODEL about another one",
                                options.model.question.inputs.front());
    }
    RETRO_TRY(const FactsPointer facts,
              isOfRun ? factsOfRun(options.model.model, options, isNamed) : factsOfModel(context, options));
    if (!options.against.empty() || !options.againstInputs.empty()) {
        RETRO_TRY(const FactsPointer reference, referenceOf(context, options));
        facts->setReference(reference);
    }
    RETRO_TRY(const diagnosis::Diagnosis found,
              diagnosis::diagnose(*facts, {options.families, options.checks, options.isDeep, false}));
    sayDiagnosis(context, found, options.isAll);
    if (!options.failOn.empty()) {
        RETRO_TRY(const int least, leastLevelOf(options.failOn));
        context.exitCode = fails(found, least, options.failOn == "error") ? 1 : context.exitCode;
    }
    return {};
}

} // namespace

void addDiagnose(CLI::App& program, Context& context)
{
    auto options = std::make_shared<DiagnoseOptions>();
    CLI::App* verb = addVerb(program, context, "diagnose",
                             "What is wrong with a model, an input or an explanation, where, and how that is known",
                             [&context, options] { return diagnoseFile(context, *options); });
    options->model.addTo(*verb, engine::kDiagnose, context);
    verb->get_option("MODEL")->required(false)->description("Model, or a recorded run (.retro)");
    verb->add_option("--model", options->modelOfRun,
                     "The model of a recorded run, where it is not found: checks of weights then run, too");
    verb->add_option("--labels", options->labels,
                     "CSV file (columns file, label): which class each input of a folder has");
    verb->add_option("--against", options->against,
                     "A model, a recorded run or an input that is known to be good: what differs is found, too");
    verb->add_option("--against-input", options->againstInputs, "NAME=FILE of such an input, one of several")
        ->allow_extra_args(false);
    verb->add_flag("--deep", options->isDeep, "Also the checks that make further passes");
    verb->add_flag("--all", options->isAll, "Every finding with all that follows from it, and checks that did not run");
    verb->add_option("--only", options->families, "Only checks of this family: model, input, flow, …; again for more")
        ->allow_extra_args(false);
    verb->add_option("--check", options->checks, "Only the check of this name: flow.bias; again for more")
        ->allow_extra_args(false);
    verb->add_option("--explain", options->explained, "What a check measures, its threshold, and its healthy range");
    verb->add_option("--fail-on", options->failOn, "Exit with 1 from this level on: note, warning or error")
        ->check(CLI::IsMember({"note", "warning", "error"}));
}

} // namespace retro::app
