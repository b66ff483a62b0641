// SPDX-License-Identifier: Apache-2.0
#include "app/cli/batch.h"
#include "app/cli/explaintext.h"
#include "app/cli/outputfolder.h"
#include "app/cli/planruntext.h"
#include "app/cli/profiletext.h"
#include "app/cli/relevancegraph.h"
#include "app/common/freedmemory.h"
#include "app/common/heatmapfile.h"
#include "core/base/file.h"
#include "core/base/filebatch.h"
#include "core/base/record.h"
#include "core/engine/diagnose.h"
#include "core/engine/explain/oraclecheck.h"
#include "core/engine/input/tokenwords.h"
#include "core/engine/language/languagepage.h"
#include "core/engine/language/languagequestion.h"
#include "core/engine/lut/lutdecisions.h"
#include "core/engine/plan/carriedplan.h"
#include "core/engine/plan/plannedsaving.h"
#include "core/engine/question/combinations.h"
#include "core/engine/question/resolve.h"
#include "core/engine/region/keptregion.h"
#include "core/engine/results/resultrows.h"
#include "core/engine/results/results.h"
#include "core/engine/ways/workload.h"
#include "core/tensor/npy.h"
#include "core/trace/runfile.h"
#include "views/common/run/runtexts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace retro::app
{

namespace
{

using base::Result;

struct ExplainOptions
{
    ModelOptions model;
    std::string outputFolder;
    std::string out; ///< a file of rows
    std::string compositeFile;
    std::string shard;
    RelevanceGraphOptions graph;
    int jobs = 1;
    bool rules = false;
    bool estimate = false;
    std::shared_ptr<diagnosis::ModelFacts> weights; ///< of a batch: what checks know of the model
    bool isBatch = false;                           ///< one input of many
    bool isFirst = false;                           ///< the first of them
    bool isText = false;                            ///< a text: its tokens are said in place of the usual lines

    [[nodiscard]] const engine::Question& question() const { return model.question; }
};

using LanguageQuestion = std::optional<engine::LanguageQuestion>;

/// Which question the results answer, with its inputs as they are before they are read.
engine::ResultKey keyOf(const ExplainOptions& options, const engine::LoadedModel& model)
{
    return {engine::resultHash(model, options.question(), engine::kExplain),
            engine::sourceStamps(options.question().inputs, *model.graph())};
}

/// Nothing is asked but to show the rules, or to write them.
bool asksRulesAlone(const ExplainOptions& options)
{
    return options.rules || (!options.compositeFile.empty() && options.outputFolder.empty() && options.out.empty());
}

Result<engine::ExplainRequest> requestOf(const ExplainOptions& options, const engine::LoadedModel& model,
                                         const LanguageQuestion& language = std::nullopt)
{
    const engine::Question question =
        language ? engine::withoutLanguage(options.question(), *language) : options.question();
    RETRO_TRY(engine::ExplainRequest request, engine::resolve(question, model));
    if (language) {
        RETRO_CHECK(engine::takeLanguage(*language, request));
    } else {
        RETRO_TRY(request.inputs,
                  asksRulesAlone(options) ? options.model.resolveOrZeros(model) : options.model.resolve(model));
    }
    const bool isPlanned = engine::asksFor(options.question(), "planned");
    request.keepsForward = !request.inputsOnly && !isPlanned && !request.forwarding;
    if (request.engine == engine::EngineKind::Promise && !request.inputsOnly && !isPlanned &&
        engine::hasLutLayer(*model.graph())) {
        request.record = request.keepValues = true; // what decided in its tables follows from the run
    }
    return request;
}

Result<void> showRules(const Context& context, const ExplainOptions& options, const engine::LoadedModel& model,
                       const engine::ExplainRequest& request)
{
    lrp::Composite composite;
    std::vector<std::string> unused;
    RETRO_TRY(const std::vector<engine::RuleLine> lines, engine::listRules(model, request, &composite, {}, &unused));
    warn(unused);
    if (!options.compositeFile.empty()) {
        RETRO_CHECK(base::writeFile(options.compositeFile, lrp::toJson(composite)));
    }
    if (!options.rules) {
        return {};
    }
    if (context.json) {
        const nlohmann::ordered_json nodes =
            base::listOf(lines, [&](const engine::RuleLine& line) -> nlohmann::ordered_json {
                return {{"node", line.name}, {"operator", line.op}, {"rule", line.rule}, {"matcher", line.matcher}};
            });
        context.answer(
            {{"composite", composite.name}, {"reason", composite.reason}, {"nodes", nodes}, {"warnings", unused}});
        return {};
    }
    context.say(
        fmt::format("composite {}{}", composite.name, composite.reason.empty() ? "" : " (" + composite.reason + ")"));
    context.say(fmt::format("{:<40} {:<22} {:<28} {}", "node", "operator", "rule", "chosen by"));
    for (const engine::RuleLine& line : lines) {
        context.say(fmt::format("{:<40} {:<22} {:<28} {}", line.name, line.op, line.rule, line.matcher));
    }
    return {};
}

Result<void> writeImage(const ExplainOptions& options, const engine::LoadedModel& model,
                        const engine::ExplainRequest& request, const engine::ExplainResult& result)
{
    const graph::Graph& graph = result.model->graph();
    HeatmapJob job;
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
        const tensor::Tensor& relevance = result.relevance[graph.inputs()[i].index()];
        if (relevance.isValid() && !job.relevance.isValid()) {
            job.relevance = relevance;
            job.picture = pictureOfInput(request.inputs[i], *request.preparation);
            job.words = model.card ? engine::tokenWords(*model.card, request.inputs[i]) : std::vector<std::string>();
        }
    }
    if (!job.relevance.isValid()) {
        return base::inputError("no relevance reached an input, so there is no heatmap to draw", model.name);
    }
    const engine::Question asked = engine::completed(options.question(), nullptr);
    job.colormap = asked.colormap;
    job.bits = asked.bits == "16" ? 16 : 8;
    job.overlay = asked.overlay;
    job.isSeries = model.card && model.card->layout.starts_with("NT");
    job.modelName = model.name;
    job.modelHash = views::modelHashText(graph);
    job.step = result.counts.events;
    job.composite = result.composite.name;
    job.target = placeOf(model, graph, result.asked.value_or(result.target), 0);
    job.visit = result.counts.visits;
    return writeHeatmap(asked.image, job);
}

/// What everybody should know: the worst finding where it is severe, and that relevance explodes.
void saySevere(const engine::ExplainResult& result)
{
    for (const diagnosis::Finding* finding :
         result.diagnosis ? result.diagnosis->said() : std::vector<const diagnosis::Finding*>()) {
        warn({finding->line() + " (diagnose says more)"});
    }
}

/// Why there is no result, where a check knows; the error itself is said by whoever gets it.
void sayCause(const engine::LoadedModel& model, const engine::ExplainRequest& request, const base::Error& error)
{
    if (const std::optional<diagnosis::Finding> cause = engine::causeOf(model, request, error)) {
        warn({cause->line() + ": " + cause->meaning()});
    }
}

void sayAll(const Context& context, const ExplainOptions& options, const engine::LoadedModel& model,
            const engine::ExplainResult& result, const std::vector<engine::OpenedFused>& opened, bool asksProfile)
{
    const auto rows = engine::rowsOf("profile-rows", options.question());
    if (!options.isText) {
        sayResult(context, model, result, rows);
    }
    sayParameters(context, result);
    sayCheckpoints(context, result);
    sayConditions(context, result);
    sayRegion(context, result);
    sayOpened(context, opened);
    if (asksProfile && result.profile) {
        sayProfile(context, result.model->graph(), *result.profile, rows);
    }
}

/// Of a pass that a plan carries out, relevance goes to its files as it is made, so that it is not held in memory,
/// unless more than the files is made of it.
void handOut(const ExplainOptions& options, engine::ExplainRequest& request, base::FileBatch& files)
{
    const engine::Question& asked = options.question();
    const bool isRead =
        options.isText || !asked.open.empty() || asked.checkOracle || request.parameters || request.region.isAsked();
    if (engine::carriesOut(request) == nullptr || options.outputFolder.empty() || request.inputsOnly || isRead) {
        return;
    }
    const std::filesystem::path folder = options.outputFolder;
    request.onRelevance =
        [folder, &files, names = std::vector<std::string>()](const execute::BoundModel& bound, base::ValueId value,
                                                             const tensor::Tensor& relevance) mutable -> Result<void> {
        if (names.empty()) {
            names = engine::fileNames(bound.graph());
            RETRO_CHECK(base::makeFolder(folder / "relevance"));
            RETRO_CHECK(engine::removeResult(folder / "summary.json"));
        }
        return files.add(folder / "relevance" / (names[value.index()] + ".npy"), tensor::toNpy(relevance));
    };
}

/// What was written, and where.
void sayWritten(const Context& context, const ExplainOptions& options)
{
    std::vector<std::string> files;
    if (!options.outputFolder.empty()) {
        const std::filesystem::path summary = std::filesystem::path(options.outputFolder) / "summary.json";
        files.push_back(summary.string() + " and the files that it lists");
    }
    for (const std::string& file : {options.question().image, options.question().run}) {
        if (!file.empty()) {
            files.push_back(file);
        }
    }
    if (!files.empty()) {
        context.say(fmt::format("written      {}", fmt::join(files, ", ")));
    }
}

using Explain = std::function<Result<engine::ExplainResult>(const engine::ExplainRequest&)>;

/// Explains one input and writes all that was asked for; the summary comes last and says that all is there.
Result<engine::ExplainResult> explainInto(const Context& context, const ExplainOptions& options,
                                          const engine::LoadedModel& model, engine::ExplainRequest request,
                                          const engine::ResultKey& asked, const Explain& explain)
{
    base::FileBatch handedOut;
    handOut(options, request, handedOut);
    Result<engine::ExplainResult> explained = explain(request);
    if (!explained) {
        sayCause(model, request, explained.error());
        return explained.error();
    }
    RETRO_CHECK(handedOut.finish());
    engine::ExplainResult result = std::move(explained).value();
    RETRO_CHECK(engine::addDiagnosis(model, request, result, options.weights));
    if (!options.isBatch || options.isFirst) {
        options.model.sayPictures(context, model, request.inputs);
        warn(result.warnings);
    }
    saySevere(result);
    RETRO_TRY(const std::vector<engine::OpenedFused> opened,
              engine::openFused(model, request, result, options.question().open));
    const std::filesystem::path folder = options.outputFolder;
    if (!folder.empty()) {
        RETRO_CHECK(base::makeFolder(folder));
        RETRO_CHECK(engine::removeResult(folder / "summary.json"));
    }
    if (const std::string& file = options.question().run; !file.empty() && !options.isText) {
        RETRO_CHECK(trace::writeRecorded(
            file, {result.run, {}, result.runPlan, result.region ? engine::keptRegion(*result.region) : nullptr}));
    }
    if (!options.question().image.empty()) {
        RETRO_CHECK(writeImage(options, model, request, result));
    }
    if (!folder.empty()) {
        RETRO_CHECK(engine::writeExplanation(folder, model, request, result, opened, asked, handedOut.added()));
    }
    if (!options.isBatch && !context.json) {
        sayAll(context, options, model, result, opened, request.profile);
        sayWritten(context, options);
    }
    return result;
}

/// The options of one item of a batch: its results lie in a folder of their own, picture and run as well.
ExplainOptions optionsFor(const ExplainOptions& options, const engine::BatchItem& item)
{
    ExplainOptions own = options;
    const std::filesystem::path folder = std::filesystem::path(options.outputFolder) / item.stem;
    const auto inFolder = [&folder](const std::string& file) {
        return file.empty() ? file : (folder / std::filesystem::path(file).filename()).string();
    };
    own.model.question.inputs = item.sources;
    own.outputFolder = options.outputFolder.empty() ? std::string() : folder.string();
    own.model.question.image = inFolder(options.question().image);
    own.model.question.run = inFolder(options.question().run);
    own.isBatch = true;
    return own;
}

/// The file of rows, where one is asked for. What is kept of a pass beside the inputs changes no row.
Result<std::optional<rows::RowFile>> openRows(const ExplainOptions& options, const engine::LoadedModel& model)
{
    if (options.out.empty()) {
        return std::optional<rows::RowFile>();
    }
    engine::Question question = options.question();
    question.inputsOnly = false;
    RETRO_TRY(rows::RowFile file,
              rows::RowFile::open(options.out, engine::rowHeadOf(model, question,
                                                                 engine::resultHash(model, question, engine::kExplain),
                                                                 RETRO_VERSION)));
    return std::optional<rows::RowFile>(std::move(file));
}

/// The run of a text with its tokens, layers and steps.
Result<void> writeTextRun(const ExplainOptions& options, const engine::ExplainResult& result,
                          const engine::LanguageReport& report)
{
    const std::string& file = options.question().run;
    return file.empty() ? Result<void>()
                        : trace::writeRecorded(file, {result.run,
                                                      {},
                                                      result.runPlan,
                                                      result.region ? engine::keptRegion(*result.region) : nullptr,
                                                      std::make_shared<const trace::RunText>(engine::runText(report))});
}

/// What is written of one text of a batch, and its run.
Result<void> writeText(const ExplainOptions& options, const engine::LoadedModel& model,
                       const engine::LanguageQuestion& language, const engine::ExplainRequest& request,
                       const engine::ExplainResult& result)
{
    RETRO_TRY(engine::LanguageReport report, engine::reportOf(language, model, options.question(), result));
    RETRO_CHECK(engine::addAttention(language, options.question(), request, result,
                                     engine::LayerWish::of(language, options.question()), report));
    if (!options.outputFolder.empty()) {
        RETRO_CHECK(engine::writeReport(options.outputFolder, report));
    }
    return writeTextRun(options, result, report);
}

Result<void> explainMany(const Context& context, const ExplainOptions& options, const engine::LoadedModelPointer& model,
                         std::vector<engine::BatchItem> items)
{
    BatchPlan plan{std::move(items), {}, options.jobs, options.outputFolder, {}, *model->graph()};
    if (!options.shard.empty()) {
        RETRO_TRY(plan.shard, engine::parseShard(options.shard));
    }
    plan.question = keyOf(options, *model).hash;
    RETRO_TRY(std::optional<rows::RowFile> rows, openRows(options, *model));
    plan.rows = rows ? &*rows : nullptr;
    engine::Explainer explainer(model);
    const auto weights = std::make_shared<diagnosis::ModelFacts>(model->read ? model->read : model->rewritten.before);
    bool isFirst = true;
    return explainBatch(context, plan, [&](const engine::BatchItem& item) -> Result<void> {
        ExplainOptions own = optionsFor(options, item);
        own.isFirst = std::exchange(isFirst, false);
        own.weights = weights;
        const engine::ResultKey asked = keyOf(own, *model);
        RETRO_TRY(const LanguageQuestion language, engine::languageQuestion(*model, own.question()));
        RETRO_TRY(const engine::ExplainRequest request, requestOf(own, *model, language));
        own.isText = language.has_value();
        RETRO_TRY(const engine::ExplainResult result,
                  explainInto(context, own, *model, request, asked, [&](const engine::ExplainRequest& one) {
                      return explainer.explain(one, {}, context.progress());
                  }));
        if (rows) {
            RETRO_TRY(std::vector<rows::Row> made,
                      engine::rowsOf(*model, result, engine::rowKeyOf(item.stem, asked.sources)));
            RETRO_CHECK(rows->add(std::move(made)));
        }
        return language ? writeText(own, *model, *language, request, result) : Result<void>();
    });
}

/// Says what the explanation would take; runs nothing. Refuses what there is no memory for.
Result<void> showEstimate(const Context& context, const ExplainOptions& options, const engine::LoadedModel& model,
                          const LanguageQuestion& language)
{
    RETRO_TRY(const engine::ExplainRequest request, requestOf(options, model, language));
    RETRO_TRY(const engine::PassEstimate made, engine::estimate(model, request));
    if (context.json) {
        context.answer({{"process_bytes", made.processBytes},
                        {"weight_bytes", made.weightBytes},
                        {"tensor_bytes", made.tensorBytes},
                        {"kept_bytes", made.keptBytes},
                        {"step_bytes", made.stepBytes},
                        {"flops", made.flops},
                        {"seconds_opening", made.secondsOpening},
                        {"seconds_forward", made.secondsForward},
                        {"seconds_relevance", made.secondsRelevance},
                        {"seconds_processor", made.processorSeconds},
                        {"seconds", made.isTimed ? nlohmann::ordered_json(made.seconds) : nlohmann::ordered_json()}});
    } else {
        for (const std::string& line : made.lines()) {
            context.say(line);
        }
    }
    return engine::checkEstimate(made);
}

/// What rows cannot hold.
Result<void> checkRowsAlone(const ExplainOptions& options, bool isBatch)
{
    if (options.out.empty()) {
        return {};
    }
    constexpr std::array kOfText{"text", "ids", "generate", "continue", "positions"};
    constexpr std::array kInFolder{"parameters", "region-of", "checkpoint", "open"};
    for (const engine::Asked& one : engine::asksOf(options.question(), isBatch)) {
        if (std::ranges::find(kOfText, one.what) != kOfText.end()) {
            return base::usageError("a row is of inputs that --input names, by one pass; use --output-dir instead",
                                    "--out and " + one.option);
        }
        if (options.outputFolder.empty() && std::ranges::find(kInFolder, one.what) != kInFolder.end()) {
            return base::usageError("a row holds the relevance of inputs alone; add --output-dir", one.option);
        }
    }
    const bool hasFiles = !options.question().image.empty() || !options.question().run.empty();
    return isBatch && hasFiles && options.outputFolder.empty()
               ? base::usageError("pictures and runs of many inputs lie in their folders; add --output-dir",
                                  "--out with --image or --run")
               : Result<void>();
}

/// Options of the heatmap, which --image draws.
Result<void> checkPicture(const engine::Question& question)
{
    constexpr std::array kOfImage{"bits", "colormap", "overlay"};
    for (const engine::Asked& one : engine::asksOf(question)) {
        if (question.image.empty() && std::ranges::find(kOfImage, one.what) != kOfImage.end()) {
            return base::usageError("it says how a heatmap is drawn; name its file with --image", one.option);
        }
    }
    return question.colormap.empty() ? Result<void>() : checkColormap(question.colormap);
}

Result<void> checkOptions(const ExplainOptions& options, bool isBatch)
{
    if (options.outputFolder.empty() && options.out.empty() && !options.isText) {
        return base::usageError(
            "explain needs --output-dir DIR for the relevance files, such as --output-dir out; or --out "
            "FILE for rows (or --rules, which runs nothing)");
    }
    RETRO_CHECK(checkRowsAlone(options, isBatch));
    RETRO_CHECK(checkPicture(options.question()));
    RETRO_CHECK(engine::checkTogether(engine::asksOf(options.question(), isBatch)));
    if (!isBatch && (options.jobs > 1 || !options.shard.empty())) {
        return base::usageError("--jobs and --shard share out the inputs of a folder or @list.txt; name one with "
                                "--input");
    }
    return {};
}

/// Runs the oracle beside the result; that they differ is a bug of ours (exit code 1).
Result<nlohmann::ordered_json> askOracle(Context& context, const engine::LoadedModel& model,
                                         const engine::ExplainRequest& request, const engine::ExplainResult& result)
{
    RETRO_TRY(const engine::OracleCheck check,
              engine::checkAgainstOracle(model, request, result.relevance, {}, context.progress()));
    if (!context.json) {
        context.say("check        this run " + check.text());
    }
    context.exitCode = check.holds() ? context.exitCode : 1;
    return nlohmann::ordered_json{{"values", check.values},
                                  {"equal", check.equal},
                                  {"unknown", check.unknown},
                                  {"largest", check.largest},
                                  {"where", check.where}};
}

/// Holds the folder of the results; what killed calls left there and beside the other files goes.
Result<std::optional<HeldFolder>> holdResults(const ExplainOptions& options)
{
    std::optional<HeldFolder> lock;
    if (!options.outputFolder.empty()) {
        RETRO_TRY(HeldFolder held, holdFolder(options.outputFolder));
        lock.emplace(std::move(held));
    }
    for (const std::string& file : {options.question().run, options.question().image}) {
        if (!file.empty()) {
            base::removeLeftoversOf(file);
        }
    }
    return lock;
}

/// What is said of a text, beside the results of every explanation.
Result<void> explainText(const Context& context, const ExplainOptions& options, engine::Explainer& explainer,
                         const engine::ExplainRequest& request, const engine::LanguageQuestion& language,
                         const engine::ExplainResult& result, nlohmann::ordered_json& summary)
{
    const engine::Question& question = options.question();
    const engine::LoadedModel& model = *explainer.model();
    const engine::LayerWish wish = engine::LayerWish::of(language, question);
    RETRO_TRY(engine::LanguageReport report, engine::reportOf(language, model, question, result));
    RETRO_CHECK(engine::addAttention(language, question, request, result, wish, report));
    RETRO_CHECK(engine::addPositions(language, explainer, question, request, report, {}, wish));
    RETRO_CHECK(engine::addGeneration(language, model, question, request, result, report, {}, wish));
    RETRO_CHECK(writeTextRun(options, result, report));
    if (!question.html.empty()) {
        RETRO_CHECK(engine::addSidesOfContrast(language, explainer, request, report));
        RETRO_CHECK(base::writeFile(question.html, engine::languagePage(report)));
    }
    if (!options.outputFolder.empty()) {
        RETRO_CHECK(engine::writeReport(options.outputFolder, report));
    }
    if (context.json) {
        summary["text"] = engine::reportJson(report);
        return {};
    }
    for (const std::string& line : engine::reportLines(report)) {
        context.say(line);
    }
    return {};
}

/// What the row of a single input is called: the names of its files without their endings.
std::string nameOfInputs(const ExplainOptions& options)
{
    std::string name;
    for (const std::string& text : options.question().inputs) {
        const std::size_t sign = text.find('=');
        const std::filesystem::path file = sign == std::string::npos ? text : text.substr(sign + 1);
        name += (name.empty() ? "" : " ") + file.stem().string();
    }
    return name;
}

/// Further questions about the same tokens follow, by passes that share what they can: other positions, the sides of a
/// contrast.
bool goesOn(const ExplainOptions& options, const engine::ExplainRequest& request, const LanguageQuestion& language)
{
    const bool asksSides =
        language && request.inputsOnly && !language->contrast.empty() && !options.question().html.empty();
    return asksSides || (language && language->positions.size() > 1);
}

/// One input by one engine, and the oracle beside it where that is asked.
Result<void> explainOne(Context& context, const ExplainOptions& options, const engine::LoadedModelPointer& opened,
                        const LanguageQuestion& language)
{
    const engine::LoadedModel& model = *opened;
    const engine::ResultKey asked = keyOf(options, model);
    RETRO_TRY(std::optional<rows::RowFile> rows, openRows(options, model));
    const rows::RowKey key = engine::rowKeyOf(nameOfInputs(options), asked.sources);
    RETRO_TRY(engine::ExplainRequest request, requestOf(options, model, language));
    if (language && request.inputsOnly) {
        giveBackFreedMemory(); // the weights leave little room, and what is let go in pieces is not free for others
    }
    engine::Explainer explainer(opened);
    request.keepsPass = goesOn(options, request, language);
    RETRO_TRY(const std::optional<HeldFolder> lock, holdResults(options));
    RETRO_TRY(const engine::ExplainResult result,
              explainInto(context, options, model, request, asked, [&](const engine::ExplainRequest& one) {
                  return one.keepsPass ? explainer.explain(one, {}, context.progress())
                                       : engine::explain(model, one, {}, context.progress());
              }));
    if (rows && rows->has(key)) {
        context.say("rows         " + options.out + " has a row of this input already");
    } else if (rows) {
        RETRO_TRY(std::vector<rows::Row> made, engine::rowsOf(model, result, key));
        RETRO_CHECK(rows->add(std::move(made)));
        RETRO_CHECK(rows->flush());
    }
    nlohmann::ordered_json summary = engine::summaryJson(model, request, result, asked);
    if (options.question().checkOracle) {
        RETRO_TRY(summary["oracle"], askOracle(context, model, request, result));
    }
    if (language) {
        RETRO_CHECK(explainText(context, options, explainer, request, *language, result, summary));
    }
    const std::size_t planRows = engine::rowsOf("plan-rows", options.question());
    const engine::CarriedPlan* plan = result.carried.get();
    if (context.json) {
        if (plan != nullptr) {
            summary["plan"] = planRunJson(*plan->program, plan->chosen, *plan->run, planRows);
        }
        context.answer(summary);
    } else if (plan != nullptr) {
        sayPlanRun(context, *plan->program, plan->chosen, *plan->run, planRows);
    }
    return {};
}

/// Where rows are all that is written, a pass keeps nothing for others, if that fits what else is asked.
void keepInputsAlone(ExplainOptions& options, bool isBatch)
{
    if (options.out.empty() || !options.outputFolder.empty()) {
        return;
    }
    engine::Question question = options.question();
    question.inputsOnly = true;
    if (engine::checkTogether(engine::asksOf(question, isBatch))) {
        options.model.question = std::move(question);
    }
}

/// Nothing that only a run makes may be asked beside a graph that is written.
Result<void> checkGraphAlone(const ExplainOptions& options)
{
    const bool asksRun = !options.outputFolder.empty() || !options.out.empty() || !options.compositeFile.empty() ||
                         !options.shard.empty() || options.rules || options.jobs > 1;
    return asksRun ? base::usageError("a graph is written and nothing runs: leave --output-dir, --out, "
                                      "--save-composite, --rules, --jobs and --shard out",
                                      "--graph-out")
                   : Result<void>();
}

Result<void> explainModel(Context& context, const ExplainOptions& options)
{
    RETRO_TRY(const engine::LoadedModelPointer model, options.model.load());
    if (!options.question().graphOut.empty()) {
        RETRO_CHECK(checkGraphAlone(options));
        return writeExplainer(context, options.model, options.graph, model);
    }
    RETRO_CHECK(checkWithoutGraph(options.graph));
    RETRO_TRY(std::optional<std::vector<engine::BatchItem>> batch,
              engine::findBatch(options.question().inputs, *model->graph()));
    LanguageQuestion language;
    if (!batch) {
        RETRO_CHECK(engine::checkTogether(engine::asksOf(options.question())));
        RETRO_TRY(language, engine::languageQuestion(*model, options.question()));
        warn(language ? language->warnings : std::vector<std::string>());
    }
    if (options.rules || !options.compositeFile.empty()) {
        const ExplainOptions first = batch ? optionsFor(options, batch->front()) : options;
        RETRO_TRY(const engine::ExplainRequest request, requestOf(first, *model, language));
        RETRO_CHECK(showRules(context, options, *model, request));
    }
    if (asksRulesAlone(options)) {
        return {};
    }
    if (options.estimate) {
        return showEstimate(context, batch ? optionsFor(options, batch->front()) : options, *model, language);
    }
    ExplainOptions one = options;
    one.isText = language.has_value();
    RETRO_CHECK(checkOptions(one, batch.has_value()));
    keepInputsAlone(one, batch.has_value());
    if (batch) {
        return explainMany(context, one, model, std::move(*batch));
    }
    return explainOne(context, one, model, language);
}

} // namespace

