// SPDX-License-Identifier: Apache-2.0
#include "core/engine/gradient/writegradientgraph.h"

#include "core/analysis/report.h"
#include "core/base/file.h"
#include "core/engine/forwarding/gradientneeds.h"
#include "core/engine/gradient/choseninputs.h"
#include "core/engine/gradient/graphdot.h"
#include "core/engine/gradient/plannedgraph.h"
#include "core/engine/gradient/standardnodes.h"
#include "core/engine/model/binding.h"
#include "core/engine/model/changedgraph.h"
#include "core/execute/control/unroll.h"
#include "core/formats/modelfile.h"
#include "core/graph/dimensions.h"
#include "core/ops/layerkind.h"
#include "core/rewrite/rewrite.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>

namespace retro::engine
{

using base::Result;

namespace
{

using NodeKey = std::tuple<std::string, std::string, std::string>; // domain, operator, name

NodeKey keyOf(const graph::Node& node) { return {node.domain, node.op, node.name}; }

std::set<NodeKey> keysOf(const graph::Graph& graph)
{
    std::set<NodeKey> keys;
    for (const graph::Node& node : graph.nodes()) {
        keys.insert(keyOf(node));
    }
    return keys;
}

/// Names of the nodes of `graph` that the other has not.
std::vector<std::string> onlyIn(const graph::Graph& graph, const std::set<NodeKey>& other)
{
    std::vector<std::string> names;
    for (const graph::Node& node : graph.nodes()) {
        if (!other.contains(keyOf(node))) {
            names.push_back(node.name);
        }
    }
    return names;
}

bool holdsGraph(const graph::Node& node)
{
    return std::ranges::any_of(node.attributes,
                               [](const auto& entry) { return std::holds_alternative<graph::Subgraph>(entry.second); });
}

/// What withStandardNodes() did, as a step `standard-nodes` of nodes before and after; without steps where that is
/// nothing.
rewrite::Rewritten standardStage(std::shared_ptr<const graph::Graph> before, std::shared_ptr<const graph::Graph> after)
{
    rewrite::Rewritten stage{before, after, {}, {}};
    rewrite::RewriteStep step;
    step.rewrite = "standard nodes";
    step.name = "standard-nodes";
    step.removed = onlyIn(*before, keysOf(*after));
    step.added = onlyIn(*after, keysOf(*before));
    step.text = fmt::format("{} that other runtimes have not, in nodes of the operator set of the model",
                            step.removed.size() == 1 ? "a node" : fmt::format("{} nodes", step.removed.size()));
    if (before != after) {
        stage.steps.push_back(std::move(step));
    }
    return stage;
}

/// What became of If, Loop and Scan, as steps `write-out`, one per such node of `before`. `lines` are those of
/// execute::Unrolled.
rewrite::Rewritten writeOutStage(std::shared_ptr<const graph::Graph> before, std::shared_ptr<const graph::Graph> after,
                                 const std::vector<std::string>& lines)
{
    rewrite::Rewritten stage{before, after, {}, {}};
    if (before == after) {
        return stage;
    }
    const std::vector<std::string> added = onlyIn(*after, keysOf(*before));
    for (const graph::Node& node : before->nodes()) {
        if (!holdsGraph(node)) {
            continue;
        }
        rewrite::RewriteStep step;
        step.rewrite = "write out";
        step.name = "write-out";
        step.removed = {node.name};
        const auto isOfNode = [&](const std::string& name) { return name.starts_with(node.name + "/"); };
        std::ranges::copy_if(added, std::back_inserter(step.added), isOfNode);
        const std::string start = fmt::format("{} '{}': ", node.op, node.name);
        const auto line = std::ranges::find_if(lines, [&](const std::string& l) { return l.starts_with(start); });
        step.text = fmt::format("{} {} as it ran{} → {} nodes", node.op, node.name,
                                line == lines.end() ? "" : ", " + line->substr(start.size()), step.added.size());
        stage.steps.push_back(std::move(step));
    }
    return stage;
}

using analysis::OpId;
using analysis::OpValueId;
using base::ValueId;

class FormSequence
{
public:
    FormSequence(const runtime::JointProgram& program, const ForwardingPlan& forms, bool rebuildsOthers)
        : m_program(program), m_graph(program.graph()), m_forms(forms), m_isStored(m_graph.values().size(), true),
          m_has(m_graph.values().size(), false)
    {
        const graph::Graph& graph = program.model().graph();
        for (OpValueId id = 0; id < m_graph.values().size(); ++id) {
            m_isStored[id] = !isForwardResult(id) || isKept(graph, program.valueOf(id), rebuildsOthers);
        }
        for (OpId op = 0; op < program.forwardCount(); ++op) {
            m_opOf[program.nodeOf(op)] = op;
        }
    }

