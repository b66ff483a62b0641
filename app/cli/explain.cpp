// SPDX-License-Identifier: Apache-2.0
#include "app/cli/batch.h"
#include "app/cli/explaintext.h"
#include "app/cli/forwardingoptions.h"
#include "app/cli/outputfolder.h"
#include "app/cli/planningoptions.h"
#include "app/cli/planwishoptions.h"
#include "app/common/decodepicture.h"
#include "app/common/heatmapfile.h"
#include "core/base/file.h"
#include "core/base/standardstreams.h"
#include "core/engine/diagnose.h"
#include "core/engine/lutdecisions.h"
#include "core/engine/lutpath.h"
#include "core/engine/oraclecheck.h"
#include "core/engine/plan/plannedrelevance.h"
#include "core/engine/plan/plannedsaving.h"
#include "core/engine/results.h"
#include "core/engine/tokenwords.h"
#include "core/lrp/ruleoverride.h"
#include "core/runtime/profile.h"
#include "core/tensor/npy.h"
#include "core/trace/runfile.h"
#include "views/common/runtexts.h"

#include <fmt/format.h>

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
    std::vector<std::string> targets{"argmax"};
    std::string start = "logit";
    std::string composite;
    std::vector<std::string> overrides; ///< rules put before the composite
    std::string engine = "promise";
    std::string save = "inputs";
    std::string outputFolder;
    std::string compositeFile;
    std::string runFile;
    std::string image;
    std::string colormap = "relevance";
    int bits = 8; ///< of the image
    std::vector<std::string> open;
    std::vector<std::string> checkpoints;
    bool stopAtCheckpoints = false;
    std::string lutPath; ///< of LUT layers; empty = the model's
    std::string shard;
    int jobs = 1;
    bool overlay = false;
    bool rules = false;
    bool goesOn = false; ///< past numbers that are not finite
    bool checksOracle = false;
    bool inputsOnly = false;
    bool parameters = false;
    std::shared_ptr<diagnosis::ModelFacts> weights; ///< of a batch: what checks know of the model
    bool isBatch = false;                           ///< one input of many
    bool isFirst = false;                           ///< the first of them
    PlanWishOptions plan;
    ForwardingOptions forwarding;
};

engine::EngineKind engineOf(const std::string& name)
{
    using enum engine::EngineKind;
    return name == "oracle" ? Oracle : (name == "compiled" ? Compiled : Promise);
}

/// The values that relevance starts at; "argmax" means the target of the card where that names one.
Result<void> readTargets(const ExplainOptions& options, const engine::LoadedModel& model,
                         engine::ExplainRequest& request)
{
    const std::vector<std::string> labels = model.card ? model.card->labels : std::vector<std::string>();
    for (std::size_t i = 0; i < options.targets.size(); ++i) {
        const bool isOfCard = options.targets[i] == "argmax" && model.card && !model.card->target.empty();
        RETRO_TRY(engine::TargetRequest target,
                  engine::parseTarget(isOfCard ? model.card->target : options.targets[i], labels));
        (i == 0 ? request.target : request.alsoTargets.emplace_back()) = std::move(target);
    }
    return {};
}

/// What is asked, without the inputs.
Result<engine::ExplainRequest> questionOf(const Context& context, const ExplainOptions& options,
                                          const engine::LoadedModel& model)
{
    engine::ExplainRequest request;
    RETRO_CHECK(readTargets(options, model, request));
    RETRO_TRY(request.start, engine::parseStart(options.start));
    const std::string fallback = model.card && !model.card->composite.empty() ? model.card->composite : "auto";
    lrp::Specification named = lrp::splitSpecification(options.composite.empty() ? fallback : options.composite);
    named.overrides.insert(named.overrides.begin(), options.overrides.begin(), options.overrides.end());
    request.composite = lrp::joinSpecification(named);
    request.engine = engineOf(options.engine);
    request.save = options.save == "all" ? execute::SavePolicy::All : execute::SavePolicy::Autograd;
    if (options.plan.isAsked() && request.engine == engine::EngineKind::Promise) {
        RETRO_TRY(engine::PlanWish wish, options.plan.checked());
        wish.isRecorded = !options.runFile.empty();
        request.save = execute::SavePolicy::Plan;
        request.keptByPlan = engine::keptBy(std::move(wish));
    }
    if (options.forwarding.isAsked()) {
        RETRO_TRY(request.forwarding, options.forwarding.wish());
    }
    request.precision = context.runPrecision(model);
    request.checkpoints = options.checkpoints;
    request.stopAtCheckpoints = options.stopAtCheckpoints;
    request.goesOnWhenNotFinite = options.goesOn;
    request.record = !options.runFile.empty();
    request.keepValues = request.record;
    request.inputsOnly = options.inputsOnly;
    request.parameters = options.parameters;
    request.keepsForward = !options.inputsOnly && !options.plan.isAsked() && !options.forwarding.isAsked();
    request.sources = options.model.inputs;
    request.preparation = options.model.pictureOptions(model);
    return request;
}