void addExplain(CLI::App& program, Context& context)
{
    auto options = std::make_shared<ExplainOptions>();
    CLI::App* verb =
        addVerb(program, context, "explain", "Relevance; writes DIR/relevance/<value name>.npy and DIR/summary.json",
                [&context, options] { return explainModel(context, *options); });
    options->model.addTo(*verb, engine::kExplain, context);
    context.addOutput(verb->add_option("--save-composite", options->compositeFile,
                                       "Also write the composite, with the rules put before it, as a file"),
                      "the composite");
    verb->add_option("--output-dir", options->outputFolder, "Folder for the results; made when it is missing");
    context.addOutput(
        verb->add_option("--out", options->out,
                         "FILE.parquet or FILE.h5: appends a row per sample; what is in it already is not done again"),
        "the file of rows", true);
    verb->add_option("--jobs", options->jobs, "Processes that share the inputs of a folder or @list.txt")
        ->check(CLI::Range(1, 1024));
    verb->add_option("--shard", options->shard, "i/n: only the i-th of n parts of those inputs");
    addRelevanceGraphOptions(*verb, options->graph);
    verb->add_flag("--rules", options->rules,
                   "Print node by node which rule it gets and which matcher chose it; runs nothing");
    verb->add_flag("--estimate", options->estimate,
                   "Print what the explanation would take of memory and time, from a few nodes. Exit code 4 where the "
                   "memory that may be used cannot hold it");
}

} // namespace retro::app
