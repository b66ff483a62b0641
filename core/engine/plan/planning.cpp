// SPDX-License-Identifier: Apache-2.0
#include "core/engine/plan/planning.h"

#include "core/analysis/orders.h"
#include "core/analysis/report.h"
#include "core/base/cancel.h"
#include "core/engine/explain/explain.h"
#include "core/engine/gradient/choseninputs.h"
#include "core/engine/model/binding.h"
#include "core/engine/model/precision.h"
#include "core/execute/control/decisions.h"
#include "core/execute/sizesonly.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

namespace retro::engine
{

namespace
{

using analysis::PlanningGraph;
using base::Result;
using execute::BoundModel;

/// Types of the inputs, symbols at their sizes; what was assumed goes to `warnings`.
class InputTypes
{
public:
    InputTypes(const graph::Graph& graph, const SymbolSizes& sizes) : m_graph(graph), m_sizes(sizes) {}

    Result<std::vector<ops::TensorType>> types()
    {
        std::vector<ops::TensorType> types;
        for (const base::ValueId id : m_graph.inputs()) {
            const graph::Value& value = m_graph.value(id);
            if (!value.shape) {
                return base::inputError("the input declares no shape", value.name);
            }
            types.push_back({value.dtype, sizesOf(*value.shape)});
        }
        return types;
    }

    [[nodiscard]] const std::vector<std::string>& warnings() const { return m_warnings; }

private:
    tensor::Shape sizesOf(const std::vector<graph::Dimension>& dimensions)
    {
        tensor::Shape sizes;
        for (const graph::Dimension& dimension : dimensions) {
            sizes.push_back(dimension.extent ? *dimension.extent : sizeOf(dimension.symbol));
        }
        return sizes;
    }

    std::int64_t sizeOf(const std::string& symbol)
    {
        const bool isNew = m_used.insert(symbol).second;
        const auto given = m_sizes.find(symbol);
        if (given != m_sizes.end()) {
            return given->second;
        }
        if (isNew) {
            m_warnings.push_back(fmt::format("size {} is taken as 1", symbol.empty() ? "?" : symbol));
        }
        return 1;
    }

