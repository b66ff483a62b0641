// SPDX-License-Identifier: Apache-2.0
#include "core/engine/planning.h"

#include "core/analysis/orders.h"
#include "core/analysis/report.h"
#include "core/base/cancel.h"
#include "core/engine/precision.h"
#include "core/execute/boundmodel.h"
#include "core/lrp/gradientparts.h"

#include <fmt/format.h>

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
        for (const auto& [name, size] : m_sizes) {
            if (!m_used.contains(name)) {
                return base::usageError("no input of the graph has such a symbol", name);
            }
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

Result<PlanningGraph> boundGraph(const LoadedModel& model, const SymbolSizes& sizes,
                                 const std::vector<base::ValueId>& outputs, const std::stop_token& stop)
{
    InputTypes inputs(*model.graph(), sizes);
    RETRO_TRY(const std::vector<ops::TensorType> types, inputs.types());
    RETRO_TRY(const std::shared_ptr<const BoundModel> bound,
              BoundModel::bind(model.graph(), types, precisionOf(model), {}, stop));
    RETRO_TRY(PlanningGraph result, planningGraphOf(*bound, outputs));
    result.warnings.insert(result.warnings.begin(), inputs.warnings().begin(), inputs.warnings().end());
    return result;
}

/// First come, first served, and the gradients behind.
Result<JointPlanning> joined(PlanningGraph planning, const std::string& name, const std::stop_token& stop)
{
    const auto order = analysis::orderBy(planning.graph, analysis::OrderHeuristic::FirstReady, stop);
    RETRO_CHECK(base::checkStop(stop));
    if (!order) {
        return base::inputError("its operators have no order", name);
    }
    analysis::JointOptions options;
    options.leastCost = planning.unit == analysis::CostUnit::Milliseconds ? 0 : 1;
    RETRO_TRY(analysis::JointGraph joint, analysis::jointOf(planning.graph, order->order, options));
    return JointPlanning{std::move(planning), std::move(joint)};
}

} // namespace

Result<PlanningGraph> planningGraphOf(const BoundModel& model, std::vector<base::ValueId> outputs)
{
    analysis::BoundFacts facts;
    facts.typeOf = [&](base::ValueId id) { return std::optional(model.typeOf(id)); };
    facts.operatorOf = [&](base::NodeId id) { return &model.op(id); };
    facts.carriesGradient = [&](base::ValueId id) { return model.isTracked(id); };
    facts.gradientReadsOf = [&](base::NodeId id) {
        std::vector<std::uint8_t> tracked;
        for (const base::ValueId operand : model.graph().node(id).inputs) {
            tracked.push_back(operand.isValid() && model.isTracked(operand) ? 1 : 0);
        }
        return lrp::gradientReads(model.op(id), tracked);
    };
    facts.relevanceBytesOf = [&](base::ValueId id) -> std::uint64_t {
        const bool isToken = model.isTracked(id) && !tensor::isFloating(model.typeOf(id).dtype);
        const tensor::DType dtype = execute::dtypeOf(model.precision());
        return isToken
                   ? static_cast<std::uint64_t>(tensor::elementCount(model.typeOf(id).shape)) * tensor::sizeOf(dtype)
                   : 0;
    };
    facts.outputs = std::move(outputs);
    return analysis::planningGraph(model.graph(), facts);
}

Result<PlanningGraph> planningGraphOf(const LoadedModel& model, const SymbolSizes& sizes,
                                      const std::vector<base::ValueId>& outputs, const std::stop_token& stop)
{
    Result<PlanningGraph> bound = boundGraph(model, sizes, outputs, stop);
    const bool isFinal =
        bound.ok() || bound.error().code == base::ErrorCode::Cancelled || bound.error().code == base::ErrorCode::Usage;
    if (isFinal) {
        return bound;
    }
    analysis::BoundFacts facts;
    facts.outputs = outputs;
    Result<PlanningGraph> stated = analysis::planningGraph(*model.graph(), facts);
    if (stated.ok()) {
        stated->warnings.push_back("taken as the graph states it: " + bound.error().text());
        return stated;
    }
    base::Error error = base::within(stated.error(), model.path.string());
    error.message += "; the graph could not be bound either: " + bound.error().text();
    return error;
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
    RETRO_TRY(PlanningGraph planning, planningGraphOf(*taken, {}, outputs, stop));
    if (!outputs.empty() && analysis::hasGradients(planning.graph)) {
        RETRO_TRY(planning, planningGraphOf(*taken, {}, {}, stop)); // all that a captured step gives is wanted
    }
    return joined(std::move(planning), model->path.string(), stop);
}

Result<JointPlanning> jointPlanningOf(const BoundModel& model, base::ValueId target, const std::stop_token& stop)
{
    RETRO_TRY(PlanningGraph planning, planningGraphOf(model, {target}));
    return joined(std::move(planning), model.graph().name(), stop);
}

} // namespace retro::engine
