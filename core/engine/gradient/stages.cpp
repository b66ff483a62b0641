// SPDX-License-Identifier: Apache-2.0
#include "core/engine/gradient/stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace retro::engine
{

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

} // namespace

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

} // namespace retro::engine
