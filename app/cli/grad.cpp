// SPDX-License-Identifier: Apache-2.0
#include "app/cli/context.h"
#include "app/cli/forwardingtext.h"
#include "app/cli/gradientverbs.h"
#include "app/cli/outputfolder.h"
#include "app/cli/planruntext.h"
#include "app/cli/profiletext.h"
#include "app/cli/rewritetext.h"
#include "core/base/file.h"
#include "core/engine/forwarding/forwardingjson.h"
#include "core/engine/gradient/choseninputs.h"
#include "core/engine/gradient/critical.h"
#include "core/engine/gradient/embeddings.h"
#include "core/engine/gradient/gradient.h"
#include "core/engine/gradient/parameters.h"
#include "core/engine/gradient/rules.h"
#include "core/engine/gradient/writegradientgraph.h"
#include "core/engine/language/languagequestion.h"
#include "core/engine/model/binding.h"
#include "core/engine/model/standins.h"
#include "core/engine/plan/plannedgradient.h"
#include "core/engine/question/combinations.h"
#include "core/engine/question/resolve.h"
#include "core/engine/results/results.h"
#include "core/event/observer.h"
#include "core/runtime/profile.h"
#include "core/tensor/npy.h"
#include "core/trace/profiletext.h"
#include "core/trace/runfile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

namespace retro::app
{

namespace
{

using engine::NodeRules;
using nlohmann::ordered_json;

std::string answer(const NodeRules& rules)
{
    if (!rules.asGraph.isApplicable) {
        return "no: " + rules.asGraph.reason;
    }
    return rules.isInSteps ? "yes, in steps" : "yes";
}

ordered_json toJson(const tape::Applicable& rule)
{
    ordered_json json{{"applicable", rule.isApplicable}};
    if (!rule.isApplicable) {
        json["reason"] = rule.reason;
    }
    return json;
}

/// Prints the reverse rules of every node of a model, by type and by the operator's name, and why one cannot be
/// applied.
base::Result<void> listGradientRules(const Context& context, const engine::LoadedModel& model,
                                     const engine::GradientRequest& request)
{
    RETRO_TRY(const engine::LoadedModel filled, engine::withAllConstants(model));
    RETRO_TRY(const auto bound, engine::bindModel(filled, request.inputs, request.precision));
    const auto nodeOf = [&](const NodeRules& one) -> const graph::Node& { return bound->graph().node(one.node); };
    const base::Fields<NodeRules> fields{
        {"node", [&](const NodeRules& one) { return nodeOf(one).name; }, "{:<32}", "node"},
        {"operator", [&](const NodeRules& one) { return nodeOf(one).op; }, "{:<22}", "operator"},
        {"type", &NodeRules::type, "{:<20}", "rule by type",
         [](const NodeRules& one) { return one.passesGradient ? one.type : "–"; }},
        {"on_tape", [](const NodeRules& one) { return toJson(one.onTape); }},
        {"as_graph", [](const NodeRules& one) { return toJson(one.asGraph); }, "{}", "as graph, by name",
         [](const NodeRules& one) { return one.passesGradient ? answer(one) : one.onTape.reason; }},
        {"in_steps", &NodeRules::isInSteps}};
    const std::vector<NodeRules> all = engine::gradientRules(*bound);
    if (context.json) {
        context.answer({{"rules", fields.list(all)}});
    } else {
        context.table(fields, all);
    }
    return {};
}

using base::Result;

struct GradOptions
{
    ModelOptions model;
    std::string outputFolder;
    bool isJoined = false;
    bool isDiff = false;
    bool listsRules = false;

    [[nodiscard]] const engine::Question& question() const { return model.question; }
    [[nodiscard]] bool isPlanned() const { return engine::asksFor(question(), "planned"); }
    [[nodiscard]] bool isForwarded() const { return engine::asksFor(question(), "forwarded"); }
    /// Rows of the table of operators or of forward values.
    [[nodiscard]] std::size_t rows() const { return engine::rowsOf("profile-rows", question()); }

    /// Folding is on for models anyhow; for a gradient graph, whose forward half would keep the weights that it reads
    /// beside those that were folded, it is named.
    [[nodiscard]] bool asksToFold() const
    {
        const auto isNamed = [](const std::string& name) { return name == "fold-constants" || name == "all"; };
        return std::ranges::any_of(question().rewrite, isNamed) && std::ranges::none_of(question().noRewrite, isNamed);
    }

