// SPDX-License-Identifier: Apache-2.0
#include "core/ops/registry.h"
#include "core/rewrite/passes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

namespace retro::rewrite
{

using graph::Node;

namespace
{

/// A function of one operand, element by element.
bool isFunction(const Node& node)
{
    const ops::OperatorDeclaration* known = ops::find(node.domain, node.op, node.opset);
    return known != nullptr && known->structure == "element-wise" && node.inputs.size() == 1 &&
           node.inputs[0].isValid() && node.outputs.size() == 1;
}

using Chain = std::vector<NodeId>;

/// Chains of functions, each as long as can be, in the order of their first nodes.
std::vector<Chain> chainsOf(const Draft& draft)
{
    std::vector<Chain> chains;
    std::map<std::uint32_t, std::size_t> endsWith; // value → chain
    for (std::size_t i = 0; i < draft.nodeCount() && !draft.isStopped(); ++i) {
        const Node& node = draft.node(NodeId(i));
        if (draft.isRemoved(NodeId(i)) || !isFunction(node)) {
            continue;
        }
        const ValueId operand = node.inputs[0];
        const auto at = endsWith.find(operand.value);
        const bool isNext = at != endsWith.end() && draft.readerCount(operand) == 1 && !draft.isOutput(operand);
        const std::size_t chain = isNext ? at->second : chains.size();
        if (!isNext) {
            chains.emplace_back();
        }
        chains[chain].push_back(NodeId(i));
        endsWith[node.outputs[0].value] = chain;
    }
    return chains;
}

/// `operators` names them in order; attributes of the i-th one are `<i>.<name>`.
Node chainNode(const Draft& draft, const Chain& chain)
{
    const Node& first = draft.node(chain.front());
    const Node& last = draft.node(chain.back());
    Node fused;
    fused.op = "ElementwiseChain";
    fused.domain = "retrograde";
    fused.opset = 1;
    fused.name = last.name;
    fused.scope = last.scope;
    fused.inputs = first.inputs;
    fused.outputs = last.outputs;
    std::vector<std::string> operators;
    std::vector<std::string> domains;
    std::vector<std::int64_t> opsets;
    for (std::size_t i = 0; i < chain.size(); ++i) {
        const Node& member = draft.node(chain[i]);
        operators.push_back(member.op);
        domains.push_back(member.domain);
        opsets.push_back(member.opset);
        for (const auto& [name, attribute] : member.attributes) {
            fused.attributes[fmt::format("{}.{}", i, name)] = attribute;
        }
    }
    fused.attributes["operators"] = std::move(operators);
    fused.attributes["domains"] = std::move(domains);
    fused.attributes["opsets"] = std::move(opsets);
    return fused;
}

} // namespace

void fuseElementwise(Draft& draft, std::vector<RewriteStep>& steps)
{
    for (const Chain& chain : chainsOf(draft)) {
        if (chain.size() < 2 || draft.isStopped()) {
            continue;
        }
        RewriteStep step;
        step.rewrite = "fuse element-wise";
        std::vector<std::string> words;
        for (const NodeId id : chain) {
            step.removed.push_back(draft.node(id).name);
            words.push_back(draft.node(id).op);
        }
        Node fused = chainNode(draft, chain);
        step.added = {fused.name};
        step.text = fmt::format("{} → {} (between them nothing is kept)", fmt::join(words, ", "), fused.name);
        draft.fuse(chain.back(), std::move(fused), chain);
        steps.push_back(std::move(step));
    }
}

} // namespace retro::rewrite
