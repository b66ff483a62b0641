// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace retro::rewrite
{

namespace
{

/// Which values some output depends on.
class Needed
{
public:
    explicit Needed(const graph::Graph& graph) : m_isNeeded(graph.valueCount(), false) { add(graph.outputs()); }
    void add(std::span<const ValueId> values)
    {
        for (const ValueId value : values) {
            if (value.isValid()) {
                m_isNeeded[value.index()] = true;
            }
        }
    }
    [[nodiscard]] bool any(std::span<const ValueId> values) const
    {
        return std::any_of(values.begin(), values.end(),
                           [this](ValueId value) { return value.isValid() && m_isNeeded[value.index()]; });
    }

private:
    std::vector<bool> m_isNeeded;
};

/// Nodes that some output depends on: readers come after producers, so one pass backwards finds them.
std::vector<bool> neededNodes(const Draft& draft)
{
    Needed needed(draft.before());
    std::vector<bool> isNeeded(draft.nodeCount(), false);
    for (std::size_t i = draft.nodeCount(); i-- > 0;) {
        const graph::Node& node = draft.node(NodeId(i));
        isNeeded[i] = needed.any(node.outputs);
        if (isNeeded[i]) {
            needed.add(node.inputs);
        }
    }
    return isNeeded;
}

} // namespace

void removeUnused(Draft& draft, std::vector<RewriteStep>& steps)
{
    const std::vector<bool> isNeeded = neededNodes(draft);
    RewriteStep step;
    step.rewrite = "remove unused";
    for (std::size_t i = 0; i < draft.nodeCount() && !draft.isStopped(); ++i) {
        if (!isNeeded[i]) {
            step.removed.push_back(draft.node(NodeId(i)).name);
            draft.removeNode(NodeId(i));
        }
    }
    const std::size_t constants = draft.unusedConstants(); // they are left out when the graph is built
    if (!step.removed.empty() || constants > 0) {
        step.text =
            "no output depends on " + counted(step.removed.size(), "node") + " and " + counted(constants, "constant");
        steps.push_back(std::move(step));
    }
}

} // namespace retro::rewrite
