// SPDX-License-Identifier: Apache-2.0
#include "core/graph/attributes.h"
#include "core/ops/layerkind.h"
#include "core/rewrite/passes.h"
#include "core/rewrite/splice.h"

#include <fmt/format.h>

namespace retro::rewrite
{

using graph::Node;
using graph::Subgraph;

namespace
{

/// True when neither branch has inputs, and both have the outputs of the node, of the same types; what does not fit is
/// refused when it runs.
bool areBranchesAlike(const Node& node)
{
    const Subgraph* const thens = graph::attributeOf<Subgraph>(node, "then_branch");
    const Subgraph* const elses = graph::attributeOf<Subgraph>(node, "else_branch");
    for (const Subgraph* branch : {thens, elses}) {
        if (branch == nullptr || branch->graph->inputs().size() != branch->captured ||
            branch->graph->outputs().size() != node.outputs.size()) {
            return false;
        }
    }
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
        if (thens->graph->value(thens->graph->outputs()[k]).dtype !=
            elses->graph->value(elses->graph->outputs()[k]).dtype) {
            return false;
        }
    }
    return true;
}

/// The branch that an If with a constant condition takes; nullptr for every other node.
const Subgraph* takenBranch(const Draft& draft, const Node& node)
{
    const bool isDecided = ops::isBranch(node) && !node.inputs.empty() && draft.isConstant(node.inputs[0]) &&
                           draft.value(node.inputs[0]).constant.size() == 1 &&
                           draft.value(node.inputs[0]).constant.dtype() == tensor::DType::Bool &&
                           areBranchesAlike(node);
    if (!isDecided) {
        return nullptr;
    }
    const bool isTrue = draft.value(node.inputs[0]).constant.at(0) != 0;
    const Subgraph* const branch = graph::attributeOf<Subgraph>(node, isTrue ? "then_branch" : "else_branch");
    return branch->captured < node.inputs.size() ? branch : nullptr;
}

RewriteStep inlineOne(Draft& draft, NodeId id, const Subgraph& branch)
{
    const Node node = draft.node(id);
    RewriteStep step;
    step.rewrite = "inline branches";
    step.removed = {node.name};
    const std::span<const ValueId> captured = std::span(node.inputs).last(branch.captured);
    const std::string scope = node.scope.empty() ? node.name : node.scope + "/" + node.name;
    const std::vector<ValueId> results = splice(draft, {*branch.graph, captured, node.name + "/", scope}, step.added);
    draft.removeNode(id);
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
        if (node.outputs[k].isValid()) {
            step.added.push_back(
                addIdentity(draft, results[k], node.outputs[k], fmt::format("{}/out{}", node.name, k)));
        }
    }
    step.text = fmt::format("If {} always takes one branch: its nodes in its place", node.name);
    return step;
}

} // namespace

void inlineBranches(Draft& draft, std::vector<RewriteStep>& steps)
{
    for (std::size_t i = 0; i < draft.nodeCount() && !draft.isStopped(); ++i) { // what was put in comes behind
        if (draft.isRemoved(NodeId(i))) {
            continue;
        }
        if (const Subgraph* branch = takenBranch(draft, draft.node(NodeId(i)))) {
            const Subgraph taken = *branch; // the node goes
            steps.push_back(inlineOne(draft, NodeId(i), taken));
        }
    }
}

} // namespace retro::rewrite