    std::vector<OpId> make()
    {
        for (OpId op = 0; op < m_program.forwardCount(); ++op) {
            m_sequence.push_back(op);
        }
        for (auto op = static_cast<OpId>(m_program.forwardCount()); op < m_graph.size(); ++op) {
            for (const OpValueId read : m_graph.reads(op)) {
                need(read);
            }
            m_sequence.push_back(op);
            forget();
        }
        return std::move(m_sequence);
    }

private:
    [[nodiscard]] bool isForwardResult(OpValueId id) const
    {
        return !m_program.isGradient(id) && !m_graph.value(id).isPinned;
    }

    [[nodiscard]] bool isKept(const graph::Graph& graph, ValueId value, bool rebuildsOthers) const
    {
        const auto at = std::ranges::find(m_forms.decisions, value, &ForwardDecision::value);
        if (at != m_forms.decisions.end()) {
            return at->form != ForwardForm::Rebuild;
        }
        const bool isInSegment = m_forms.segments.segmentOf(graph.value(value).producer).has_value();
        return !rebuildsOthers && !isInSegment;
    }

    [[nodiscard]] bool mayRepeat(OpValueId id) const { return m_graph.op(m_graph.value(id).producer).mayRepeat(); }

    /// Makes sure that a value is in memory.
    void need(OpValueId id)
    {
        if (m_isStored[id] || m_has[id] || !mayRepeat(id)) {
            return;
        }
        const OpId op = m_graph.value(id).producer;
        const std::optional<std::size_t> segment = m_forms.segments.segmentOf(m_program.nodeOf(op));
        if (segment && segment != m_segment) {
            forgetSegment();
            m_segment = segment;
            for (const base::NodeId node : m_forms.segments.nodesOf(*segment)) {
                if (const auto at = m_opOf.find(node); at != m_opOf.end()) {
                    runUnlessThere(at->second, true);
                }
            }
            return;
        }
        run(op, segment.has_value());
    }

    void runUnlessThere(OpId op, bool isOfSegment)
    {
        const auto isThere = [&](OpValueId output) {
            return m_isStored[output] || m_has[output] || !mayRepeat(output);
        };
        if (!std::ranges::all_of(m_graph.op(op).outputs, isThere)) {
            run(op, isOfSegment);
        }
    }

    void run(OpId op, bool isOfSegment)
    {
        for (const OpValueId read : m_graph.reads(op)) {
            need(read);
        }
        m_sequence.push_back(op);
        for (const OpValueId output : m_graph.op(op).outputs) {
            m_has[output] = true;
            (isOfSegment ? m_ofSegment : m_made).push_back(output);
        }
    }

    void forget()
    {
        for (const OpValueId id : m_made) {
            m_has[id] = false;
        }
        m_made.clear();
    }

    void forgetSegment()
    {
        for (const OpValueId id : m_ofSegment) {
            m_has[id] = false;
        }
        m_ofSegment.clear();
    }

