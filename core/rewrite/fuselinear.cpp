// SPDX-License-Identifier: Apache-2.0
#include "core/ops/elements.h"
#include "core/ops/layerkind.h"
#include "core/rewrite/passes.h"

#include <fmt/format.h>

#include <array>
#include <optional>

namespace retro::rewrite
{

using graph::Node;

namespace
{

bool isFloatingConstant(const Draft& draft, ValueId id)
{
    return draft.isConstant(id) && tensor::isFloating(draft.value(id).constant.dtype());
}

/// x·W with constant W of at least two axes, read by one node alone.
std::optional<NodeId> productBefore(const Draft& draft, ValueId value)
{
    if (!value.isValid() || draft.readerCount(value) != 1 || draft.isOutput(value) ||
        !draft.value(value).producer.isValid()) {
        return std::nullopt;
    }
    const NodeId id = draft.value(value).producer;
    const Node& node = draft.node(id);
    const bool isProduct =
        ops::isMatMul(node) && isFloatingConstant(draft, node.inputs[1]) && !draft.isConstant(node.inputs[0]);
    return isProduct && draft.value(node.inputs[1]).constant.rank() >= 2 ? std::optional(id) : std::nullopt;
}

/// One number per column of the weight, or one for all: adding it changes no extent of the product.
bool isBias(const Draft& draft, ValueId bias, ValueId weight)
{
    if (!isFloatingConstant(draft, bias)) {
        return false;
    }
    const tensor::Shape& shape = draft.value(bias).constant.shape();
    const std::int64_t count = tensor::elementCount(shape);
    return count == 1 || (count == shape.back() && count == draft.value(weight).constant.shape().back());
}

/// The product that an Add of a constant follows, and which operand is the constant.
struct Layer
{
    NodeId product;
    ValueId bias;
};

std::optional<Layer> layerOf(const Draft& draft, const Node& add)
{
    if (!ops::combinesTwo(add, {ops::Elements::Summed})) {
        return std::nullopt;
    }
    for (std::size_t slot = 0; slot < 2; ++slot) {
        const ValueId bias = add.inputs[slot];
        const std::optional<NodeId> product = productBefore(draft, add.inputs[1 - slot]);
        if (product && isBias(draft, bias, draft.node(*product).inputs[1])) {
            return Layer{*product, bias};
        }
    }
    return std::nullopt;
}

void fuse(Draft& draft, const Layer& layer, NodeId addId, std::vector<RewriteStep>& steps)
{
    const Node& add = draft.node(addId);
    Node node = draft.node(layer.product);
    steps.push_back({"fuse linear",
                     fmt::format("{} + {} → linear layer {}", node.name, add.name, node.name),
                     {node.name, add.name},
                     {node.name},
                     false});
    node.domain = "retrograde";
    node.opset = 1;
    node.inputs.push_back(layer.bias);
    node.outputs = add.outputs;
    const std::array members{layer.product, addId};
    draft.fuse(layer.product, std::move(node), members);
}

} // namespace

bool isLinearPair(const Draft& draft, NodeId product, NodeId add)
{
    const std::optional<Layer> layer = layerOf(draft, draft.node(add));
    return layer && layer->product == product;
}

void fuseLinear(Draft& draft, std::vector<RewriteStep>& steps)
{
    for (std::size_t i = 0; i < draft.nodeCount() && !draft.isStopped(); ++i) {
        if (draft.isRemoved(NodeId(i))) {
            continue;
        }
        if (const std::optional<Layer> layer = layerOf(draft, draft.node(NodeId(i)))) {
            fuse(draft, *layer, NodeId(i), steps);
        }
    }
}

} // namespace retro::rewrite
