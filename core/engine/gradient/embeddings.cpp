// SPDX-License-Identifier: Apache-2.0
#include "core/engine/gradient/embeddings.h"

#include "core/engine/model/binding.h"
#include "core/engine/model/changedgraph.h"
#include "core/engine/model/runnablepart.h"
#include "core/execute/forward.h"
#include "core/graph/dimensions.h"
#include "core/graph/reach.h"

#include <algorithm>
#include <map>

namespace retro::engine
{

using base::NodeId;
using base::Result;
using base::ValueId;
using tensor::Tensor;

namespace
{

/// What nodes make of tokens by an embedding, by value.
std::vector<ValueId> embeddingsIn(const execute::BoundModel& model)
{
    const graph::Graph& graph = model.graph();
    std::vector<ValueId> found;
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        const graph::Node& node = graph.node(NodeId(i));
        bool readsTokens = false;
        for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
            readsTokens = readsTokens || model.tokensAt(NodeId(i), slot) != nullptr;
        }
        const ValueId made = graph.firstOutput(NodeId(i));
        if (readsTokens && made.isValid() && model.isTracked(made)) {
            found.push_back(made);
        }
    }
    return found;
}

/// The data of these values, by a pass over what they need.
Result<std::vector<Tensor>> dataOf(const std::vector<ValueId>& values, const execute::BoundModel& model,
                                   const std::vector<Tensor>& inputs, const std::stop_token& stop)
{
    RETRO_TRY(const std::shared_ptr<const graph::Graph> part, partFor(model.graph(), values));
    std::vector<ops::TensorType> types;
    for (const Tensor& input : inputs) {
        types.push_back({input.dtype(), input.shape()});
    }
    RETRO_TRY(const std::shared_ptr<const execute::BoundModel> bound,
              execute::BoundModel::bind(part, types, model.precision(), inputs, stop));
    RETRO_TRY(execute::ForwardResult made, execute::forward(bound, inputs, execute::SavePolicy::Nothing, stop));
    for (std::size_t i = 0; i < values.size(); ++i) {
        made.outputs[i] = model.inModelType(values[i], made.outputs[i]);
    }
    return std::move(made.outputs);
}

/// The graph with these values as inputs in place of the nodes that make them, and without what they alone needed.
Result<std::shared_ptr<const graph::Graph>> opened(const graph::Graph& graph, const std::map<ValueId, Tensor>& data)
{
    GraphChanges changes;
    const auto isOpened = [&](const graph::Node& node) {
        return std::ranges::any_of(node.outputs, [&](ValueId output) { return data.contains(output); });
    };
    const graph::Reach reach =
        graph::ancestorsOf(graph, graph.outputs(), [&](const graph::Node& node) { return !isOpened(node); });
    changes.keptNodes.emplace(graph.nodeCount(), false);
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        (*changes.keptNodes)[i] = reach.nodes[i] && !isOpened(graph.node(NodeId(i)));
    }
    for (const auto& [value, tensor] : data) {
        changes.inputs.push_back({value, tensor.dtype(), graph::dimensionsOf(tensor.shape())});
    }
    return changedGraph(graph, changes);
}

} // namespace

Result<std::optional<OpenedParameters>> openEmbeddings(const LoadedModel& model, const std::vector<Tensor>& inputs,
                                                       execute::Precision precision, bool isText,
                                                       const std::stop_token& stop)
{
    const graph::Graph& graph = *model.graph();
    const auto isFloating = [&](ValueId input) { return tensor::isFloating(graph.value(input).dtype); };
    if (!isText && std::ranges::any_of(graph.inputs(), isFloating)) {
        return std::optional<OpenedParameters>();
    }
    RETRO_TRY(const std::shared_ptr<const execute::BoundModel> bound,
              bindModel(model, inputs, precision, nullptr, stop));
    const std::vector<ValueId> embeddings = embeddingsIn(*bound);
    if (embeddings.empty()) {
        return base::inputError("the model has no floating input that could get a gradient, and no embedding of tokens "
                                "either; --parameters asks for the gradients of its initializers",
                                model.name);
    }
    RETRO_TRY(const std::vector<Tensor> made,
              dataOf(embeddings, *bound, inPrecision(bound->graph(), inputs, precision), stop));
    std::map<ValueId, Tensor> data;
    for (std::size_t i = 0; i < embeddings.size(); ++i) {
        const std::string& name = bound->graph().value(embeddings[i]).name;
        const auto value = graph.findValue(name);
        if (!value) {
            return base::inputError(
                "a body of If, Loop or Scan makes the embedding, and has none but in a run; ask for "
                "--parameters, or for relevance (`explain`)",
                name);
        }
        data[*value] = made[i];
    }
    RETRO_TRY(const std::shared_ptr<const graph::Graph> changed, opened(graph, data));
    auto loaded = std::make_shared<LoadedModel>(model);
    rewrite::RewriteOptions none = rewrite::noRewrites();
    none.keepDigits = false;
    RETRO_TRY(loaded->rewritten, rewrite::rewrite(changed, none, stop));
    OpenedParameters result{std::move(loaded), {}, {}};
    for (const ValueId input : result.model->graph()->inputs()) {
        const std::string& name = result.model->graph()->value(input).name;
        const auto known = graph.findValue(name);
        const auto own = std::ranges::find(graph.inputs(), *known);
        result.inputs.push_back(own != graph.inputs().end()
                                    ? inputs[static_cast<std::size_t>(own - graph.inputs().begin())]
                                    : data.at(*known));
    }
    return std::optional(std::move(result));
}

} // namespace retro::engine