    const graph::Graph& m_graph;
    const SymbolSizes& m_sizes;
    std::set<std::string> m_used;
    std::vector<std::string> m_warnings;
};

/// Names that a person gave exist, also where the graph cannot be bound. Errors: Usage.
Result<void> checkNames(const graph::Graph& graph, const SymbolSizes& sizes, const HalfWish& half)
{
    std::set<std::string> symbols;
    for (const base::ValueId id : graph.inputs()) {
        for (const graph::Dimension& dimension : graph.value(id).shape.value_or(std::vector<graph::Dimension>())) {
            if (!dimension.extent && !dimension.symbol.empty()) {
                symbols.insert(dimension.symbol);
            }
        }
    }
    for (const auto& [name, size] : sizes) {
        if (!symbols.contains(name)) {
            return base::usageError(fmt::format("no input of the graph has such a symbol; they have {}",
                                                symbols.empty() ? "none" : fmt::format("{}", fmt::join(symbols, ", "))),
                                    "--size " + name);
        }
    }
    RETRO_CHECK(chosenInputs(graph, half.from));
    return {};
}

/// The subject of a half over a bound model, rules being those of the composite, and its names.
Result<PassSubject> subjectOf(const std::shared_ptr<const BoundModel>& bound, const LoadedModel& model,
                              const HalfWish& half, const std::stop_token& stop, schedule::Subject& names)
{
    const graph::Graph& graph = bound->graph();
    std::vector<base::ValueId> targets = half.outputs;
    if (targets.empty()) {
        targets.assign(graph.outputs().begin(), graph.outputs().end());
    }
    if (half.kind == analysis::JointKind::Gradient) {
        RETRO_TRY(const std::vector<base::ValueId> chosen, chosenInputs(graph, half.from));
        names = subjectNames(half.kind, *bound, targets);
        return PassSubject::gradient(bound, std::move(targets),
                                     half.from.empty() ? std::span<const base::ValueId>() : chosen);
    }
    if (!half.from.empty()) {
        return base::usageError("relevance goes to every input; leave it out, or plan for the gradient", "--from");
    }
    if (half.outputs.empty()) { // outputs that no relevance can start at have none
        std::erase_if(targets, [&](base::ValueId output) { return !bound->isTracked(output); });
        std::set<base::ValueId> seen;
        std::erase_if(targets, [&](base::ValueId output) { return !seen.insert(output).second; });
    }
    RETRO_TRY(const lrp::Composite composite, resolveComposite(half.composite, *bound));
    RETRO_TRY(lrp::RuleAssignment rules,
              lrp::assignRules(composite, *bound, model.rewritten.fused, stop, nullptr, &model.rewritten));
    if (targets.empty()) {
        return base::inputError("no output depends on a floating input by operators that pass relevance", graph.name());
    }
    names = subjectNames(half.kind, *bound, targets);
    names.start = half.start;
    names.composite = lrp::toJson(composite);
    return PassSubject::relevance(bound, std::move(targets),
                                  std::make_shared<const lrp::RuleAssignment>(std::move(rules)));
}

Result<SubjectPlanning> boundGraph(const LoadedModel& model, const SymbolSizes& sizes, const HalfWish& half,
                                   const std::stop_token& stop)
{
    const execute::SizesOnly sizesOnly;
    InputTypes inputs(*model.graph(), sizes);
    RETRO_TRY(const std::vector<ops::TensorType> types, inputs.types());
    RETRO_TRY(const std::shared_ptr<const BoundModel> bound,
              BoundModel::bind(model.graph(), types, precisionOf(model), {}, stop));
    SubjectPlanning result;
    RETRO_TRY(const PassSubject subject, subjectOf(bound, model, half, stop, result.subject));
    RETRO_TRY(result.planning, planningGraphOf(subject));
    result.subject.model = model.path.filename().string();
    result.subject.from = half.from;
    result.subject.hasParameters = half.hasParameters;
    std::vector<std::string>& warnings = result.planning.warnings;
    warnings.insert(warnings.begin(), inputs.warnings().begin(), inputs.warnings().end());
    return result;
}

/// First come, first served, and the second half behind.
Result<JointPlanning> joined(PlanningGraph planning, analysis::JointKind kind, const std::string& name,
                             const std::stop_token& stop)
{
    const auto order = analysis::orderBy(planning.graph, analysis::OrderHeuristic::FirstReady, stop);
    RETRO_CHECK(base::checkStop(stop));
    if (!order) {
        return base::inputError("its operators have no order", name);
    }
    analysis::JointOptions options;
    options.kind = kind;
    options.leastCost = planning.unit == analysis::CostUnit::Milliseconds ? 0 : 1;
    RETRO_TRY(analysis::JointGraph joint, analysis::jointOf(planning.graph, order->order, options));
    return JointPlanning{std::move(planning), std::move(joint)};
}

} // namespace

Result<PlanningGraph> planningGraphOf(const PassSubject& subject, const MoreReads& more)
{
    const BoundModel& model = subject.model();
    analysis::BoundFacts facts;
    facts.typeOf = [&](base::ValueId id) { return std::optional(model.typeOf(id)); };
    facts.operatorOf = [&](base::NodeId id) { return &model.op(id); };
    facts.carriesGradient = [&](base::ValueId id) { return subject.carries(id); };
    facts.partsOf = [&](base::NodeId id) {
        std::vector<analysis::NodePart> parts = subject.parts(id);
        for (analysis::NodePart& part : parts) {
            const ops::Reads also = more ? more(id, part.operand) : ops::Reads::nothing();
            part.reads.operands |= also.operands;
            part.reads.outputs |= also.outputs;
        }
        return parts;
    };
    facts.parameterReadsOf = [&](base::NodeId id) { return subject.parameterReads(id); };
    facts.isOfRelevance = subject.kind() == analysis::JointKind::Relevance;
    facts.relevanceBytesOf = [&](base::ValueId id) -> std::uint64_t {
        const bool isToken = subject.carries(id) && !tensor::isFloating(model.typeOf(id).dtype);
        const tensor::DType dtype = execute::dtypeOf(model.precision());
        return isToken
                   ? static_cast<std::uint64_t>(tensor::elementCount(model.typeOf(id).shape)) * tensor::sizeOf(dtype)
                   : 0;
    };
    facts.outputs = subject.targets();
    return analysis::planningGraph(model.graph(), facts);
}

Result<PlanningGraph> planningGraphOf(const BoundModel& model)
{
    const std::shared_ptr<const BoundModel> borrowed(std::shared_ptr<const void>(), &model);
    return planningGraphOf(
        PassSubject::gradient(borrowed, {model.graph().outputs().begin(), model.graph().outputs().end()}));
}

Result<SubjectPlanning> subjectPlanningOf(const LoadedModel& model, const SymbolSizes& sizes, const HalfWish& half,
                                          const std::stop_token& stop)
{
    RETRO_CHECK(checkNames(*model.graph(), sizes, half));
    Result<SubjectPlanning> bound = boundGraph(model, sizes, half, stop);
    const bool isFinal =
        bound.ok() || bound.error().code == base::ErrorCode::Cancelled || bound.error().code == base::ErrorCode::Usage;
    if (isFinal) {
        return bound;
    }
    analysis::BoundFacts facts;
    facts.outputs = half.outputs;
    Result<PlanningGraph> stated = analysis::planningGraph(*model.graph(), facts);
    if (stated.ok()) {
        stated->warnings.push_back("taken as the graph states it: " + bound.error().text());
        SubjectPlanning result;
        result.subject.half = half.kind == analysis::JointKind::Gradient ? "gradient" : "relevance";
        result.subject.model = model.path.filename().string();
        result.subject.from = half.from;
        result.subject.hasParameters = half.hasParameters;
        result.planning = std::move(stated).value();
        return result;
    }
    if (bound.error().code == base::ErrorCode::Memory) {
        return base::within(bound.error(), model.path.string());
    }
    base::Error error = base::within(stated.error(), model.path.string());
    error.message += "; the graph could not be bound either: " + bound.error().text();
    return error;
}

Result<PlanningGraph> planningGraphOf(const LoadedModel& model, const SymbolSizes& sizes, const HalfWish& half,
                                      const std::stop_token& stop)
{
    RETRO_TRY(SubjectPlanning made, subjectPlanningOf(model, sizes, half, stop));
    return std::move(made.planning);
}

std::vector<schedule::Decision> decisionsIn(const graph::Graph& graph)
{
    std::vector<schedule::Decision> decisions;
    for (execute::ControlDecision& one : execute::decisionsOf(graph)) {
        decisions.push_back({std::move(one.node), std::move(one.branch), one.iterations});
    }
    return decisions;
}

schedule::Subject subjectNames(analysis::JointKind kind, const BoundModel& model,
                               std::span<const base::ValueId> targets)
{
    const graph::Graph& graph = model.graph();
    schedule::Subject names;
    names.half = kind == analysis::JointKind::Gradient ? "gradient" : "relevance";
    for (const base::ValueId target : targets) {
        names.targets.push_back(graph.value(target).name);
    }
    for (const base::ValueId input : graph.inputs()) {
        names.shapes[graph.value(input).name] = model.typeOf(input).shape;
    }
    names.decisions = decisionsIn(graph);
    return names;
}

bool statesFacts(const graph::Graph& graph)
{
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        if (graph.node(base::NodeId(i)).facts) {
            return true;
        }
    }
    for (std::size_t i = 0; i < graph.valueCount(); ++i) {
        if (graph.value(base::ValueId(i)).facts) {
            return true;
        }
    }
    return false;
}

