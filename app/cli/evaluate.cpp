// SPDX-License-Identifier: Apache-2.0
#include "core/engine/evaluate/evaluation.h"

#include "app/cli/context.h"
#include "app/cli/outputfolder.h"
#include "app/common/curvechart.h"
#include "core/base/csvfield.h"
#include "core/base/failure.h"
#include "core/base/file.h"
#include "core/base/jsonout.h"
#include "core/base/standardstreams.h"
#include "core/engine/language/languagequestion.h"
#include "core/engine/question/resolve.h"
#include "core/engine/results/batch.h"
#include "core/engine/results/resultkey.h"
#include "core/tensor/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <optional>

namespace retro::app
{

namespace fs = std::filesystem;

namespace
{

using base::Result;
using nlohmann::ordered_json;

struct EvaluateOptions
{
    ModelOptions model;
    std::string replacement = "mean";
    std::string outputFolder;
    std::string plot = "svg";
    std::string other;       ///< class; empty = the runner-up
    std::string channelAxis; ///< empty = as layout, card or graph say
    std::string background;  ///< file with the rows of treeshap; empty = what --replace gives
    std::optional<std::int64_t> mask;
    engine::EvaluationOptions evaluation;
};

engine::ChannelAxis axisNamed(const std::string& name)
{
    using enum engine::ChannelAxis;
    return name == "none" ? None : (name == "last" ? Last : First);
}

/// Where the channels are by what a person says; unknown leaves it to the graph.
engine::ChannelAxis channelsOf(const EvaluateOptions& options, const engine::LoadedModel& model)
{
    using enum engine::ChannelAxis;
    if (!options.channelAxis.empty()) {
        return axisNamed(options.channelAxis);
    }
    if (options.model.question.layout == "NCHW") {
        return First;
    }
    // A card that says nothing has the layout NCHW: that one is no statement.
    const std::string layout =
        options.model.question.layout.empty() && model.card ? model.card->layout : options.model.question.layout;
    return layout == "NHWC" || layout == "NTC" ? Last : Unknown;
}

Result<engine::EvaluationOptions> measuresOf(const EvaluateOptions& options, const engine::LoadedModel& model,
                                             const std::optional<engine::LanguageQuestion>& language = std::nullopt)
{
    engine::EvaluationOptions result = options.evaluation;
    result.units.channels = channelsOf(options, model);
    result.units.replacement = options.replacement == "zero" ? engine::Replacement::Zero : engine::Replacement::Mean;
    result.units.mask = options.mask;
    result.flipping.seed = result.attribution.seed;
    if (!options.background.empty()) {
        RETRO_TRY(result.attribution.background, tensor::readNpy(options.background));
    }
    if (!options.other.empty() && language) {
        RETRO_TRY(const std::int64_t word, language->words.idOf(options.other, options.model.question.targetTokens,
                                                                language->language.words, "--other"));
        result.other = word;
    } else if (!options.other.empty()) {
        const std::vector<std::string> labels = model.card ? model.card->labels : std::vector<std::string>();
        RETRO_TRY(const engine::TargetRequest other, engine::parseTarget(options.other, labels));
        if (other.kind != engine::TargetRequest::Kind::Class) {
            return base::usageError("it takes the index or the label of a class", "--other " + options.other);
        }
        result.other = other.classIndex;
    }
    return result;
}

/// Which question a result answers, its inputs as they are before they are read.
Result<engine::ResultKey> keyOf(const EvaluateOptions& options, const engine::LoadedModel& model,
                                const std::vector<std::string>& inputs)
{
    EvaluateOptions plain = options;
    plain.other.clear(); // a word is no number before the text is read: it counts as it is written
    RETRO_TRY(const engine::EvaluationOptions measures, measuresOf(plain, model));
    const std::string hash =
        engine::hashWith(engine::resultHash(model, options.model.question, engine::kEvaluate), measures);
    const std::array<std::string, 2> written{options.plot, options.other};
    return engine::ResultKey{engine::hashWith(hash, written), engine::sourceStamps(inputs, *model.graph())};
}

void sayEvaluation(const Context& context, const engine::Evaluation& evaluation)
{
    context.say(fmt::format("input        {}; {}", evaluation.input, evaluation.units));
    if (!evaluation.held.empty()) {
        context.say(fmt::format("held         {}: nothing is removed there (--flip chooses the input)",
                                fmt::join(evaluation.held, ", ")));
    }
    context.say(fmt::format("target       {}, score {:.6g}{}", evaluation.target, evaluation.score,
                            evaluation.otherClass ? fmt::format("; compared with {}", evaluation.otherPlace) : ""));
    context.say(fmt::format("{:<22} {:>13} {:>11} {:>11} {:>11} {:>10}", "method", "area between", "most first",
                            "least first", "to other", "seconds"));
    for (const engine::MethodMeasures& method : evaluation.methods) {
        const std::string cosine =
            method.cosineToOther ? fmt::format("{:.4f}", *method.cosineToOther) : std::string("–");
        context.say(fmt::format("{:<22} {:>13.5g} {:>11.5g} {:>11.5g} {:>11} {:>10.3f}", method.method,
                                method.curves.between(), method.curves.mostFirst.area, method.curves.leastFirst.area,
                                cosine, method.seconds));
        if (!method.attributed.how.empty()) {
            context.say("  " + method.attributed.how);
        }
        for (const engine::RandomisationStage& stage : method.stages) {
            context.say(fmt::format("  {:<34} cosine {:>8.4f}  rank {:>8.4f}",
                                    fmt::format("{} layers, down to {}", stage.layers, stage.layer),
                                    stage.similarity.cosine, stage.similarity.spearman));
        }
    }
    context.say(fmt::format("{:<22} {:>13} {:>11.5g}", "random", "0", evaluation.random.area));
}

/// A method as part of a file's name: the name of a value may have slashes.
std::string fileStem(std::string method)
{
    std::ranges::replace_if(
        method,
        [](unsigned char c) {
            return std::isalnum(c) == 0 &&
                   std::string_view("_-.+").find(static_cast<char>(c)) == std::string_view::npos;
        },
        '_');
    return method;
}

/// Tables, picture and the attribution of each method; evaluation.json comes last and says that all is there.
Result<void> writeEvaluation(const fs::path& folder, const std::string& plot, const engine::Evaluation& evaluation,
                             const ordered_json& json)
{
    RETRO_CHECK(base::makeFolder(folder / "attributions"));
    RETRO_CHECK(engine::removeResult(folder / "evaluation.json"));
    RETRO_CHECK(base::writeFile(folder / "curves.csv", engine::curvesCsv(evaluation)));
    RETRO_CHECK(base::writeFile(folder / "measures.csv", engine::measuresCsv(evaluation)));
    for (const engine::MethodMeasures& method : evaluation.methods) {
        const std::string stem = fileStem(method.method);
        RETRO_CHECK(tensor::writeNpy(folder / "attributions" / (stem + ".npy"), method.attributed.values));
        for (const auto& [name, array] : method.attributed.arrays) {
            RETRO_CHECK(tensor::writeNpy(folder / "attributions" / fmt::format("{}.{}.npy", stem, name), array));
        }
    }
    RETRO_CHECK(writeCurves(folder / ("curves." + plot), evaluation));
    return base::writeFile(folder / "evaluation.json", base::jsonOut(json, 2) + "\n");
}

/// Of a text: the token that takes the place of removed ones, where nobody said it.
void takeBlank(const Context& context, const engine::LanguageQuestion& language, const engine::LoadedModel& model,
               engine::EvaluationOptions& measures)
{
    const std::string& tokens = model.graph()->value(language.language.tokens).name;
    const auto blank = language.words.blank();
    if (measures.units.mask || !blank || (!measures.input.empty() && measures.input != tokens)) {
        return;
    }
    measures.input = tokens;
    measures.units.mask = *blank;
    if (!context.json) {
        context.say(fmt::format("removed      tokens become {} (--mask-id chooses another one)",
                                language.words.quoted(*blank)));
    }
}

/// Evaluates one input into a folder.
Result<ordered_json> evaluateInto(const Context& context, const EvaluateOptions& options,
                                  const engine::LoadedModelPointer& model, const ModelOptions& inputs,
                                  const fs::path& folder)
{
    RETRO_TRY(const engine::ResultKey asked, keyOf(options, *model, inputs.question.inputs));
    RETRO_TRY(const auto language, engine::languageQuestion(*model, inputs.question));
    const engine::Question question = language ? engine::withoutLanguage(inputs.question, *language) : inputs.question;
    RETRO_TRY(engine::ExplainRequest request, engine::resolve(question, *model));
    RETRO_TRY(engine::EvaluationOptions measures, measuresOf(options, *model, language));
    if (language) {
        RETRO_CHECK(engine::takeLanguage(*language, request));
        takeBlank(context, *language, *model, measures);
    } else {
        RETRO_TRY(request.inputs, inputs.resolve(*model));
        inputs.sayPictures(context, *model, request.inputs);
    }
    RETRO_TRY(const engine::Evaluation evaluation, engine::evaluate(model, request, measures, {}, context.progress()));
    ordered_json json;
    engine::addKey(asked, json);
    json.update(engine::toJson(evaluation));
    RETRO_CHECK(writeEvaluation(folder, options.plot, evaluation, json));
    for (const std::string& warning : evaluation.warnings) { // also with --quiet
        base::sayErrorLine("retrograde-cli: warning: " + warning);
    }
    if (!context.json) {
        sayEvaluation(context, evaluation);
    }
    return json;
}

double areaOf(const ordered_json& result, const char* curve)
{
    return result.value(curve, ordered_json::object()).value("area", 0.0);
}

/// A row per input and method.
std::string rowsOf(const std::string& stem, const ordered_json& result)
{
    std::string rows;
    for (const ordered_json& method : result.value("methods", ordered_json::array())) {
        const ordered_json other = method.value("cosine_to_other", ordered_json());
        rows +=
            fmt::format("{},{},{},{},{},{},{},{},complete\n", base::csvField(stem),
                        base::csvField(result.value("target", "")), method.value("method", ""),
                        method.value("area_between", 0.0), areaOf(method, "most_first"), areaOf(method, "least_first"),
                        areaOf(result, "random"), other.is_null() ? std::string() : base::jsonOut(other));
    }
    return rows;
}

/// The result of an input that was evaluated before; null when there is none for this question.
ordered_json earlier(const fs::path& folder, const engine::ResultKey& asked)
{
    ordered_json json = engine::storedResult(folder / "evaluation.json", asked);
    try {
        return !json.is_null() && !rowsOf({}, json).empty() ? json : ordered_json();
    } catch (const ordered_json::exception&) {
        return {}; // somebody changed it: no result
    }
}

void sayBatch(const Context& context, std::size_t inputs, std::size_t skipped, const std::vector<std::string>& failed,
              const fs::path& index)
{
    const std::size_t evaluated = inputs - skipped - failed.size();
    context.say(fmt::format("batch        {} evaluated now, {} {} there already, {} failed", evaluated, skipped,
                            skipped == 1 ? "was" : "were", failed.size()));
    if (context.json) {
        context.answer({{"inputs", inputs},
                        {"evaluated", evaluated},
                        {"skipped", skipped},
                        {"failed", failed},
                        {"index", index.string()}});
    }
}

Result<void> evaluateMany(const Context& context, const EvaluateOptions& options,
                          const engine::LoadedModelPointer& model, const std::vector<engine::BatchItem>& items)
{
    const fs::path folder = options.outputFolder;
    RETRO_TRY(const HeldFolder lock, holdFolder(folder));
    std::string index = "name,target,method,area_between,area_most_first,area_least_first,area_random,"
                        "cosine_to_other,status\n";
    std::vector<std::string> failed;
    std::size_t skipped = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const engine::BatchItem& item = items[i];
        RETRO_TRY(const engine::ResultKey asked, keyOf(options, *model, item.sources));
        ordered_json json = earlier(folder / item.stem, asked);
        skipped += json.is_null() ? 0 : 1;
        if (json.is_null()) {
            ModelOptions inputs = options.model;
            inputs.question.inputs = item.sources;
            Result<ordered_json> done =
                base::caught([&] { return evaluateInto(context, options, model, inputs, folder / item.stem); });
            if (!done) {
                base::sayErrorLine(fmt::format("retrograde-cli: {}: {}", item.stem, done.error().text()));
                failed.push_back(item.stem);
                index += fmt::format("{},,,,,,,,{}\n", base::csvField(item.stem),
                                     base::csvField("failed: " + done.error().text()));
                RETRO_CHECK(base::writeFile(folder / "index.csv", index));
                continue;
            }
            json = std::move(done).value();
            context.say(fmt::format("evaluated    {} ({} of {})", item.stem, i + 1, items.size()));
        }
        index += rowsOf(item.stem, json);
        RETRO_CHECK(base::writeFile(folder / "index.csv", index)); // what is there is of use when this is stopped
    }
    sayBatch(context, items.size(), skipped, failed, folder / "index.csv");
    return failed.empty() ? Result<void>()
                          : base::inputError(fmt::format("{} of {} inputs could not be evaluated; the others are done",
                                                         failed.size(), items.size()),
                                             failed.front());
}

Result<void> evaluateModel(const Context& context, const EvaluateOptions& options)
{
    RETRO_TRY(const engine::LoadedModelPointer model, options.model.load());
    RETRO_TRY(const std::optional<std::vector<engine::BatchItem>> batch,
              engine::findBatch(options.model.question.inputs, *model->graph()));
    if (batch) {
        return evaluateMany(context, options, model, *batch);
    }
    RETRO_TRY(const HeldFolder lock, holdFolder(options.outputFolder));
    RETRO_TRY(const ordered_json json, evaluateInto(context, options, model, options.model, options.outputFolder));
    if (context.json) {
        context.answer(json);
    }
    return {};
}

void addMeasures(CLI::App& verb, EvaluateOptions& options)
{
    engine::EvaluationOptions& evaluation = options.evaluation;
    verb.add_option("--method", evaluation.methods,
                    fmt::format("Methods to evaluate (default lrp input_x_gradient): {}",
                                fmt::join(engine::attributionNames(), ", ")))
        ->allow_extra_args(false);
    verb.add_option(
        "--other", options.other,
        "Class, by index or label, whose attribution is compared with the target's (default: the runner-up); of a "
        "text a word, or the number of a token");
    verb.add_option("--flip", evaluation.input,
                    "Input whose parts are removed (default: the first of numbers that carries relevance)");
    verb.add_option(
            "--channel-axis", options.channelAxis,
            "Where the input's channels are: first, last, or none to remove single elements (default: as layout, "
            "card or graph say)")
        ->check(CLI::IsMember({"first", "last", "none"}));
    verb.add_option("--mask-id", options.mask, "Of an input of tokens: the token that takes the place of removed ones");
    verb.add_option("--steps", evaluation.flipping.steps, "Points of the curves (default 20)")
        ->check(CLI::Range(1, 100'000));
    verb.add_option("--patch", evaluation.units.patch,
                    "Side of the squares of a picture (default: a sixteenth of its shorter side) or cubes of a volume "
                    "(of its longest side), steps of a series at once (default 1)")
        ->check(CLI::Range(0, 100'000));
    verb.add_option("--replace", options.replacement,
                    "What replaces removed parts: mean (default, per channel) or zero")
        ->check(CLI::IsMember({"mean", "zero"}));
    verb.add_option("--random-orders", evaluation.flipping.randomOrders, "Orders of the random baseline (default 3)")
        ->check(CLI::Range(1, 1000));
    verb.add_option("--randomise", evaluation.stages,
                    "Also shuffle layers from the output down and compare, at up to this many stages (default 0)")
        ->check(CLI::Range(0, 10'000));
    verb.add_option("--integration-steps", evaluation.attribution.integrationSteps,
                    "Gradients on the way of integrated_gradients (default 32)")
        ->check(CLI::Range(1, 100'000));
    verb.add_option("--noise-samples", evaluation.attribution.noiseSamples, "Noisy inputs of smoothgrad (default 16)")
        ->check(CLI::Range(1, 100'000));
    verb.add_option("--noise", evaluation.attribution.noise,
                    "Deviation of that noise, as a share of the input's range (default 0.1)")
        ->check(CLI::Range(0.0, 100.0));
    verb.add_option("--permutations", evaluation.attribution.permutations,
                    "Orders that shapley draws, of more than 10 units (default 25)")
        ->check(CLI::Range(1, 1'000'000));
    verb.add_option("--background", options.background,
                    ".npy with rows of features that treeshap compares with (default: what --replace gives)");
    verb.add_option("--seed", evaluation.attribution.seed, "Of orders, noise and shuffles (default 1)");
}

} // namespace

void addEvaluate(CLI::App& program, Context& context)
{
    auto options = std::make_shared<EvaluateOptions>();
    CLI::App* verb = addVerb(program, context, "evaluate",
                             "Flipping curves and other measures of LRP and of what it is compared with",
                             [&context, options] { return evaluateModel(context, *options); });
    options->model.addTo(*verb, engine::kEvaluate, context);
    verb->add_option("--output-dir", options->outputFolder, "Folder for the results; made when it is missing")
        ->required();
    verb->add_option("--plot", options->plot, "Format of the curves' picture: svg (default), png or pdf")
        ->check(CLI::IsMember({"svg", "png", "pdf"}));
    addMeasures(*verb, *options);
}

} // namespace retro::app
