// SPDX-License-Identifier: Apache-2.0
#include "core/engine/binding.h"

#include "core/execute/control/unroll.h"

namespace retro::engine
{

namespace
{

/// The rewritten graph with its computed constants in the digits that the precision has. Nodes and values have the same
/// ids in either.
base::Result<std::shared_ptr<const graph::Graph>> withDigits(const LoadedModel& model, execute::Precision precision,
                                                             const std::stop_token& stop)
{
    if (precision != execute::Precision::Double || model.graph() == model.rewritten.before) {
        return model.graph();
    }
    rewrite::RewriteOptions options = model.rewritten.options;
    options.keepDigits = true;
    RETRO_TRY(rewrite::Rewritten wide, rewrite::rewrite(model.rewritten.before, options, stop));
    return wide.graph;
}

/// The graph that these inputs run: control flow, if there is any, written out.
base::Result<std::shared_ptr<const graph::Graph>>
graphFor(const LoadedModel& model, const std::vector<tensor::Tensor>& inputs, execute::Precision precision,
         std::vector<std::string>* written, const std::stop_token& stop)
{
    for (const graph::Value& value : model.graph()->values()) {
        if (value.kind == graph::ValueKind::Constant && !value.constant.isValid()) {
            return base::inputError(
                "the file has no data for this constant, so the graph can be drawn and planned for, "
                "but not run; write it with its data",
                "value '" + value.name + "'");
        }
    }
    RETRO_TRY(std::shared_ptr<const graph::Graph> graph, withDigits(model, precision, stop));
    if (!execute::hasControlFlow(*graph)) {
        return graph;
    }
    RETRO_TRY(execute::Unrolled flat, execute::unroll(*graph, inputs, precision));
    if (written != nullptr) {
        *written = std::move(flat.steps);
    }
    return flat.graph;
}

} // namespace

base::Result<std::shared_ptr<const execute::BoundModel>>
bindModel(const LoadedModel& model, const std::vector<tensor::Tensor>& inputs, execute::Precision precision,
          std::vector<std::string>* written, const std::stop_token& stop)
{
    std::vector<ops::TensorType> types;
    for (const tensor::Tensor& input : inputs) {
        types.push_back({input.dtype(), input.shape()});
    }
    auto graph = graphFor(model, inputs, precision, written, stop);
    if (!graph) {
        return base::within(std::move(graph).error(), model.path.string());
    }
    auto bound = execute::BoundModel::bind(*graph, types, precision, inPrecision(inputs, precision), stop);
    if (!bound) {
        return base::within(std::move(bound).error(), model.path.string());
    }
    return bound;
}

std::vector<tensor::Tensor> inPrecision(const std::vector<tensor::Tensor>& inputs, execute::Precision precision)
{
    std::vector<tensor::Tensor> converted;
    for (const tensor::Tensor& input : inputs) {
        converted.push_back(tensor::isFloating(input.dtype()) ? input.to(execute::dtypeOf(precision)) : input);
    }
    return converted;
}

} // namespace retro::engine