Result<LoadedModelPointer> asPlanned(const LoadedModelPointer& model, const std::stop_token& stop)
{
    if (!statesFacts(*model->rewritten.before)) {
        return model;
    }
    rewrite::RewriteOptions options;
    const std::string all = "all";
    RETRO_CHECK(rewrite::switchOff(options, {&all, 1}));
    return withRewrites(model, options, stop);
}

Result<JointPlanning> jointPlanningOf(const LoadedModelPointer& model, const std::optional<TargetRequest>& target,
                                      const std::stop_token& stop)
{
    RETRO_TRY(const LoadedModelPointer taken, asPlanned(model, stop));
    std::vector<base::ValueId> outputs;
    if (target && !taken->graph()->outputs().empty()) {
        RETRO_TRY(const base::ValueId value, targetValue(*target, *taken->graph()));
        outputs = {value};
    }
    HalfWish half;
    half.outputs = outputs;
    RETRO_TRY(PlanningGraph planning, planningGraphOf(*taken, {}, half, stop));
    if (!outputs.empty() && analysis::hasGradients(planning.graph)) {
        RETRO_TRY(planning, planningGraphOf(*taken, {}, {}, stop)); // all that a captured step gives is wanted
    }
    return joined(std::move(planning), half.kind, model->path.string(), stop);
}

Result<JointPlanning> jointPlanningOf(const PassSubject& subject, const std::stop_token& stop)
{
    RETRO_TRY(PlanningGraph planning, planningGraphOf(subject));
    return joined(std::move(planning), subject.kind(), subject.model().graph().name(), stop);
}

} // namespace retro::engine