/// What is asked for beside the relevance: files, and what a plan is to do.
std::vector<std::string> wishesOf(const ExplainOptions& options)
{
    const auto nameOf = [](const std::string& file) { return std::filesystem::path(file).filename().string(); };
    std::vector<std::string> words{
        nameOf(options.runFile),          nameOf(options.image),       options.colormap, options.lutPath,
        options.overlay ? "overlay" : "", std::to_string(options.bits)};
    words.insert(words.end(), options.open.begin(), options.open.end());
    if (options.parameters) {
        words.emplace_back("parameters");
    }
    if (options.plan.isAsked()) {
        const std::vector<std::string> plan = options.plan.words();
        words.insert(words.end(), plan.begin(), plan.end());
    }
    return words;
}

/// The question that the results answer, with its inputs as they are before they are read.
Result<engine::Question> askedOf(const Context& context, const ExplainOptions& options,
                                 const engine::LoadedModel& model)
{
    RETRO_TRY(const engine::ExplainRequest request, questionOf(context, options, model));
    return engine::Question{engine::questionWith(engine::questionOf(model, request), wishesOf(options)),
                            engine::sourceStamps(options.model.inputs, *model.graph())};
}

Result<engine::ExplainRequest> requestOf(const Context& context, const ExplainOptions& options,
                                         const engine::LoadedModel& model)
{
    RETRO_TRY(engine::ExplainRequest request, questionOf(context, options, model));
    RETRO_TRY(request.inputs, options.model.resolve(model));
    if (request.engine == engine::EngineKind::Promise && !request.inputsOnly && engine::hasLutLayer(*model.graph())) {
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
        nlohmann::ordered_json nodes = nlohmann::ordered_json::array();
        for (const engine::RuleLine& line : lines) {
            nodes.push_back(
                {{"node", line.name}, {"operator", line.op}, {"rule", line.rule}, {"matcher", line.matcher}});
        }
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
            job.picture = pictureOfInput(request.inputs[i], options.model.pictureOptions(model));
            job.words = model.card ? engine::tokenWords(*model.card, request.inputs[i]) : std::vector<std::string>();
        }
    }
    if (!job.relevance.isValid()) {
        return base::inputError("no relevance reached an input, so there is no heatmap to draw", model.name);
    }
    job.colormap = options.colormap;
    job.bits = options.bits;
    job.overlay = options.overlay;
    job.isSeries = model.card && model.card->layout.starts_with("NT");
    job.modelName = model.name;
    job.modelHash = views::modelHashText(graph);
    job.step = result.counts.events;
    job.composite = result.composite.name;
    job.target = placeOf(model, graph, result.target, 0);
    job.visit = result.counts.visits;
    return writeHeatmap(options.image, job);
}

/// The worst finding, where it is one that everybody should know.
void saySevere(const engine::ExplainResult& result)
{
    const diagnosis::Finding* severe = result.diagnosis ? result.diagnosis->severe() : nullptr;
    if (severe != nullptr) {
        warn({severe->line() + " (diagnose says more)"});
    }
}

/// Why there is no result, where a check knows; the error itself is said by whoever gets it.
void sayCause(const engine::LoadedModel& model, const engine::ExplainRequest& request, const base::Error& error)
{
    if (const std::optional<diagnosis::Finding> cause = engine::causeOf(model, request, error)) {
        warn({cause->line() + ": " + cause->meaning()});
    }
}

