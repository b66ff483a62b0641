// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explain/runrules.h"

#include "core/engine/explain/explain.h"
#include "core/execute/boundmodel.h"
#include "core/graph/graphbuilder.h"
#include "core/ops/numbertypes.h"
#include "core/tensor/checkedshape.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace retro::engine
{

using base::Result;
using base::ValueId;
using graph::Graph;
using tensor::Tensor;

namespace
{

bool lacksItsData(const graph::Value& value)
{
    return value.kind == graph::ValueKind::Constant && !value.constant.isValid();
}

// Zeros of the declared shape, which a run file always has for a constant.
Result<Tensor> zerosFor(const graph::Value& value)
{
    tensor::Shape shape;
    for (const graph::Dimension& dimension : value.shape.value_or(std::vector<graph::Dimension>{})) {
        if (!dimension.extent) {
            return base::inputError(
                fmt::format("the run has neither data nor shape of the constant \"{}\"", value.name));
        }
        shape.push_back(*dimension.extent);
    }
    const auto bytes = tensor::checkedBytes(shape, value.dtype, std::numeric_limits<std::int64_t>::max());
    if (!bytes.ok()) {
        return base::within(bytes.error(), fmt::format("constant \"{}\" of the run", value.name));
    }
    return Tensor::zeros(value.dtype, std::move(shape));
}

Result<void> addValue(graph::GraphBuilder& builder, const graph::Value& value)
{
    if (value.kind == graph::ValueKind::Input) {
        builder.addInput(value.name, value.dtype, value.shape);
    } else if (lacksItsData(value)) {
        RETRO_TRY(Tensor zeros, zerosFor(value));
        builder.addConstant(value.name, std::move(zeros));
    } else if (value.kind == graph::ValueKind::Constant) {
        builder.addConstant(value.name, value.constant);
    } else {
        builder.declare(builder.addResult(value.name), value.dtype, value.shape);
    }
    return {};
}

// The same values and nodes by the same ids, with data for every constant.
Result<std::shared_ptr<const Graph>> withAllConstants(const std::shared_ptr<const Graph>& graph,
                                                      const std::stop_token& stop)
{
    if (std::ranges::none_of(graph->values(), lacksItsData)) {
        return graph;
    }
    graph::GraphBuilder builder(graph->name());
    for (const auto& [domain, version] : graph->opsets()) {
        builder.setOpset(domain, version);
    }
    for (const graph::Value& value : graph->values()) {
        RETRO_CHECK(addValue(builder, value));
    }
    for (const graph::Node& node : graph->nodes()) {
        builder.addNode(node);
    }
    for (const ValueId output : graph->outputs()) {
        builder.addOutput(output);
    }
    RETRO_TRY(Graph built, std::move(builder).build(stop));
    return std::shared_ptr<const Graph>(std::make_shared<const Graph>(std::move(built)));
}

Result<std::shared_ptr<const execute::BoundModel>> bindRun(const trace::Run& run, const std::stop_token& stop)
{
    RETRO_TRY(const std::shared_ptr<const Graph> graph, withAllConstants(run.graph, stop));
    const bool isDouble = run.facts.precision == "float64";
    const execute::Precision wide =
        ops::computesInFloat64(*graph) ? execute::Precision::Declared : execute::Precision::Double;
    const execute::Precision precision = isDouble ? wide : execute::Precision::Float;
    std::vector<ops::TensorType> types;
    std::vector<Tensor> inputs;
    for (const ValueId input : graph->inputs()) {
        if (input.index() >= run.shapes.size() || input.index() >= run.values.size()) {
            return base::inputError("the run does not say which shapes its inputs had");
        }
        const tensor::DType declared = graph->value(input).dtype;
        const tensor::DType dtype = tensor::isFloating(declared) ? execute::dtypeOf(precision) : declared;
        types.push_back({dtype, run.shapes[input.index()]});
        const Tensor& value = run.values[input.index()];
        inputs.push_back(value.isValid() ? value.to(dtype) : Tensor());
    }
    const bool haveAll = std::ranges::all_of(inputs, [](const Tensor& input) { return input.isValid(); });
    return execute::BoundModel::bind(graph, types, precision, haveAll ? inputs : std::vector<Tensor>(), stop);
}

} // namespace

Result<std::vector<trace::NodeRule>> rulesFor(const trace::Run& run, const std::string& composite,
                                              const std::stop_token& stop)
{
    RETRO_TRY(const std::shared_ptr<const execute::BoundModel> model, bindRun(run, stop));
    RETRO_TRY(const lrp::Composite chosen, resolveComposite(composite, *model));
    RETRO_TRY(const lrp::RuleAssignment rules, lrp::assignRules(chosen, *model, {}, stop));
    std::vector<trace::NodeRule> words;
    for (std::size_t i = 0; i < rules.size(); ++i) {
        words.push_back({rules[i].rule ? rules[i].rule->text() : "", rules[i].matcher,
                         std::string(ops::nameOf(model->op(base::NodeId(i)).structure().kind()))});
    }
    return words;
}

} // namespace retro::engine
