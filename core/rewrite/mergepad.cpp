// SPDX-License-Identifier: Apache-2.0
#include "core/graph/attributes.h"
#include "core/ops/elements.h"
#include "core/rewrite/passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace retro::rewrite
{

using graph::Node;
using tensor::Tensor;

namespace
{

using Pads = std::vector<std::int64_t>;

bool isGiven(const Node& node, std::size_t slot) { return slot < node.inputs.size() && node.inputs[slot].isValid(); }

/// Integers of a constant operand; nothing when it is computed.
std::optional<Pads> constantInts(const Draft& draft, ValueId value)
{
    if (!draft.isConstant(value)) {
        return std::nullopt;
    }
    Pads numbers;
    const Tensor& data = draft.value(value).constant;
    for (std::int64_t i = 0; i < data.size(); ++i) {
        numbers.push_back(static_cast<std::int64_t>(data.at(i)));
    }
    return numbers;
}

/// True when what is put beside the data is 0.
bool padsWithZeros(const Draft& draft, const Node& pad)
{
    const bool isConstantMode = attributeOr<std::string>(pad, "mode", "constant") == "constant";
    const bool isZero =
        !isGiven(pad, 2) || (draft.isConstant(pad.inputs[2]) && draft.value(pad.inputs[2]).constant.size() == 1 &&
                             draft.value(pad.inputs[2]).constant.at(0) == 0);
    return isConstantMode && isZero && floatAttribute(pad, "value", 0) == 0;
}

/// What a Pad of zeros puts in front of and behind each spatial axis of an operand of `rank` axes; nothing when it pads
/// other axes, or cuts.
std::optional<Pads> spatialPads(const Draft& draft, const Node& pad, std::size_t rank)
{
    const std::optional<Pads> own =
        pad.inputs.size() > 1 ? constantInts(draft, pad.inputs[1]) : std::optional(attributeOr<Pads>(pad, "pads", {}));
    std::optional<Pads> axes = isGiven(pad, 3) ? constantInts(draft, pad.inputs[3]) : Pads();
    if (!own || !axes || !padsWithZeros(draft, pad)) {
        return std::nullopt;
    }
    for (std::size_t axis = 0; !isGiven(pad, 3) && axis < rank; ++axis) {
        axes->push_back(static_cast<std::int64_t>(axis));
    }
    Pads spatial(2 * (rank - 2), 0);
    for (std::size_t i = 0; own->size() == 2 * axes->size() && i < axes->size(); ++i) {
        const std::int64_t axis = (*axes)[i] < 0 ? (*axes)[i] + static_cast<std::int64_t>(rank) : (*axes)[i];
        for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
            const std::int64_t count = (*own)[side * axes->size() + i];
            if (count < 0 || (axis < 2 && count > 0)) {
                return std::nullopt;
            }
            if (axis >= 2) {
                spatial[side * (rank - 2) + static_cast<std::size_t>(axis) - 2] += count;
            }
        }
    }
    return own->size() == 2 * axes->size() ? std::optional(spatial) : std::nullopt;
}

/// The Pad before a convolution that alone reads it; invalid: there is none.
NodeId padOf(const Draft& draft, NodeId id)
{
    const Node& conv = draft.node(id);
    const bool isConv =
        !draft.isRemoved(id) && conv.domain.empty() && conv.op == "Conv" && draft.isConstant(conv.inputs[1]);
    const std::string mode = attributeOr<std::string>(conv, "auto_pad", "NOTSET");
    const NodeId maker =
        isConv && (mode == "NOTSET" || mode == "VALID") ? draft.value(conv.inputs[0]).producer : NodeId();
    const bool isPad = maker.isValid() && ops::areElements(draft.node(maker), {ops::Elements::Padded}) &&
                       draft.node(maker).domain.empty() && draft.readerCount(conv.inputs[0]) == 1 &&
                       !draft.isOutput(conv.inputs[0]);
    return isPad ? maker : NodeId();
}

/// The convolution with the zeros of the Pad before it; nothing when that does something else.
std::optional<Node> withPad(const Draft& draft, const Node& conv, NodeId pad)
{
    const std::size_t rank = draft.value(conv.inputs[1]).constant.rank();
    const std::optional<Pads> added = rank > 2 ? spatialPads(draft, draft.node(pad), rank) : std::nullopt;
    Pads pads = attributeOr<Pads>(conv, "pads", Pads(added ? added->size() : 0, 0));
    if (!added || pads.size() != added->size()) {
        return std::nullopt;
    }
    std::ranges::transform(pads, *added, pads.begin(), std::plus<>());
    Node padded = conv;
    padded.attributes.erase("auto_pad");
    padded.attributes["pads"] = std::move(pads);
    padded.inputs[0] = draft.node(pad).inputs[0];
    return padded;
}

} // namespace

void mergePad(Draft& draft, std::vector<RewriteStep>& steps)
{
    for (std::size_t i = 0; i < draft.nodeCount() && !draft.isStopped(); ++i) {
        const NodeId id(i);
        for (NodeId pad = padOf(draft, id); pad.isValid(); pad = padOf(draft, id)) {
            std::optional<Node> padded = withPad(draft, draft.node(id), pad);
            if (!padded) {
                break;
            }
            const std::string name = draft.node(pad).name;
            steps.push_back({"merge Pad",
                             fmt::format("{} + {} → Conv {}", name, padded->name, padded->name),
                             {name, padded->name},
                             {padded->name},
                             false});
            const std::vector<NodeId> members{pad, id};
            draft.fuse(id, *std::move(padded), members);
        }
    }
}

} // namespace retro::rewrite
