// SPDX-License-Identifier: Apache-2.0
#include "core/engine/gradient/writegradientgraph.h"

#include "core/base/file.h"
#include "core/engine/binding.h"
#include "core/engine/gradient/graphdot.h"
#include "core/formats/modelfile.h"
#include "core/graph/graphbuilder.h"
#include "core/rewrite/draft.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::engine
{

using base::Result;

namespace
{

/// Products that relevance takes for gates are plain products to a gradient, and to other runtimes.
Result<std::shared_ptr<const graph::Graph>> withPlainProducts(std::shared_ptr<const graph::Graph> graph)
{
    const auto isGate = [](const graph::Node& node) { return node.domain == "retrograde" && node.op == "Gate"; };
    if (std::ranges::none_of(graph->nodes(), isGate)) {
        return graph;
    }
    rewrite::Draft draft(*graph);
    for (std::size_t i = 0; i < graph->nodeCount(); ++i) {
        graph::Node node = graph->node(base::NodeId(i));
        if (isGate(node)) {
            node.domain.clear();
            node.op = "Mul";
            node.opset = 13;
            draft.replaceNode(base::NodeId(i), std::move(node));
        }
    }
    RETRO_TRY(graph::Graph plain, draft.build());
    return std::make_shared<const graph::Graph>(std::move(plain));
}

/// Copies a graph value by value and node by node, its inputs with the shapes of the data.
class ShapedCopy
{
public:
    explicit ShapedCopy(const graph::Graph& graph) : m_graph(graph), m_builder(graph.name()), m_copy(graph.valueCount())
    {}

    Result<graph::Graph> build(const std::vector<tensor::Tensor>& inputs, const std::stop_token& stop)
    {
        for (const auto& [domain, version] : m_graph.opsets()) {
            m_builder.setOpset(domain, version);
        }
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            const graph::Value& value = m_graph.value(m_graph.inputs()[i]);
            m_copy[m_graph.inputs()[i].index()] = m_builder.addInput(value.name, value.dtype, inputs[i].shape());
        }
        for (std::size_t i = 0; i < m_graph.valueCount(); ++i) {
            copyValue(graph::ValueId(i));
        }
        for (graph::Node node : m_graph.nodes()) {
            take(node.inputs);
            take(node.outputs);
            m_builder.addNode(std::move(node));
        }
        for (const graph::ValueId output : m_graph.outputs()) {
            m_builder.addOutput(m_copy[output.index()]);
        }
        return std::move(m_builder).build(stop);
    }

private:
    void copyValue(graph::ValueId id)
    {
        const graph::Value& value = m_graph.value(id);
        if (value.kind == graph::ValueKind::Constant) {
            m_copy[id.index()] = m_builder.addConstant(value.name, value.constant);
        } else if (value.kind == graph::ValueKind::Result) {
            m_copy[id.index()] = m_builder.addResult(value.name);
            m_builder.declare(m_copy[id.index()], value.dtype, value.shape);
        }
    }

    void take(std::vector<graph::ValueId>& values) const
    {
        std::ranges::transform(values, values.begin(), [this](graph::ValueId value) {
            return value.isValid() ? m_copy[value.index()] : value;
        });
    }

    const graph::Graph& m_graph;
    graph::GraphBuilder m_builder;
    std::vector<graph::ValueId> m_copy; ///< by old value
};

/// What operators of many steps come to depends on shapes, which a file may leave open. Inputs that do not fit are
/// left to bindModel(), which says so.
Result<std::shared_ptr<const graph::Graph>> withShapes(const std::shared_ptr<const graph::Graph>& graph,
                                                       const std::vector<tensor::Tensor>& inputs,
                                                       const std::stop_token& stop)
{
    if (inputs.size() != graph->inputs().size()) {
        return graph;
    }
    RETRO_TRY(graph::Graph shaped, ShapedCopy(*graph).build(inputs, stop));
    return std::make_shared<const graph::Graph>(std::move(shaped));
}

/// The model as its file says it, with operators of many steps written out for inputs of these shapes.
Result<LoadedModelPointer> inStandardSteps(const LoadedModelPointer& model, const std::vector<tensor::Tensor>& inputs,
                                           const std::stop_token& stop)
{
    rewrite::RewriteOptions options = rewrite::noRewrites();
    options.expandFunctions = true;
    options.keepDigits = model->rewritten.options.keepDigits;
    RETRO_TRY(const auto shaped, withShapes(model->rewritten.before, inputs, stop));
    RETRO_TRY(const rewrite::Rewritten expanded, rewrite::rewrite(shaped, options, stop));
    auto plain = std::make_shared<LoadedModel>(*model);
    RETRO_TRY(const auto graph, withPlainProducts(expanded.graph));
    plain->rewritten = {graph, graph, {}, {}, {}, rewrite::noRewrites()};
    return LoadedModelPointer(std::move(plain));
}

} // namespace

Result<tape::GradientGraph> gradientGraph(const LoadedModelPointer& model, const GradientRequest& request,
                                          bool isJoined, const std::stop_token& stop)
{
    RETRO_TRY(const LoadedModelPointer plain, inStandardSteps(model, request.inputs, stop));
    RETRO_TRY(const auto bound, bindModel(*plain, request.inputs, request.precision, nullptr, stop));
    RETRO_TRY(const base::ValueId target, targetValue(request.target, bound->graph()));
    return tape::gradientGraph(*bound, target, isJoined);
}

namespace
{

/// The optional rewrites that the model was loaded with, for the graph behind it.
Result<rewrite::RewriteOptions> passesFor(const rewrite::RewriteOptions& asked, bool isOnnx)
{
    rewrite::RewriteOptions passes = rewrite::noRewrites();
    const std::vector<std::string> names = rewrite::switchedOn(asked);
    RETRO_CHECK(rewrite::switchOn(passes, names));
    passes.removeUnused = !names.empty();
    if (passes.fuseElementwise && isOnnx) {
        return base::usageError("ElementwiseChain is no operator of the standard; leave it out, or write .json",
                                "--rewrite fuse-elementwise");
    }
    return passes;
}

} // namespace

Result<WrittenGradientGraph> writeGradientGraph(const std::filesystem::path& file, const LoadedModelPointer& model,
                                                const GradientRequest& request, bool isJoined)
{
    const std::string ending = file.extension().string();
    if (ending != ".onnx" && ending != ".json" && ending != ".dot") {
        return base::usageError("a gradient graph is written as .onnx, .json or .dot", file.string());
    }
    RETRO_TRY(const rewrite::RewriteOptions passes, passesFor(model->rewritten.options, ending == ".onnx"));
    WrittenGradientGraph made;
    RETRO_TRY(made.gradient, gradientGraph(model, request, isJoined));
    made.nodesBefore = made.gradient.graph->nodeCount();
    RETRO_TRY(rewrite::Rewritten rewritten, rewrite::rewrite(made.gradient.graph, passes));
    made.gradient.graph = rewritten.graph;
    made.passes = std::move(rewritten.steps);
    if (ending == ".dot") {
        RETRO_CHECK(base::writeFile(file, dotOf(*made.gradient.graph)));
    } else {
        RETRO_CHECK(formats::writeModelFile(file, *made.gradient.graph));
    }
    return made;
}

} // namespace retro::engine
