// SPDX-License-Identifier: Apache-2.0
#include "app/cli/forwardingoptions.h"
#include "app/cli/gradientrules.h"
#include "app/cli/gradientverbs.h"
#include "app/cli/outputfolder.h"
#include "app/cli/planwishoptions.h"
#include "app/cli/rewritetext.h"
#include "core/base/file.h"
#include "core/engine/forwarding/forwardingjson.h"
#include "core/engine/gradient/choseninputs.h"
#include "core/engine/gradient/critical.h"
#include "core/engine/gradient/gradient.h"
#include "core/engine/gradient/parameters.h"
#include "core/engine/gradient/writegradientgraph.h"
#include "core/engine/plan/plannedgradient.h"
#include "core/engine/results.h"
#include "core/runtime/profile.h"
#include "core/tensor/npy.h"
#include "core/trace/runfile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

namespace retro::app
{

namespace
{

using base::Result;
using nlohmann::ordered_json;

struct GradOptions
{
    ModelOptions model;
    PlanWishOptions plan;
    ForwardingOptions forwarding;
    std::string target = "argmax";
    std::string outputFolder;
    std::string runFile;
    std::string graphFile;
    std::vector<std::string> from; ///< inputs that get gradients; none: every one
    bool isJoined = false;
    bool isDiff = false;
    bool parameters = false;
    bool listsRules = false;

    /// Folding is on for models anyhow; for a gradient graph, whose forward half would keep the weights that it reads
    /// beside those that were folded, it is named.
    [[nodiscard]] bool asksToFold() const
    {
        const auto isNamed = [](const std::string& name) { return name == "fold-constants" || name == "all"; };
        return std::ranges::any_of(model.switchedOn, isNamed) && std::ranges::none_of(model.switchedOff, isNamed);
    }

