// SPDX-License-Identifier: Apache-2.0
#include "core/graph/attributes.h"
#include "core/rewrite/affinechain.h"
#include "core/rewrite/mergestep.h"
#include "core/rewrite/passes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <optional>

namespace retro::rewrite
{

using graph::Node;
using tensor::Tensor;

namespace
{

/// Merges chains into the layers behind them.
class RightMerger
{
public:
    RightMerger(Draft& draft, std::vector<RewriteStep>& steps)
        : m_draft(draft), m_steps(steps), m_readers(draft), m_shapes(draft.shapes())
    {}

    void mergeAt(NodeId id)
    {
        const std::optional<LinearLayer> layer = linearLayerAt(m_draft, id);
        const AffineChain chain = layer ? chainBefore(m_draft, *layer, m_shapes) : AffineChain();
        if (chain.isEmpty()) {
            return;
        }
        const std::vector<double> shift =
            chain.applied(std::vector<double>(static_cast<std::size_t>(layer->layout.readCount()), 0.0));
        const bool isShifted = std::ranges::any_of(shift, [](double t) { return t != 0; });
        if (!isShifted || (layer->takesShift && layer->takesBias)) {
            merge(*layer, chain, isShifted ? std::optional(shift) : std::nullopt);
        } else if (!layer->takesShift && layer->read.isWhole) { // a convolution
            keepAsOne(*layer, chain, shift);
        }
    }

private:
    void merge(const LinearLayer& layer, const AffineChain& chain, const std::optional<std::vector<double>>& shift)
    {
        LayerChange change{chain.factor(), true};
        if (shift) {
            const Node& node = m_draft.node(layer.node);
            change.bias = biasOf(m_draft, layer);
            const std::vector<double> added = shiftedBy(m_draft, layer, *shift);
            std::ranges::transform(added, *change.bias, change.bias->begin(), std::plus<>());
            change.biasName = m_draft.value(node.inputs[layer.weightSlot]).name + ".merged_bias";
        }
        const bool isOfNorms = chain.isOfNorms(m_draft);
        std::vector<std::string> names = chain.namesIn(m_draft);
        names.push_back(m_draft.node(layer.node).name);
        std::optional<Node> changed = changedLayer(m_draft, layer, change);
        if (!changed) {
            m_steps.push_back(outOfRangeNote(m_draft.node(layer.node), isOfNorms, names));
            return;
        }
        m_steps.push_back(mergedStep(*changed, isOfNorms, std::move(names), true));
        const StraightChain straight = straighten(m_draft, layer, chain, false, m_readers, m_shapes);
        std::vector<NodeId> members = straight.members;
        members.push_back(layer.node);
        changed->inputs[layer.slot] = straight.from;
        m_draft.fuse(layer.node, std::move(*changed), members);
    }

    /// A chain that no bias can express becomes one BatchNormalization, whatever it was written as.
    void keepAsOne(const LinearLayer& layer, const AffineChain& chain, const std::vector<double>& shift)
    {
        const Node& node = m_draft.node(layer.node);
        const std::vector<std::string> names = chain.namesIn(m_draft);
        const bool isOne = chain.steps.size() == 1 && chain.isOfNorms(m_draft);
        RewriteStep step;
        step.rewrite = chain.isOfNorms(m_draft) ? "merge BatchNorm right" : "merge scale and shift right";
        step.text =
            fmt::format("{}{} stays before {} {}: it shifts the picture but not the zeros that pad it, which "
                        "no bias can express",
                        fmt::join(names, " + "),
                        isOne ? "" : fmt::format(" → BatchNormalization {}, which", names.back()), node.op, node.name);
        step.isNote = isOne;
        if (!isOne) {
            step.removed = names;
            step.added = {names.back()};
        }
        m_steps.push_back(std::move(step));
        if (!isOne) {
            joinIntoOne(layer, chain, shift);
        }
    }

    void joinIntoOne(const LinearLayer& layer, const AffineChain& chain, const std::vector<double>& shift)
    {
        const std::string name = chain.namesIn(m_draft).back();
        const StraightChain straight = straighten(m_draft, layer, chain, false, m_readers, m_shapes);
        Node node = m_draft.node(straight.members.back());
        node.op = "BatchNormalization";
        node.name = name;
        node.attributes = {{"epsilon", 0.0}};
        if (node.opset < 7) {
            node.attributes["is_test"] = std::int64_t{1};
        }
        const auto channels = layer.layout.readCount();
        const auto constant = [&](const char* what, const std::vector<double>& numbers) {
            return m_draft.addConstant(name + what, Tensor::of<double>({channels}, numbers),
                                       m_draft.value(straight.to).dtype);
        };
        const std::vector<double> ones(static_cast<std::size_t>(channels), 1.0);
        const std::vector<double> zeros(ones.size(), 0.0);
        node.inputs = {straight.from, constant(".scale", chain.factor()), constant(".shift", shift),
                       constant(".mean", zeros), constant(".variance", ones)};
        node.outputs = {straight.to};
        m_draft.fuse(straight.members.back(), std::move(node), straight.members);
    }

    Draft& m_draft;
    std::vector<RewriteStep>& m_steps;
    SoleReaders m_readers;
    GenericShapes& m_shapes;
};

} // namespace

void mergeBatchNormRight(Draft& draft, std::vector<RewriteStep>& steps)
{
    RightMerger merger(draft, steps);
    for (std::size_t i = 0; i < draft.nodeCount() && !draft.isStopped(); ++i) {
        if (!draft.isRemoved(NodeId(i))) {
            merger.mergeAt(NodeId(i));
        }
    }
}

} // namespace retro::rewrite
