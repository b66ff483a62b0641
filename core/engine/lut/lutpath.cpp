// SPDX-License-Identifier: Apache-2.0
#include "core/engine/lut/lutpath.h"

#include "core/ops/tablelookup.h"
#include "core/rewrite/draft.h"

#include <algorithm>

namespace retro::engine
{

namespace
{

using GraphPointer = std::shared_ptr<const graph::Graph>;

constexpr const char* kAttribute = "documented";

bool isDocumented(const graph::Node& node)
{
    const auto at = node.attributes.find(kAttribute);
    const auto* value = at == node.attributes.end() ? nullptr : std::get_if<std::int64_t>(&at->second);
    return value != nullptr && *value != 0;
}

/// The graph with the attribute of its layers set; the graph itself when they have it.
base::Result<GraphPointer> onPath(const GraphPointer& graph, bool documented)
{
    const auto differs = [&](const graph::Node& node) { return ops::isLut(node) && isDocumented(node) != documented; };
    if (std::ranges::none_of(graph->nodes(), differs)) {
        return graph;
    }
    rewrite::Draft draft(*graph);
    for (std::size_t i = 0; i < graph->nodeCount(); ++i) {
        const base::NodeId id(i);
        if (differs(graph->node(id))) {
            graph::Node changed = graph->node(id);
            changed.attributes[kAttribute] = std::int64_t{documented ? 1 : 0};
            draft.replaceNode(id, std::move(changed));
        }
    }
    RETRO_TRY(graph::Graph built, draft.build());
    return std::make_shared<const graph::Graph>(std::move(built));
}

} // namespace

base::Result<LoadedModelPointer> withLutPath(const LoadedModelPointer& model, lut::Path path)
{
    const bool documented = path == lut::Path::Documented;
    RETRO_TRY(const GraphPointer graph, onPath(model->graph(), documented));
    if (graph == model->graph()) {
        return model;
    }
    auto changed = std::make_shared<LoadedModel>(*model);
    changed->rewritten.graph = graph;
    if (model->rewritten.before == model->graph()) {
        changed->rewritten.before = graph;
    } else {
        RETRO_TRY(changed->rewritten.before, onPath(model->rewritten.before, documented));
    }
    return LoadedModelPointer(std::move(changed));
}

bool hasDocumentedLut(const graph::Graph& graph)
{
    return std::ranges::any_of(graph.nodes(),
                               [](const graph::Node& node) { return ops::isLut(node) && isDocumented(node); });
}

} // namespace retro::engine
