// SPDX-License-Identifier: Apache-2.0
#include "app/cli/rewritetext.h"

#include "core/base/record.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::app
{

using nlohmann::ordered_json;

namespace
{

/// "Conv stem/conv" per name, as the first of the graphs that has it says; the name alone for a node inside another
/// one, or that a later rewrite took away again.
std::vector<std::string> withOperators(const std::vector<const graph::Graph*>& graphs,
                                       const std::vector<std::string>& names)
{
    std::vector<std::string> texts;
    for (const std::string& name : names) {
        const auto at =
            std::ranges::find_if(graphs, [&](const graph::Graph* g) { return g->findNode(name).has_value(); });
        texts.push_back(at == graphs.end() ? name : fmt::format("{} {}", (*at)->node(*(*at)->findNode(name)).op, name));
    }
    return texts;
}

std::vector<std::string> nodesBefore(const rewrite::Rewritten& rewritten, const rewrite::RewriteStep& step)
{
    return withOperators({rewritten.before.get()}, step.removed);
}

/// What a step made may be gone behind a later one; what reading a file made is there before all of them.
std::vector<std::string> nodesAfter(const rewrite::Rewritten& rewritten, const rewrite::RewriteStep& step)
{
    return withOperators({rewritten.graph.get(), rewritten.before.get()}, step.added);
}

} // namespace

ordered_json rewritesJson(const rewrite::Rewritten& rewritten)
{
    return base::listOf(rewritten.steps, [&](const rewrite::RewriteStep& step) -> ordered_json {
        return {{"rewrite", step.rewrite},
                {"name", step.name},
                {"what", step.text},
                {"before", nodesBefore(rewritten, step)},
                {"after", nodesAfter(rewritten, step)}};
    });
}

void sayRewrites(const Context& context, const rewrite::Rewritten& rewritten, bool isDiff)
{
    for (const rewrite::RewriteStep& step : rewritten.steps) {
        context.say(fmt::format("{:<12} {}: {}", "rewrite", step.rewrite, step.text));
        if (!isDiff) {
            continue;
        }
        for (const std::string& node : nodesBefore(rewritten, step)) {
            context.say(fmt::format("{:<12} − {}", "", node));
        }
        for (const std::string& node : nodesAfter(rewritten, step)) {
            context.say(fmt::format("{:<12} + {}", "", node));
        }
    }
}

} // namespace retro::app