    /// Operators of many steps are written out unless somebody says otherwise, here or in the card.
    [[nodiscard]] bool keepsFunctions(const engine::LoadedModel& loaded) const
    {
        const auto isNamed = [](const std::string& name) { return name == "expand-functions" || name == "all"; };
        const bool isOffInCard = loaded.card && std::ranges::any_of(loaded.card->noRewrite, isNamed);
        return std::ranges::any_of(model.switchedOff, isNamed) ||
               (isOffInCard && std::ranges::none_of(model.switchedOn, isNamed));
    }
};

/// Gradients per graph input of `model`, from the tape or from a recorded run.
struct Gradients
{
    std::shared_ptr<const execute::BoundModel> model;
    engine::ResolvedTarget target;
    std::vector<tensor::Tensor> byInput;
    ordered_json facts;                   ///< of the pass, for --json
    std::vector<base::ValueId> from = {}; ///< the inputs that were asked for
};

Result<engine::TargetRequest> targetOf(const engine::LoadedModel& model, const std::string& text)
{
    const bool isOfCard = text == "argmax" && model.card && !model.card->target.empty();
    return engine::parseTarget(isOfCard ? model.card->target : text,
                               model.card ? model.card->labels : std::vector<std::string>());
}

Result<Gradients> fromTape(const Context& context, const engine::LoadedModel& model,
                           const engine::GradientRequest& request)
{
    RETRO_TRY(engine::GradientResult result, engine::gradient(model, request, {}, context.progress()));
    warn(result.warnings);
    return Gradients{result.model,
                     std::move(result.target),
                     std::move(result.gradients),
                     {{"cells", result.cells},
                      {"visited", result.visited},
                      {"seconds",
                       {{"load", model.seconds},
                        {"bind", result.secondsBind},
                        {"forward", result.secondsForward},
                        {"reverse", result.secondsReverse}}},
                      {"peak_bytes", result.peakBytes}}};
}

/// A pass whose forward values come to the reverse rules in chosen forms.
Result<Gradients> forwarded(const Context& context, const engine::LoadedModel& model,
                            const engine::GradientRequest& request, const GradOptions& options)
{
    RETRO_TRY(const engine::ForwardingWish wish, options.forwarding.wish());
    RETRO_TRY(engine::ForwardedGradient made, engine::forwardedGradient(model, request, wish));
    sayForwarding(context, options.forwarding, made);
    ordered_json facts = forwardingJson(options.forwarding, made);
    return Gradients{made.gradient.model, std::move(made.gradient.target), std::move(made.gradient.gradients),
                     std::move(facts)};
}

/// The gradient as a composite.
engine::ExplainRequest questionOf(const engine::LoadedModel& model, const engine::GradientRequest& request,
                                  const GradOptions& options)
{
    engine::ExplainRequest question;
    question.inputs = request.inputs;
    question.target = request.target;
    question.start.kind = engine::StartKind::One;
    question.composite = "gradient";
    question.precision = request.precision;
    question.record = true;
    question.keepValues = true;
    question.sources = options.model.inputs;
    question.preparation = options.model.pictureOptions(model);
    return question;
}

/// A gradient pass by a plan, predicted against measured.
Result<Gradients> planned(const Context& context, const engine::LoadedModel& model,
                          const engine::GradientRequest& request, const GradOptions& options)
{
    RETRO_TRY(const engine::PlanWish wish, options.plan.checked());
    RETRO_TRY(engine::PlannedGradient made,
              options.runFile.empty()
                  ? engine::plannedGradient(model, request, wish)
                  : engine::recordedPlannedGradient(model, questionOf(model, request, options), wish));
    runtime::fitSeconds(made.run);
    if (made.recorded) {
        RETRO_CHECK(trace::writeRun(options.runFile, *made.recorded));
    }
    if (!context.json) {
        sayPlanRun(context, *made.program, made.chosen, made.run, options.plan.rows);
    }
    return Gradients{
        made.gradient.model,
        std::move(made.gradient.target),
        std::move(made.gradient.gradients),
        {{"plan", planRunJson(*made.program, made.chosen, made.run, options.plan.rows)},
         {"visited", made.gradient.visited},
         {"run", made.recorded ? ordered_json(options.runFile) : ordered_json()},
         {"seconds", {{"load", model.seconds}, {"bind", made.gradient.secondsBind}, {"run", made.run.seconds}}},
         {"peak_bytes", made.gradient.peakBytes}}};
}

/// A gradient pass as a run: the composite `gradient`, recorded.
Result<Gradients> recorded(const Context& context, const engine::LoadedModel& model,
                           const engine::GradientRequest& request, const GradOptions& options)
{
    engine::ExplainRequest question = questionOf(model, request, options);
    if (options.forwarding.isAsked()) {
        RETRO_TRY(question.forwarding, options.forwarding.wish());
    }
    RETRO_TRY(engine::ExplainResult result, engine::explain(model, question, {}, context.progress()));
    warn(result.warnings);
    RETRO_CHECK(trace::writeRun(options.runFile, *result.run));
    Gradients made{result.model,
                   std::move(result.target),
                   {},
                   {{"visited", result.counts.visits},
                    {"events", result.counts.events},
                    {"run", options.runFile},
                    {"peak_bytes", result.peakBytes}}};
    const graph::Graph& graph = result.model->graph();
    if (result.forwarding) {
        made.facts["forwarding"] = engine::forwardingJson(*result.forwarding, graph);
        sayForwarding(context, *result.forwarding, graph, options.forwarding.rows);
    }
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
        const ops::TensorType& type = result.model->typeOf(graph.inputs()[i]);
        tensor::Tensor gradient = result.relevance[graph.inputs()[i].index()];
        if (!tensor::isFloating(type.dtype)) {
            gradient = tensor::Tensor();
        } else if (!gradient.isValid()) {
            gradient = tensor::Tensor::zeros(type.dtype, type.shape);
        }
        made.byInput.push_back(std::move(gradient));
    }
    return made;
}

Result<Gradients> computeAll(const Context& context, const engine::LoadedModel& model,
                             const engine::GradientRequest& request, const GradOptions& options)
{
    if (options.plan.isAsked()) {
        return planned(context, model, request, options);
    }
    if (options.forwarding.isAsked() && options.runFile.empty()) {
        return forwarded(context, model, request, options);
    }
    return options.runFile.empty() ? fromTape(context, model, request) : recorded(context, model, request, options);
}

/// Those of the inputs that were asked for.
Result<Gradients> compute(const Context& context, const engine::LoadedModel& model,
                          const engine::GradientRequest& request, const GradOptions& options)
{
    RETRO_TRY(Gradients made, computeAll(context, model, request, options));
    const graph::Graph& graph = made.model->graph();
    RETRO_TRY(made.from, engine::chosenInputs(graph, request.from));
    for (std::size_t i = 0; i < made.byInput.size(); ++i) {
        if (std::ranges::find(made.from, graph.inputs()[i]) == made.from.end()) {
            made.byInput[i] = {};
        }
    }
    return made;
}

/// What is of --graph-out, and what does not go with it.
Result<void> checkGraphOptions(const GradOptions& options)
{
    if (options.graphFile.empty()) {
        return options.isJoined || options.isDiff
                   ? base::usageError("--joint and --diff are about a gradient graph; name its file by --graph-out, or "
                                      "leave them out")
                   : Result<void>();
    }
    if (!options.runFile.empty()) {
        return base::usageError("--graph-out runs nothing that could be recorded; leave one of --graph-out and --run "
                                "out");
    }
    return {};
}

/// What cannot be asked for together.
Result<void> checkOptions(const GradOptions& options)
{
    RETRO_CHECK(checkGraphOptions(options));
    if (options.plan.isAsked() && !options.graphFile.empty()) {
        return base::usageError("--graph-out runs nothing; leave --plan, --budget and --strategy out");
    }
    if (options.forwarding.isAsked() && (options.plan.isAsked() || !options.graphFile.empty())) {
        return base::usageError("--forward and --profile are of a pass without a plan; leave --plan, --budget, "
                                "--strategy and --graph-out out");
    }
    if (options.forwarding.isProfiled && !options.runFile.empty()) {
        return base::usageError(
            "--profile takes the time of a pass that nobody watches; leave --run out, or --profile");
    }
    return {};
}

Result<ordered_json> write(const Context& context, const GradOptions& options, const Gradients& gradients)
{
    const graph::Graph& graph = gradients.model->graph();
    const std::vector<std::string> names = engine::fileNames(graph);
    ordered_json files = ordered_json::array();
    for (std::size_t i = 0; i < gradients.byInput.size(); ++i) {
        const tensor::Tensor& gradient = gradients.byInput[i];
        if (!gradient.isValid()) {
            continue;
        }
        const base::ValueId id = graph.inputs()[i];
        const auto path = std::filesystem::path(options.outputFolder) / (names[id.index()] + ".npy");
        RETRO_CHECK(tensor::writeNpy(path, gradient));
        files.push_back({{"input", graph.value(id).name}, {"file", path.string()}, {"shape", gradient.shape()}});
        if (!context.json) {
            context.say(
                fmt::format("{}  {}  {}", graph.value(id).name, tensor::toText(gradient.shape()), path.string()));
        }
    }
    if (files.empty()) {
        return base::usageError("the model has no floating input that could get a gradient; --parameters asks for the "
                                "gradients of its initializers");
    }
    return files;
}

/// What was done to the model first, and behind the gradient graph.
ordered_json passesJson(const engine::WrittenGradientGraph& written)
{
    ordered_json passes = ordered_json::array();
    for (const rewrite::Rewritten& stage : written.stages) {
        for (ordered_json& pass : rewritesJson(stage)) {
            passes.push_back(std::move(pass));
        }
    }
    for (ordered_json& pass : rewritesJson(written.passes)) {
        passes.push_back(std::move(pass));
    }
    return passes;
}

void sayPasses(const Context& context, const GradOptions& options, const engine::WrittenGradientGraph& written,
               const graph::Graph& model)
{
    const char* more = options.isDiff ? "" : "; --diff and --json list them";
    if (!written.stages.empty()) {
        std::size_t count = 0;
        for (const rewrite::Rewritten& stage : written.stages) {
            count += stage.steps.size();
        }
        context.say(fmt::format("the model's {} nodes became {} in steps by {} changes{}", model.nodeCount(),
                                written.stages.back().graph->nodeCount(), count, more));
    }
    if (!written.passes.steps.empty()) {
        context.say(fmt::format("{} nodes before {} changes of passes{}", written.passes.before->nodeCount(),
                                written.passes.steps.size(), more));
    }
    if (options.isDiff) {
        std::ranges::for_each(written.stages, [&](const auto& stage) { sayRewrites(context, stage, true); });
        sayRewrites(context, written.passes, true);
    }
}

Result<void> writeGraph(const Context& context, const GradOptions& options, const engine::LoadedModelPointer& model,
                        const engine::GradientRequest& request)
{
    RETRO_TRY(const engine::WrittenGradientGraph written,
              engine::writeGradientGraph(options.graphFile, model, request,
                                         {options.isJoined, options.asksToFold(), options.keepsFunctions(*model)}));
    const tape::GradientGraph& made = written.gradient;
    const graph::Graph& read = *model->rewritten.before;
    if (context.json) {
        const graph::Graph& inSteps = written.stages.empty() ? read : *written.stages.back().graph;
        context.answer({{"file", options.graphFile},
                        {"nodes", made.graph->nodeCount()},
                        {"nodes_before_passes", written.passes.before->nodeCount()},
                        {"nodes_of_model", read.nodeCount()},
                        {"nodes_of_model_in_steps", inSteps.nodeCount()},
                        {"passes", passesJson(written)},
                        {"seed", made.seed},
                        {"forwarded", made.forwarded},
                        {"gradients", made.gradients}});
        return {};
    }
    context.say(fmt::format("{}  {} nodes; input {} takes the gradient at the target, {} forward values are inputs",
                            options.graphFile, made.graph->nodeCount(), made.seed, made.forwarded.size()));
    sayPasses(context, options, written, read);
    for (const std::string& gradient : made.gradients) {
        context.say("output " + gradient);
    }
    return {};
}

/// How much of the graph the gradient visits, with a reason for every operator left out.
ordered_json criticalJson(const engine::CriticalNodes& found)
{
    ordered_json leftOut = ordered_json::array();
    for (const engine::LeftOutNode& one : found.leftOut) {
        leftOut.push_back({{"node", one.node}, {"operator", one.op}, {"reason", analysis::textOf(one.reason)}});
    }
    return {{"operators", found.critical}, {"left_out", leftOut}};
}

void sayLeftOut(const Context& context, const engine::CriticalNodes& found)
{
    std::map<analysis::LeftOut, std::size_t> counts;
    for (const engine::LeftOutNode& one : found.leftOut) {
        ++counts[one.reason];
    }
    for (const auto& [reason, count] : counts) {
        context.say(fmt::format("  {:>6} left out: {}", count, analysis::textOf(reason)));
    }
}

/// As `plan` takes it.
Result<engine::LoadedModelPointer> loadFor(const GradOptions& options)
{
    RETRO_TRY(const engine::LoadedModelPointer model, options.model.load());
    return options.plan.isAsked() ? engine::asPlanned(model) : Result<engine::LoadedModelPointer>(model);
}

Result<void> gradModel(const Context& context, const GradOptions& options)
{
    RETRO_CHECK(checkOptions(options));
    RETRO_TRY(engine::LoadedModelPointer model, loadFor(options));
    RETRO_TRY(std::vector<tensor::Tensor> inputs, options.model.resolve(*model));
    const execute::Precision precision = context.runPrecision(*model);
    if (options.parameters) {
        RETRO_TRY(engine::OpenedParameters opened, engine::openParameters(model, std::move(inputs)));
        model = std::move(opened.model);
        inputs = std::move(opened.inputs);
    }
    RETRO_TRY(const engine::TargetRequest target, targetOf(*model, options.target));
    RETRO_CHECK(engine::chosenInputs(*model->graph(), options.from));
    const engine::GradientRequest request{std::move(inputs), target, precision, options.from};
    if (options.listsRules) {
        return listGradientRules(context, *model, request);
    }
    if (!options.graphFile.empty()) {
        return writeGraph(context, options, model, request);
    }
    if (options.outputFolder.empty()) {
        return base::usageError(
            "grad needs --output-dir DIR for the gradients (or --graph-out FILE, which runs nothing)");
    }
    RETRO_TRY(const HeldFolder lock, holdFolder(options.outputFolder));
    RETRO_TRY(const Gradients gradients, compute(context, *model, request, options));
    for (const std::string& note : gradients.target.notes) { // also with --quiet: it is not what was asked for
        fmt::print(stderr, "retrograde-cli: warning: {}\n", note);
    }
    RETRO_TRY(const ordered_json files, write(context, options, gradients));
    const engine::CriticalNodes found = engine::criticalNodes(*gradients.model, gradients.target.value, gradients.from);
    context.say(fmt::format("visited {} of {} operators", found.critical, found.critical + found.leftOut.size()));
    if (!options.from.empty()) {
        sayLeftOut(context, found);
    }
    if (context.json) {
        ordered_json answer{{"target",
                             {{"output", gradients.model->graph().value(gradients.target.value).name},
                              {"index", gradients.target.index},
                              {"place", gradients.target.place},
                              {"logit", gradients.target.logit}}},
                            {"gradients", files}};
        answer["critical"] = criticalJson(found);
        answer.update(gradients.facts);
        context.answer(answer);
    }
    return {};
}

} // namespace