/// Explains one input and writes all that was asked for; the summary comes last and says that all is there.
Result<engine::ExplainResult> explainInto(const Context& context, const ExplainOptions& options,
                                          const engine::LoadedModel& model, const engine::ExplainRequest& request,
                                          const engine::Question& asked,
                                          const std::function<Result<engine::ExplainResult>()>& explain)
{
    Result<engine::ExplainResult> explained = explain();
    if (!explained) {
        sayCause(model, request, explained.error());
        return explained.error();
    }
    engine::ExplainResult result = std::move(explained).value();
    if (!(options.plan.isAsked() && options.engine == "oracle")) { // whose relevance is in its files by now
        RETRO_CHECK(engine::addDiagnosis(model, request, result, options.weights));
    }
    if (!options.isBatch || options.isFirst) {
        warn(result.warnings);
    }
    saySevere(result);
    RETRO_TRY(const std::vector<engine::OpenedFused> opened, engine::openFused(model, request, result, options.open));
    const std::filesystem::path folder = options.outputFolder;
    RETRO_CHECK(base::makeFolder(folder));
    RETRO_CHECK(engine::withdraw(folder / "summary.json"));
    if (!options.runFile.empty()) {
        RETRO_CHECK(trace::writeRun(options.runFile, *result.run));
    }
    if (!options.image.empty()) {
        RETRO_CHECK(writeImage(options, model, request, result));
    }
    RETRO_CHECK(engine::writeExplanation(folder, model, request, result, opened, asked));
    if (!options.isBatch && !context.json) {
        sayResult(context, model, result, options.forwarding.rows);
        sayParameters(context, result);
        sayCheckpoints(context, result);
        sayOpened(context, opened);
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
    own.model.inputs = item.sources;
    own.outputFolder = folder.string();
    own.image = inFolder(options.image);
    own.runFile = inFolder(options.runFile);
    own.isBatch = true;
    return own;
}

Result<void> explainMany(const Context& context, const ExplainOptions& options, const engine::LoadedModelPointer& model,
                         std::vector<engine::BatchItem> items)
{
    BatchPlan plan{std::move(items), {}, options.jobs, options.outputFolder, {}, *model->graph()};
    if (!options.shard.empty()) {
        RETRO_TRY(plan.shard, engine::parseShard(options.shard));
    }
    RETRO_TRY(const engine::Question question, askedOf(context, options, *model));
    plan.question = question.hash;
    engine::Explainer explainer(model);
    const auto weights = std::make_shared<diagnosis::ModelFacts>(model->read ? model->read : model->rewritten.before);
    bool isFirst = true;
    return explainBatch(context, plan, [&](const engine::BatchItem& item) -> Result<void> {
        ExplainOptions own = optionsFor(options, item);
        own.isFirst = std::exchange(isFirst, false);
        own.weights = weights;
        RETRO_TRY(const engine::Question asked, askedOf(context, own, *model));
        RETRO_TRY(const engine::ExplainRequest request, requestOf(context, own, *model));
        RETRO_CHECK(explainInto(context, own, *model, request, asked,
                                [&] { return explainer.explain(request, {}, context.progress()); }));
        return {};
    });
}

/// What goes together with --inputs-only.
Result<void> checkInputsOnly(const ExplainOptions& options)
{
    const bool wantsMore = options.checksOracle || !options.open.empty() || !options.runFile.empty() ||
                           !options.checkpoints.empty() || options.stopAtCheckpoints || options.plan.isAsked() ||
                           options.engine != "promise";
    if (options.inputsOnly && wantsMore) {
        return base::usageError("it keeps nothing but the relevance of the inputs; leave --engine, --run, --open, "
                                "--checkpoint, --check-oracle and plans out, or --inputs-only",
                                "--inputs-only");
    }
    return {};
}

/// What goes together with a plan.
Result<void> checkPlanOptions(const ExplainOptions& options, bool isBatch)
{
    if (!options.plan.isAsked()) {
        return {};
    }
    if (options.engine == "compiled" || options.save == "all") {
        return base::usageError("what a plan keeps is for --engine promise, and a whole pass by a plan for --engine "
                                "oracle; leave --save and --engine compiled out, or --plan, --budget and --strategy");
    }
    const bool isMore = isBatch || options.checksOracle || options.parameters || !options.open.empty();
    if (options.engine == "oracle" && isMore) {
        return base::usageError("the oracle by a plan is of one input, opens no fused nodes, keeps no relevance for "
                                "parameters and is not checked against itself; leave --open, --parameters and "
                                "--check-oracle out, or use --engine promise");
    }
    return {};
}

Result<void> checkOptions(const ExplainOptions& options, bool isBatch)
{
    if (options.outputFolder.empty()) {
        return base::usageError(
            "explain needs --output-dir DIR for the relevance files (or --rules, which runs nothing)");
    }
    RETRO_CHECK(checkPlanOptions(options, isBatch));
    RETRO_CHECK(checkInputsOnly(options));
    if (isBatch && options.checksOracle) {
        return base::usageError("--check-oracle looks at one input; name one with --input");
    }
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
Result<HeldFolder> holdResults(const ExplainOptions& options)
{
    RETRO_TRY(HeldFolder lock, holdFolder(options.outputFolder));
    for (const std::string& file : {options.runFile, options.image}) {
        if (!file.empty()) {
            base::removeLeftoversOf(file);
        }
    }
    return lock;
}

/// The oracle by a plan: relevance goes to its files as it is made, so that it is not held in memory.
Result<void> explainByPlan(Context& context, const ExplainOptions& options, const engine::LoadedModel& model)
{
    RETRO_TRY(const engine::Question asked, askedOf(context, options, model));
    RETRO_TRY(engine::ExplainRequest request, requestOf(context, options, model));
    RETRO_TRY(engine::PlanWish wish, options.plan.checked());
    wish.isRecorded = !options.runFile.empty();
    request.record = false; // the plan's steps are, not a traversal
    RETRO_TRY(const HeldFolder lock, holdResults(options));
    const std::filesystem::path folder = std::filesystem::path(options.outputFolder) / "relevance";
    RETRO_CHECK(base::makeFolder(folder));
    RETRO_CHECK(engine::withdraw(folder.parent_path() / "summary.json"));
    std::vector<std::string> names;
    const auto write = [&](const execute::BoundModel& bound, base::ValueId value, const tensor::Tensor& relevance) {
        if (names.empty()) {
            names = engine::fileNames(bound.graph());
        }
        return tensor::writeNpy(folder / (names[value.index()] + ".npy"), relevance);
    };
    RETRO_TRY(engine::PlannedRelevance made, engine::plannedRelevance(model, request, wish, {}, write));
    runtime::fitSeconds(made.run);
    RETRO_TRY(const engine::ExplainResult result, explainInto(context, options, model, request, asked, [&] {
                  return Result<engine::ExplainResult>(std::move(made.result));
              }));
    if (context.json) {
        nlohmann::ordered_json summary = engine::summaryJson(model, request, result, asked);
        summary["plan"] = planRunJson(*made.program, made.chosen, made.run, options.plan.rows);
        context.answer(summary);
    } else {
        sayPlanRun(context, *made.program, made.chosen, made.run, options.plan.rows);
    }
    return {};
}

/// One input by one engine, and the oracle beside it where that is asked.
Result<void> explainOne(Context& context, const ExplainOptions& options, const engine::LoadedModel& model)
{
    RETRO_TRY(const engine::Question asked, askedOf(context, options, model));
    RETRO_TRY(const engine::ExplainRequest request, requestOf(context, options, model));
    RETRO_TRY(const HeldFolder lock, holdResults(options));
    RETRO_TRY(const engine::ExplainResult result, explainInto(context, options, model, request, asked, [&] {
                  return engine::explain(model, request, {}, context.progress());
              }));
    nlohmann::ordered_json summary = engine::summaryJson(model, request, result, asked);
    if (options.checksOracle) {
        RETRO_TRY(summary["oracle"], askOracle(context, model, request, result));
    }
    if (context.json) {
        context.answer(summary);
    }
    return {};
}

/// The model, its LUT layers on the path that is asked for.
Result<engine::LoadedModelPointer> loadModel(const ExplainOptions& options)
{
    RETRO_TRY(engine::LoadedModelPointer model, options.model.load());
    if (options.plan.isAsked()) {
        RETRO_TRY(model, engine::asPlanned(model)); // what `plan` plans is what runs
    }
    return options.lutPath.empty()
               ? model
               : engine::withLutPath(model, options.lutPath == "fused" ? lut::Path::Fused : lut::Path::Documented);
}

Result<void> explainModel(Context& context, const ExplainOptions& options)
{
    RETRO_TRY(const engine::LoadedModelPointer model, loadModel(options));
    RETRO_TRY(std::optional<std::vector<engine::BatchItem>> batch,
              engine::findBatch(options.model.inputs, *model->graph()));
    if (options.rules || !options.compositeFile.empty()) {
        const ExplainOptions first = batch ? optionsFor(options, batch->front()) : options;
        RETRO_TRY(const engine::ExplainRequest request, requestOf(context, first, *model));
        RETRO_CHECK(showRules(context, options, *model, request));
    }
    if (options.rules || (!options.compositeFile.empty() && options.outputFolder.empty())) {
        return {};
    }
    RETRO_CHECK(checkOptions(options, batch.has_value()));
    if (batch) {
        return explainMany(context, options, model, std::move(*batch));
    }
    const bool isWholeByPlan = options.plan.isAsked() && options.engine == "oracle";
    return isWholeByPlan ? explainByPlan(context, options, *model) : explainOne(context, options, *model);
}

} // namespace

void addExplain(CLI::App& program, Context& context)
{
    auto options = std::make_shared<ExplainOptions>();
    CLI::App* verb =
        addVerb(program, context, "explain", "Relevance; writes DIR/relevance/<value name>.npy and DIR/summary.json",
                [&context, options] { return explainModel(context, *options); });
    options->model.addTo(*verb);
    verb->add_option("--target", options->targets,
                     "argmax (default), a class index, or VALUE[:i,j,…]; several: relevance starts at each")
        ->allow_extra_args(false);
    verb->add_option("--start", options->start,
                     "logit (default), one, all, contrastive, or a .npy file of the target's shape");
    verb->add_option("--composite", options->composite,
                     "Built-in name[:key=value,…], a .json file, or auto (default: the card's, else auto)");
    verb->add_option("--rule", options->overrides,
                     "MATCHER=RULE[:key=value,…] put before the composite: op:Conv=gamma:gamma=0.1, name:/head/*=stop, "
                     "scope:features=z-plus (docs/composites.md)")
        ->allow_extra_args(false);
    verb->add_option("--save-composite", options->compositeFile,
                     "Also write the composite as a file, with the rules that were put before it");
    verb->add_option("--engine", options->engine,
                     "promise (default), compiled (its program, docs/program.md) or oracle")
        ->check(CLI::IsMember({"promise", "compiled", "oracle"}));
    verb->add_option(
            "--lut-path", options->lutPath,
            "fused or documented: how LUT layers run (default: as the model says); documented: every stage as a "
            "kernel, every array as a buffer")
        ->check(CLI::IsMember({"fused", "documented"}));
    verb->add_option("--save", options->save, "inputs (default: what each gradient reads) or all")
        ->check(CLI::IsMember({"inputs", "all"}));
    options->plan.addTo(*verb);
    options->forwarding.addChoicesTo(*verb);
    verb->add_option("--output-dir", options->outputFolder, "Folder for the results; made when it is missing");
    verb->add_option("--jobs", options->jobs, "Processes that share the inputs of a folder or @list.txt")
        ->check(CLI::Range(1, 1024));
    verb->add_option("--shard", options->shard, "i/n: only the i-th of n parts of those inputs");
    verb->add_option("--run", options->runFile, "Also record the run into this .retro file");
    verb->add_option("--image", options->image, "Also draw the heatmap: .png, .svg or .pdf");
    verb->add_option("--bits", options->bits,
                     "Depth of the PNG: 8 (default, colours) or 16 (grey levels that stand for the numbers)")
        ->check(CLI::IsMember({8, 16}));
    verb->add_option("--colormap", options->colormap,
                     "relevance (default), gray, hot, bwr, coldnhot, seismic, …, or hex stops");
    verb->add_option(
            "--open", options->open,
            "Also carry relevance through the members of this fused node (docs/rewrites.md); all for every one")
        ->allow_extra_args(false);
    verb->add_option("--checkpoint", options->checkpoints,
                     "Values whose relevance is also written to DIR/checkpoints/<value name>.npy when it is final");
    verb->add_flag("--stop-at-checkpoints", options->stopAtCheckpoints, "End when all checkpoints have been taken");
    verb->add_flag("--go-on", options->goesOn,
                   "Do not stop at relevance that is NaN or infinite (docs/cli.md); the default names where it began");
    verb->add_flag("--check-oracle", options->checksOracle,
                   "Also run the oracle, which saves every value, and compare all relevance bit for bit");
    verb->add_flag("--inputs-only", options->inputsOnly,
                   "Only the relevance of the inputs, in less memory: everything else is let go on the way");
    verb->add_flag("--parameters", options->parameters,
                   "Also the relevance of weights, biases and other constants: DIR/relevance/<initializer>.npy");
    verb->add_flag("--overlay", options->overlay, "Draw the heatmap over the input picture");
    verb->add_flag("--rules", options->rules,
                   "Print node by node which rule it gets and which matcher chose it; runs nothing");
}

} // namespace retro::app