    const runtime::JointProgram& m_program;
    const analysis::OpGraph& m_graph;
    const ForwardingPlan& m_forms;
    std::vector<bool> m_isStored; ///< per value: it stays until its last reader
    std::vector<bool> m_has;      ///< per value: it was computed again and is there
    std::vector<OpValueId> m_made;
    std::vector<OpValueId> m_ofSegment;
    std::optional<std::size_t> m_segment; ///< the one that is there
    std::map<base::NodeId, OpId> m_opOf;
    std::vector<OpId> m_sequence;
};

/// Chosen forms of forward values as a plan of a gradient's joint graph: the forward operators once, then the
/// gradients, before each of them what it reads and what is not stored, from what is. Nothing that is computed again is
/// kept for another gradient, but for the segment of a loop, which is computed as a whole. Compressed values are
/// packed where nodes can say it. Values that no form was chosen for are stored unless `rebuildsOthers`.
GraphPlan planOfForms(const runtime::JointProgram& program, const ForwardNeeds& needs, const ForwardingPlan& forms,
                      bool rebuildsOthers)
{
    const auto isSaid = [&](const RuleRead& read) { // of these alone a node gives the winners
        return read.detail != ReadDetail::Winners || ops::isMaxPool(needs.model().graph().node(read.node));
    };
    GraphPlan made;
    made.chosen.plan = schedule::planOf(program.graph(), FormSequence(program, forms, rebuildsOthers).make());
    made.chosen.plan.graphHash = program.graph().hash();
    made.chosen.plan.annotations.planner = "forward";
    made.chosen.storeAllPeak = analysis::storeAllPeak(program.graph());
    for (const ForwardDecision& decision : forms.decisions) {
        if (decision.form == ForwardForm::Compress && std::ranges::all_of(needs.readsOf(decision.value), isSaid)) {
            made.packed.insert(decision.value);
        }
    }
    return made;
}

/// What operators of many steps come to depends on shapes, which a file may leave open. Inputs that do not fit are
/// left to bindModel(), which says so.
Result<std::shared_ptr<const graph::Graph>> withShapes(const std::shared_ptr<const graph::Graph>& graph,
                                                       const std::vector<tensor::Tensor>& inputs,
                                                       const std::stop_token& stop)
{
    if (inputs.size() != graph->inputs().size()) {
        return graph;
    }
    GraphChanges changes;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        changes.shapes[graph->inputs()[i]] = graph::dimensionsOf(inputs[i].shape());
    }
    for (std::size_t i = 0; i < graph->valueCount(); ++i) { // in the type of their data
        const graph::Value& value = graph->value(graph::ValueId(i));
        if (value.kind == graph::ValueKind::Constant) {
            changes.constants[graph::ValueId(i)] = value.constant;
        }
    }
    return changedGraph(*graph, changes, stop);
}

/// A model in nodes that may have reverse rules, what made them, and why operators of many steps stayed whole.
struct StandardSteps
{
    LoadedModelPointer model;
    std::shared_ptr<const execute::BoundModel> bound;
    std::vector<rewrite::Rewritten> stages;
    std::vector<rewrite::RewriteStep> notes;
};

/// Takes a stage that has changed something; what it left as it was is told apart.
void addStage(StandardSteps& steps, rewrite::Rewritten stage)
{
    const auto isNote = [](const rewrite::RewriteStep& step) { return step.isNote; };
    std::ranges::copy_if(stage.steps, std::back_inserter(steps.notes), isNote);
    std::erase_if(stage.steps, isNote);
    if (!stage.steps.empty()) {
        steps.stages.push_back(std::move(stage));
    }
}

/// `graph`, with operators of many steps written out for inputs of these shapes unless they are kept.
Result<void> writeOut(StandardSteps& steps, const LoadedModel& model, const std::shared_ptr<const graph::Graph>& graph,
                      const GradientRequest& request, bool keepsFunctions, const std::stop_token& stop)
{
    rewrite::RewriteOptions options = rewrite::noRewrites();
    options.expandFunctions = !keepsFunctions;
    options.keepDigits = model.rewritten.options.keepDigits;
    const auto isGiven = [&](graph::ValueId input) { return model.graph()->value(input).given.has_value(); };
    options.dequantise = options.floatInputs = std::ranges::any_of(model.graph()->inputs(), isGiven);
    RETRO_TRY(const auto shaped, withShapes(graph, request.inputs, stop));
    RETRO_TRY(rewrite::Rewritten expanded, rewrite::rewrite(shaped, options, stop));
    auto plain = std::make_shared<LoadedModel>(model);
    RETRO_TRY(const auto standard, withStandardNodes(expanded.graph));
    plain->rewritten = {standard, standard, {}, {}, {}, rewrite::noRewrites()};
    steps.model = plain;
    steps.notes.clear(); // those of the graph with control flow, which this one replaces
    rewrite::Rewritten replaced = standardStage(expanded.graph, standard);
    addStage(steps, std::move(expanded));
    addStage(steps, std::move(replaced));
    std::vector<std::string> written;
    RETRO_TRY(steps.bound,
              bindModel(*plain, request.inputs, request.precision, &written, stop, bindOptionsFor(request.target)));
    addStage(steps, writeOutStage(standard, steps.bound->sharedGraph(), written));
    return {};
}

/// The model as its file says it, in steps. What control flow hands on has a shape once that is written out, as binding
/// does, and operators behind it or inside it can be written out then.
Result<StandardSteps> inStandardSteps(const LoadedModelPointer& model, const GradientRequest& request,
                                      bool keepsFunctions, const std::stop_token& stop)
{
    StandardSteps steps;
    RETRO_CHECK(writeOut(steps, *model, model->rewritten.before, request, keepsFunctions, stop));
    if (execute::hasControlFlow(*steps.model->graph())) {
        const std::shared_ptr<const graph::Graph> flat = steps.bound->sharedGraph();
        RETRO_CHECK(writeOut(steps, *model, flat, request, keepsFunctions, stop));
    }
    return steps;
}

/// With why the operator was not written out in steps that have reverse rules.
base::Error explained(base::Error error, const StandardSteps& steps, bool keepsFunctions)
{
    const graph::Graph& graph = steps.bound->graph();
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        const graph::Node& node = graph.node(base::NodeId(i));
        if (error.where != fmt::format("node '{}' ({})", node.name, node.op)) {
            continue;
        }
        const std::string start = fmt::format("{} ({}) stays whole: ", node.name, node.op);
        const auto isAbout = [&](const rewrite::RewriteStep& step) { return step.text.starts_with(start); };
        const auto note = std::ranges::find_if(steps.notes, isAbout);
        const bool hasSteps = steps.bound->op(base::NodeId(i)).structure().kind() == ops::StructureKind::Composed;
        if (note != steps.notes.end()) {
            error.message += "; it is not written out in steps either: " + note->text.substr(start.size());
        } else if (keepsFunctions && hasSteps) {
            error.message += "; it is not written out in steps either: expand-functions is switched off; leave it on";
        }
    }
    return error;
}

