// SPDX-License-Identifier: Apache-2.0
#include "core/engine/lut/lutpath.h"

#include "core/graph/attributes.h"
#include "core/ops/tablelookup.h"
#include "core/rewrite/draft.h"

#include <algorithm>

namespace retro::engine
{

namespace
{

using GraphPointer = std::shared_ptr<const graph::Graph>;

constexpr const char* kDocumented = "documented";
constexpr const char* kCuda = "cuda";

/// The graph with an attribute of its layers set; the graph itself when they have it.
base::Result<GraphPointer> withAttribute(const GraphPointer& graph, const char* attribute, bool value)
{
    const auto differs = [&](const graph::Node& node) { return ops::isLut(node) && isSet(node, attribute) != value; };
    if (std::ranges::none_of(graph->nodes(), differs)) {
        return graph;
    }
    rewrite::Draft draft(*graph);
    for (std::size_t i = 0; i < graph->nodeCount(); ++i) {
        const base::NodeId id(i);
        if (differs(graph->node(id))) {
            graph::Node changed = graph->node(id);
            changed.attributes[attribute] = std::int64_t{value ? 1 : 0};
            draft.replaceNode(id, std::move(changed));
        }
    }
    RETRO_TRY(graph::Graph built, draft.build());
    return std::make_shared<const graph::Graph>(std::move(built));
}

base::Result<LoadedModelPointer> withAttribute(const LoadedModelPointer& model, const char* attribute, bool value)
{
    RETRO_TRY(const GraphPointer graph, withAttribute(model->graph(), attribute, value));
    if (graph == model->graph()) {
        return model;
    }
    auto changed = std::make_shared<LoadedModel>(*model);
    changed->rewritten.graph = graph;
    if (model->rewritten.before == model->graph()) {
        changed->rewritten.before = graph;
    } else {
        RETRO_TRY(changed->rewritten.before, withAttribute(model->rewritten.before, attribute, value));
    }
    return LoadedModelPointer(std::move(changed));
}

} // namespace

base::Result<LoadedModelPointer> withLutPath(const LoadedModelPointer& model, lut::Path path)
{
    return withAttribute(model, kDocumented, path == lut::Path::Documented);
}

bool hasDocumentedLut(const graph::Graph& graph)
{
    return std::ranges::any_of(graph.nodes(),
                               [](const graph::Node& node) { return ops::isLut(node) && isSet(node, kDocumented); });
}

base::Result<LoadedModelPointer> withLutBackend(const LoadedModelPointer& model, lut::Backend backend)
{
    return withAttribute(model, kCuda, backend == lut::Backend::Cuda);
}

LutPlace lutPlace(const graph::Graph& graph, tensor::DType type)
{
    const bool isAsked = std::ranges::any_of(
        graph.nodes(), [](const graph::Node& node) { return ops::isLut(node) && isSet(node, kCuda); });
    if (!isAsked) {
        return {};
    }
    if (type != tensor::DType::Float32) {
        return {lut::Backend::Cpu, std::string("the run is in ") + std::string(tensor::nameOf(type)) +
                                       ", and layers run on a GPU in float32 alone"};
    }
    const lut::Status status = lut::availability(lut::Backend::Cuda);
    return status.ok() ? LutPlace{lut::Backend::Cuda, {}} : LutPlace{lut::Backend::Cpu, status.message};
}

} // namespace retro::engine