void addGrad(CLI::App& program, Context& context)
{
    auto options = std::make_shared<GradOptions>();
    CLI::App* verb =
        addVerb(program, context, "grad", "Gradient of the target; writes DIR/<input name>.npy for each floating input",
                [&context, options] { return gradModel(context, *options); });
    options->model.addTo(*verb);
    verb->add_option("--target", options->target, "argmax (default), a class index, or VALUE[:i,j,…]");
    verb->add_option("--from", options->from,
                     "Floating input that gets a gradient, again for more (default: every one)")
        ->allow_extra_args(false);
    verb->add_flag("--parameters", options->parameters,
                   "Also the gradients of all floating initializers; the model runs without rewrites then");
    verb->add_option("--run", options->runFile,
                     "Record the gradient pass into this .retro file; the gradients are then those of that run");
    verb->add_option("--output-dir", options->outputFolder, "Folder for the gradients; made when it is missing");
    options->plan.addTo(*verb);
    options->forwarding.addTo(*verb);
    verb->add_option("--graph-out", options->graphFile,
                     "Write the gradient as a graph of standard operators instead: .onnx, .json or .dot");
    verb->add_flag(
        "--rules", options->listsRules,
        "List the reverse rules of every node, by type and by name, and why one cannot be applied; runs nothing");
    verb->add_flag("--joint", options->isJoined, "With --graph-out: together with the forward graph");
    verb->add_flag("--diff", options->isDiff, "With --graph-out: the nodes before and after each pass");
}

} // namespace retro::app