Result<tape::GradientGraph> gradientGraphOf(const StandardSteps& steps, const GradientRequest& request,
                                            const GradientGraphForm& form)
{
    RETRO_TRY(const base::ValueId target, targetValue(request.target, *steps.bound));
    RETRO_TRY(const std::vector<base::ValueId> from, chosenInputs(steps.bound->graph(), request.from));
    Result<tape::GradientGraph> made = tape::gradientGraph(*steps.bound, target, form.isJoined, from);
    return made.ok() ? std::move(made) : explained(made.error(), steps, form.keepsFunctions);
}

/// True where a constant that is computed would not have the type of its value: it is worked out wider than these.
bool hasNarrowFloats(const graph::Graph& graph)
{
    return std::ranges::any_of(graph.values(),
                               [](const graph::Value& value) { return tensor::isNarrowFloat(value.dtype); });
}

Result<void> checkForm(const std::filesystem::path& file, const rewrite::RewriteOptions& asked)
{
    const std::string ending = file.extension().string();
    if (ending != ".onnx" && ending != ".json" && ending != ".dot") {
        return base::usageError("a gradient graph is written as .onnx, .json or .dot", file.string());
    }
    if (asked.fuseElementwise && ending == ".onnx") {
        return base::usageError("ElementwiseChain is no operator of the standard; leave it out, or write .json",
                                "--rewrite fuse-elementwise");
    }
    return {};
}

Result<void> writeTo(const std::filesystem::path& file, const graph::Graph& graph)
{
    return file.extension() == ".dot" ? base::writeFile(file, dotOf(graph)) : formats::writeModelFile(file, graph);
}

/// True where passes were asked for, which could undo what a plan repeats.
bool asksForPasses(const LoadedModel& model, const GradientGraphForm& form)
{
    const rewrite::RewriteOptions& asked = model.rewritten.options;
    return form.foldsConstants || std::ranges::any_of(rewrite::rewriteNames(), [&](const rewrite::RewriteName& name) {
               return rewrite::isOptional(name) && asked.*name.option;
           });
}