    /// Operators of many steps are written out unless somebody says otherwise, here or in the card.
    [[nodiscard]] bool keepsFunctions(const engine::LoadedModel& loaded) const
    {
        const auto isNamed = [](const std::string& name) { return name == "expand-functions" || name == "all"; };
        const bool isOffInCard = loaded.card && std::ranges::any_of(loaded.card->noRewrite, isNamed);
        return std::ranges::any_of(question().noRewrite, isNamed) ||
               (isOffInCard && std::ranges::none_of(question().rewrite, isNamed));
    }
};

/// Gradients per graph input of `model`, from the tape or from a recorded run.
struct Gradients
{
    std::shared_ptr<const execute::BoundModel> model;
    engine::ResolvedTarget target;
    std::vector<tensor::Tensor> byInput;
    ordered_json facts;                                 ///< of the pass, for --json
    std::vector<base::ValueId> from = {};               ///< the inputs that were asked for
    std::shared_ptr<const trace::Profile> profile = {}; ///< of a recorded pass, which takes its own
};

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
    RETRO_TRY(const engine::ForwardingOptions wish, engine::forwardingOptions(options.question()));
    RETRO_TRY(engine::ForwardedGradient made, engine::forwardedGradient(model, request, wish));
    sayForwarding(context, made, made.gradient.model->graph(), options.rows());
    ordered_json facts = forwardingJson(made);
    return Gradients{made.gradient.model, std::move(made.gradient.target), std::move(made.gradient.gradients),
                     std::move(facts)};
}

/// The gradient as a composite.
Result<engine::ExplainRequest> recordedRequest(const engine::LoadedModel& model, const engine::GradientRequest& request,
                                               const GradOptions& options)
{
    engine::Question question = options.question();
    question.start = "one";
    question.composite = "gradient";
    question.targets.clear();
    RETRO_TRY(engine::ExplainRequest recorded, engine::resolve(question, model));
    recorded.inputs = request.inputs;
    recorded.target = request.target;
    recorded.parameters = false; // they are inputs of the model by now
    recorded.save = execute::SavePolicy::Autograd;
    recorded.keptByPlan = nullptr; // the plan carries the pass out
    return recorded;
}

/// A gradient pass by a plan, predicted against measured.
Result<Gradients> planned(const Context& context, const engine::LoadedModel& model,
                          const engine::GradientRequest& request, const GradOptions& options)
{
    RETRO_TRY(const engine::PlanOptions wish, engine::planOptions(options.question()));
    RETRO_TRY(engine::ExplainRequest recording, recordedRequest(model, request, options));
    const std::string& runFile = options.question().run;
    const std::size_t rows = engine::rowsOf("plan-rows", options.question());
    RETRO_TRY(engine::PlannedGradient made, runFile.empty() ? engine::plannedGradient(model, request, wish)
                                                            : engine::recordedPlannedGradient(model, recording, wish));
    runtime::fitSeconds(made.run);
    if (made.recorded) {
        RETRO_CHECK(trace::writeRecorded(runFile, {made.recorded, {}, made.runPlan}));
    }
    if (!context.json) {
        sayPlanRun(context, *made.program, made.chosen, made.run, rows);
    }
    const std::shared_ptr<const trace::Profile> profile = made.recorded ? made.recorded->profile : nullptr;
    return Gradients{
        made.gradient.model,
        std::move(made.gradient.target),
        std::move(made.gradient.gradients),
        {{"plan", planRunJson(*made.program, made.chosen, made.run, rows)},
         {"visited", made.gradient.visited},
         {"run", made.recorded ? ordered_json(runFile) : ordered_json()},
         {"seconds", {{"load", model.seconds}, {"bind", made.gradient.secondsBind}, {"run", made.run.seconds}}},
         {"peak_bytes", made.gradient.peakBytes}},
        {},
        profile};
}

/// A gradient pass as a run: the composite `gradient`, recorded.
Result<Gradients> recorded(const Context& context, const engine::LoadedModel& model,
                           const engine::GradientRequest& request, const GradOptions& options)
{
    RETRO_TRY(const engine::ExplainRequest recording, recordedRequest(model, request, options));
    RETRO_TRY(engine::ExplainResult result, engine::explain(model, recording, {}, context.progress()));
    warn(result.warnings);
    RETRO_CHECK(trace::writeRun(options.question().run, *result.run));
    Gradients made{result.model,
                   std::move(result.target),
                   {},
                   {{"visited", result.counts.visits},
                    {"events", result.counts.events},
                    {"run", options.question().run},
                    {"peak_bytes", result.peakBytes}}};
    const graph::Graph& graph = result.model->graph();
    if (result.forwarding) {
        made.facts["forwarding"] = engine::forwardingJson(*result.forwarding, graph);
        sayForwarding(context, *result.forwarding, graph, options.rows());
    }
    made.profile = result.profile;
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

Result<Gradients> computeAny(const Context& context, const engine::LoadedModel& model,
                             const engine::GradientRequest& request, const GradOptions& options)
{
    const bool isRecorded = !options.question().run.empty();
    if (options.isPlanned()) {
        return planned(context, model, request, options);
    }
    if (options.isForwarded() && !isRecorded) {
        return forwarded(context, model, request, options);
    }
    return isRecorded ? recorded(context, model, request, options) : fromTape(context, model, request);
}

/// The same, with its profile where that is asked for.
Result<Gradients> computeAll(const Context& context, const engine::LoadedModel& model,
                             const engine::GradientRequest& request, const GradOptions& options)
{
    if (!options.question().profile) {
        return computeAny(context, model, request, options);
    }
    trace::ProfileRecorder recorder;
    Result<Gradients> made = [&] {
        const event::ObserverScope observed(&recorder);
        return computeAny(context, model, request, options);
    }();
    RETRO_CHECK(made);
    const trace::Profile profile = made->profile ? *made->profile : std::move(recorder).take();
    const graph::Graph& graph = made->model->graph();
    made->facts["profile"] = trace::profileJson(graph, profile);
    made->facts["memory_decisions"] = trace::decisionsJson(graph, profile);
    if (!context.json) {
        sayProfile(context, graph, profile, options.rows());
    }
    return made;
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

Result<void> checkOptions(const GradOptions& options)
{
    if (options.question().graphOut.empty() && (options.isJoined || options.isDiff)) {
        return base::usageError("--joint and --diff are about a gradient graph; name its file by --graph-out, or leave "
                                "them out");
    }
    if (!options.question().graphOut.empty() && !options.question().tier.empty()) {
        return base::usageError("a graph cannot say that a value moves to a tier; leave one of the two out",
                                "--graph-out and --tier");
    }
    return engine::checkTogether(engine::asksOf(options.question()));
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

/// What the nodes follow; null without a plan.
ordered_json graphPlanJson(const engine::WrittenGradientGraph& written)
{
    if (!written.chosen) {
        return nullptr;
    }
    const engine::ChosenPlan& chosen = *written.chosen;
    return {{"planner", chosen.plan.annotations.planner},
            {"steps", chosen.plan.steps.size()},
            {"store_all_peak", chosen.storeAllPeak},
            {"peak", chosen.search ? ordered_json(chosen.search->peak) : ordered_json()}};
}

Result<void> writeGraph(const Context& context, const GradOptions& options, const engine::LoadedModelPointer& model,
                        const engine::GradientRequest& request)
{
    engine::GradientGraphForm form{options.isJoined, options.asksToFold(), options.keepsFunctions(*model)};
    if (options.isPlanned()) {
        RETRO_TRY(form.plan, engine::planOptions(options.question()));
    } else if (options.isForwarded()) {
        RETRO_TRY(form.forwarding, engine::forwardingOptions(options.question()));
    }
    RETRO_TRY(const engine::WrittenGradientGraph written,
              engine::writeGradientGraph(options.question().graphOut, model, request, form));
    const tape::GradientGraph& made = written.gradient;
    const graph::Graph& read = *model->rewritten.before;
    const std::string forwardFile = written.forwardFile.string();
    if (context.json) {
        ordered_json decisions = ordered_json::object();
        for (const execute::ControlDecision& one : written.decisions) {
            decisions[one.node] =
                one.iterations ? ordered_json{{"iterations", *one.iterations}} : ordered_json{{"branch", one.branch}};
        }
        const graph::Graph& inSteps = written.stages.empty() ? read : *written.stages.back().graph;
        context.answer({{"file", options.question().graphOut},
                        {"nodes", made.graph->nodeCount()},
                        {"nodes_before_passes", written.passes.before->nodeCount()},
                        {"nodes_of_model", read.nodeCount()},
                        {"nodes_of_model_in_steps", inSteps.nodeCount()},
                        {"passes", passesJson(written)},
                        {"seed", made.seed},
                        {"forwarded", made.forwarded},
                        {"gradients", made.gradients},
                        {"forward_file", forwardFile.empty() ? ordered_json() : ordered_json(forwardFile)},
                        {"plan", graphPlanJson(written)},
                        {"decisions", decisions}});
        return {};
    }
    if (!forwardFile.empty()) {
        context.say(fmt::format("{}  the forward graph, with what the gradient takes", forwardFile));
    }
    context.say(fmt::format("{}  {} nodes; input {} takes the gradient at the target, {} forward values are inputs",
                            options.question().graphOut, made.graph->nodeCount(), made.seed, made.forwarded.size()));
    sayPasses(context, options, written, read);
    for (const std::string& gradient : made.gradients) {
        context.say("output " + gradient);
    }
    return {};
}

/// How much of the graph the gradient visits, with a reason for every operator left out.
ordered_json criticalJson(const engine::CriticalNodes& found)
{
    const ordered_json leftOut = base::listOf(found.leftOut, [&](const engine::LeftOutNode& one) -> ordered_json {
        return {{"node", one.node}, {"operator", one.op}, {"reason", analysis::textOf(one.reason)}};
    });
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

/// What is asked of a model, of which is made what a gradient reaches: parameters and embeddings of tokens are inputs.
Result<engine::GradientRequest> openedRequest(const GradOptions& options, engine::LoadedModelPointer& model)
{
    const engine::Question& question = options.question();
    const bool isText = engine::namesText(question);
    engine::GradientRequest request;
    request.precision = engine::precisionOf(question, *model);
    request.from = question.from;
    if (isText) {
        RETRO_TRY(engine::ExplainRequest asked, engine::resolveWithInputs(question, *model));
        request.inputs = std::move(asked.inputs);
        request.target = asked.target;
        request.target.atScores = false; // a gradient starts at the target itself
    } else {
        RETRO_TRY(request.inputs,
                  options.listsRules ? options.model.resolveOrZeros(*model) : options.model.resolve(*model));
    }
    std::optional<engine::OpenedParameters> opened;
    if (question.parameters) {
        RETRO_TRY(opened, engine::openParameters(model, std::move(request.inputs)));
    } else if (question.graphOut.empty()) { // a graph has the inputs of the model
        RETRO_TRY(opened, engine::openEmbeddings(*model, request.inputs, request.precision, isText));
    }
    if (opened) {
        model = std::move(opened->model);
        request.inputs = std::move(opened->inputs);
        warn(opened->without);
    }
    if (!isText) {
        RETRO_TRY(request.target, engine::targetOf(question, *model));
    }
    return request;
}

Result<void> gradModel(const Context& context, const GradOptions& options)
{
    RETRO_CHECK(checkOptions(options));
    RETRO_TRY(engine::LoadedModelPointer model, options.model.load());
    RETRO_TRY(const engine::GradientRequest request, openedRequest(options, model));
    RETRO_CHECK(engine::chosenInputs(*model->graph(), options.question().from));
    if (options.listsRules) {
        return listGradientRules(context, *model, request);
    }
    if (!options.question().graphOut.empty()) {
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
    sayTarget(context, *model, gradients.model->graph(), gradients.target);
    context.say(fmt::format("visited {} of {} operators", found.critical, found.critical + found.leftOut.size()));
    if (!options.question().from.empty()) {
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
    options->model.addTo(*verb, engine::kGrad, context);
    verb->add_option("--output-dir", options->outputFolder, "Folder for the gradients; made when it is missing");
    verb->add_flag(
        "--rules", options->listsRules,
        "List the reverse rules of every node, by type and by name, and why one cannot be applied; runs nothing");
    verb->add_flag("--joint", options->isJoined, "With --graph-out: together with the forward graph");
    verb->add_flag("--diff", options->isDiff, "With --graph-out: the nodes before and after each pass");
}

} // namespace retro::app
