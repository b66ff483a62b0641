// SPDX-License-Identifier: Apache-2.0
#include "core/ops/layerkind.h"
#include "core/rewrite/affinechain.h"
#include "core/rewrite/mergestep.h"
#include "core/rewrite/passes.h"

#include <algorithm>

namespace retro::rewrite
{

using graph::Node;

namespace
{

/// What a new bias is named after.
std::string biasNameOf(const Draft& draft, const LinearLayer& layer, const AffineChain& chain)
{
    const Node& node = draft.node(layer.node);
    if (hasOperand(node, 2)) {
        return draft.value(node.inputs[2]).name + ".merged";
    }
    const Node& first = draft.node(chain.steps[0].node);
    return ops::isBatchNormalisation(first) ? draft.value(first.inputs[2]).name + ".merged"
                                            : draft.value(node.inputs[layer.weightSlot]).name + ".merged_bias";
}

void mergeInto(Draft& draft, const LinearLayer& layer, const AffineChain& chain, SoleReaders& readers,
               GenericShapes& shapes, std::vector<RewriteStep>& steps)
{
    LayerChange change{chain.factor()};
    const std::vector<double> bias = chain.applied(biasOf(draft, layer));
    if (hasOperand(draft.node(layer.node), 2) || std::ranges::any_of(bias, [](double b) { return b != 0; })) {
        change.bias = bias;
        change.biasName = biasNameOf(draft, layer, chain);
    }
    std::vector<std::string> names = chain.namesIn(draft);
    names.insert(names.begin(), draft.node(layer.node).name);
    std::optional<Node> changed = changedLayer(draft, layer, change);
    if (!changed) {
        steps.push_back(outOfRangeNote(draft.node(layer.node), chain.isOfNorms(draft), names));
        return;
    }
    steps.push_back(mergedStep(*changed, chain.isOfNorms(draft), std::move(names), false));
    const StraightChain straight = straighten(draft, layer, chain, true, readers, shapes);
    std::vector<NodeId> members{layer.node};
    members.insert(members.end(), straight.members.begin(), straight.members.end());
    changed->outputs = {straight.to};
    draft.fuse(layer.node, std::move(*changed), members);
    readers.take(layer.node);
}

} // namespace

void mergeBatchNorm(Draft& draft, std::vector<RewriteStep>& steps)
{
    SoleReaders readers(draft);
    GenericShapes& shapes = draft.shapes();
    for (std::size_t i = 0; i < draft.nodeCount() && !draft.isStopped(); ++i) {
        const std::optional<LinearLayer> layer =
            draft.isRemoved(NodeId(i)) ? std::nullopt : linearLayerAt(draft, NodeId(i));
        if (!layer || !layer->takesBias) {
            continue;
        }
        const AffineChain chain = chainBehind(draft, *layer, readers, shapes);
        const bool isPair = chain.steps.size() == 1 && isLinearPair(draft, layer->node, chain.steps[0].node);
        if (!chain.isEmpty() && !isPair) {
            mergeInto(draft, *layer, chain, readers, shapes, steps);
        }
    }
}

} // namespace retro::rewrite