/// By a plan, or by forms of forward values.
Result<PlannedGradientGraph> plannedGraphOf(const LoadedModel& model, const StandardSteps& steps,
                                            const GradientRequest& request, const GradientGraphForm& form)
{
    RETRO_TRY(const base::ValueId target, targetValue(request.target, *steps.bound));
    RETRO_TRY(const std::vector<base::ValueId> chosen, chosenInputs(steps.bound->graph(), request.from));
    const std::span<const base::ValueId> from =
        request.from.empty() ? std::span<const base::ValueId>() : std::span<const base::ValueId>(chosen);
    const auto byPlan = [&](const runtime::JointProgram& program) -> Result<GraphPlan> {
        RETRO_TRY(ChosenPlan plan, choosePlan(program, *form.plan));
        return GraphPlan{std::move(plan)};
    };
    const auto byForms = [&](const runtime::JointProgram& program) -> Result<GraphPlan> {
        ForwardingOptions wish = *form.forwarding;
        wish.loops = loopsOf(*model.rewritten.before);
        const GradientNeeds needs(steps.bound, target, from);
        RETRO_TRY(const ForwardingPlan forms, chooseForwarding(needs, wish));
        return planOfForms(program, needs, forms, wish.strategy == ForwardStrategy::Rebuild);
    };
    Result<PlannedGradientGraph> made =
        plannedGradientGraph(steps.bound, target, from, form.plan ? ChooseForGraph(byPlan) : ChooseForGraph(byForms));
    return made.ok() ? std::move(made) : explained(made.error(), steps, form.keepsFunctions);
}

Result<WrittenGradientGraph> writePlanned(const std::filesystem::path& file, const LoadedModelPointer& model,
                                          const GradientRequest& request, const GradientGraphForm& form,
                                          StandardSteps steps)
{
    if (asksForPasses(*model, form)) {
        return base::usageError("passes behind a gradient graph take out what a plan repeats; leave --rewrite out",
                                "--graph-out by a plan");
    }
    RETRO_TRY(PlannedGradientGraph planned, plannedGraphOf(*model, steps, request, form));
    WrittenGradientGraph made;
    made.decisions = execute::decisionsOf(steps.bound->graph());
    made.stages = std::move(steps.stages);
    made.chosen = planned.chosen;
    if (form.isJoined) {
        made.gradient = std::move(planned.gradient);
    } else {
        RETRO_TRY(SplitGradientGraph split, splitAtTurn(planned));
        made.gradient = std::move(split.gradient);
        made.forwardFile = file;
        made.forwardFile.replace_extension(".forward" + file.extension().string());
        RETRO_CHECK(writeTo(made.forwardFile, *split.forward));
    }
    made.passes = {made.gradient.graph, made.gradient.graph, {}, {}, {}, rewrite::noRewrites()};
    RETRO_CHECK(writeTo(file, *made.gradient.graph));
    return made;
}

} // namespace

Result<tape::GradientGraph> gradientGraph(const LoadedModelPointer& model, const GradientRequest& request,
                                          bool isJoined, const std::stop_token& stop)
{
    RETRO_TRY(const StandardSteps steps, inStandardSteps(model, request, false, stop));
    return gradientGraphOf(steps, request, {isJoined, false, false});
}

rewrite::RewriteOptions passesBehind(const tape::GradientGraph& gradient, const rewrite::RewriteOptions& asked,
                                     bool foldsConstants)
{
    rewrite::RewriteOptions passes = rewrite::noRewrites();
    passes.keepDigits = false; // another runtime reads constants in the types of their values
    bool hasAny = foldsConstants;
    for (const rewrite::RewriteName& name : rewrite::rewriteNames()) {
        if (rewrite::isOptional(name)) {
            passes.*name.option = asked.*name.option;
            hasAny = hasAny || asked.*name.option;
        }
    }
    passes.foldConstants = foldsConstants && !hasNarrowFloats(*gradient.graph);
    passes.removeUnused = hasAny && asked.removeUnused;
    return passes;
}

Result<WrittenGradientGraph> writeGradientGraph(const std::filesystem::path& file, const LoadedModelPointer& model,
                                                const GradientRequest& request, const GradientGraphForm& form)
{
    RETRO_CHECK(checkForm(file, model->rewritten.options));
    WrittenGradientGraph made;
    RETRO_TRY(StandardSteps steps, inStandardSteps(model, request, form.keepsFunctions, {}));
    if (form.plan || form.forwarding) {
        return writePlanned(file, model, request, form, std::move(steps));
    }
    made.decisions = execute::decisionsOf(steps.bound->graph());
    RETRO_TRY(made.gradient, gradientGraphOf(steps, request, form));
    made.stages = std::move(steps.stages);
    RETRO_TRY(made.passes, rewrite::rewrite(made.gradient.graph, passesBehind(made.gradient, model->rewritten.options,
                                                                              form.foldsConstants)));
    made.gradient.graph = made.passes.graph;
    RETRO_CHECK(writeTo(file, *made.gradient.graph));
    return made;
}

} // namespace retro::engine
