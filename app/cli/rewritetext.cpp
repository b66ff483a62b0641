// SPDX-License-Identifier: Apache-2.0
#include "app/cli/rewritetext.h"

#include <fmt/format.h>

namespace retro::app
{

using nlohmann::ordered_json;

namespace
{

/// "Conv stem/conv" per name; the name alone for a node inside another one, or that a later rewrite took away again.
std::vector<std::string> withOperators(const graph::Graph& graph, const std::vector<std::string>& names)
{
    std::vector<std::string> texts;
    for (const std::string& name : names) {
        const auto node = graph.findNode(name);
        texts.push_back(node ? fmt::format("{} {}", graph.node(*node).op, name) : name);
    }
    return texts;
}

} // namespace

ordered_json rewritesJson(const rewrite::Rewritten& rewritten)
{
    ordered_json list = ordered_json::array();
    for (const rewrite::RewriteStep& step : rewritten.steps) {
        list.push_back({{"rewrite", step.rewrite},
                        {"name", step.name},
                        {"what", step.text},
                        {"before", withOperators(*rewritten.before, step.removed)},
                        {"after", withOperators(*rewritten.graph, step.added)}});
    }
    return list;
}

void sayRewrites(const Context& context, const rewrite::Rewritten& rewritten, bool isDiff)
{
    for (const rewrite::RewriteStep& step : rewritten.steps) {
        context.say(fmt::format("{:<12} {}: {}", "rewrite", step.rewrite, step.text));
        if (!isDiff) {
            continue;
        }
        for (const std::string& node : withOperators(*rewritten.before, step.removed)) {
            context.say(fmt::format("{:<12} − {}", "", node));
        }
        for (const std::string& node : withOperators(*rewritten.graph, step.added)) {
            context.say(fmt::format("{:<12} + {}", "", node));
        }
    }
}

} // namespace retro::app
