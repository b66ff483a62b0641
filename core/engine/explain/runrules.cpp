// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explain/runrules.h"

#include "core/engine/explain/explain.h"
#include "core/engine/model/standins.h"
#include "core/execute/boundmodel.h"
#include "core/ops/numbertypes.h"

#include <algorithm>

namespace retro::engine
{

using base::Result;
using base::ValueId;
using graph::Graph;
using tensor::Tensor;

namespace
{

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
