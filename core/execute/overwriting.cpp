// SPDX-License-Identifier: Apache-2.0
#include "core/execute/overwriting.h"

#include "core/graph/metadata.h"
#include "core/ops/registry.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace retro::execute
{

using ops::TensorType;

namespace
{

/// Elements of a block: a few of them fit a core's own cache. Whole vectors of any width.
constexpr std::int64_t kBlock = 32768;

/// The marked slot of a node.
std::optional<std::size_t> markedSlot(const graph::Node& node)
{
    const auto at = node.metadata.find(std::string(graph::kOverwrites));
    std::size_t slot = 0;
    if (at == node.metadata.end()) {
        return std::nullopt;
    }
    const std::string& text = at->second;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), slot);
    return read.ec == std::errc() && slot < node.inputs.size() ? std::optional(slot) : std::nullopt;
}

/// `count` elements from `begin` on, in memory order.
Tensor blockOf(const Tensor& x, std::int64_t begin, std::int64_t count)
{
    return {x.dtype(), {count}, {1}, x.offset() + begin, x.storage()};
}

} // namespace

Overwriting::Overwriting(const BoundModel& model)
{
    for (std::size_t i = 0; i < model.graph().nodeCount(); ++i) {
        const std::optional<std::size_t> slot = markedSlot(model.graph().node(NodeId(i)));
        if (slot && model.graph().node(NodeId(i)).inputs[*slot].isValid()) {
            if (std::optional<Marked> marked = bound(model, NodeId(i), *slot)) {
                m_marked.emplace(NodeId(i), std::move(*marked));
            }
        }
    }
}

std::optional<Overwriting::Marked> Overwriting::bound(const BoundModel& model, NodeId id, std::size_t slot)
{
    const graph::Node& node = model.graph().node(id);
    const TensorType made = model.op(id).outputTypes().front();
    if (model.typeOf(node.inputs[slot]) != made) {
        return std::nullopt;
    }
    Marked marked;
    marked.slot = slot;
    std::vector<TensorType> types(node.inputs.size());
    std::vector<Tensor> constants(node.inputs.size());
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const ValueId operand = node.inputs[i];
        marked.isSplit.push_back(operand.isValid() && model.typeOf(operand).shape == made.shape);
        if (!operand.isValid()) {
            continue;
        }
        types[i] = model.typeOf(operand);
        if (!marked.isSplit[i] && (!model.isConstant(operand) || tensor::elementCount(types[i].shape) != 1)) {
            return std::nullopt;
        }
        constants[i] = marked.isSplit[i] ? Tensor() : model.constant(operand);
    }
    const auto bind = [&](std::int64_t count) -> Operator {
        for (std::size_t i = 0; i < types.size(); ++i) {
            types[i].shape = marked.isSplit[i] ? tensor::Shape{count} : types[i].shape;
        }
        auto op = ops::bind({model.graph(), id, node, types, constants, dtypeOf(model.precision())});
        const bool isFlat = op.ok() && (*op)->outputTypes() == std::vector{TensorType{made.dtype, {count}}};
        return isFlat ? std::move(*op) : nullptr;
    };
    marked.whole = bind(kBlock);
    marked.rest = bind(tensor::elementCount(made.shape) % kBlock);
    return marked.whole && marked.rest ? std::optional(std::move(marked)) : std::nullopt;
}

std::optional<Tensor> Overwriting::run(NodeId node, std::vector<Tensor>& operands) const
{
    const auto at = m_marked.find(node);
    if (at == m_marked.end()) {
        return std::nullopt;
    }
    const Marked& marked = at->second;
    const Tensor own = std::move(operands[marked.slot]);
    operands[marked.slot] = {};
    const bool fits = own.isDense() && own.storage().use_count() == 1;
    for (std::size_t i = 0; fits && i < operands.size(); ++i) {
        if (i != marked.slot && marked.isSplit[i] && operands[i].strides() != own.strides()) {
            operands[marked.slot] = own;
            return std::nullopt;
        }
    }
    if (!fits) {
        operands[marked.slot] = own;
        return std::nullopt;
    }
    // Nobody else holds this memory, so nobody sees it change.
    auto* memory = const_cast<tensor::Storage*>(own.storage().get())->data();
    const std::size_t width = tensor::sizeOf(own.dtype());
    for (std::int64_t begin = 0; begin < own.size(); begin += kBlock) {
        const std::int64_t count = std::min(kBlock, own.size() - begin);
        std::vector<Tensor> blocks;
        for (std::size_t i = 0; i < operands.size(); ++i) {
            const Tensor& operand = i == marked.slot ? own : operands[i];
            blocks.push_back(marked.isSplit[i] ? blockOf(operand, begin, count) : operand);
        }
        const Tensor result = (count == kBlock ? marked.whole : marked.rest)->forward(blocks).front().contiguous();
        std::memcpy(memory + static_cast<std::size_t>(own.offset() + begin) * width, result.rawData(),
                    static_cast<std::size_t>(count) * width);
    }
    return own;
}

} // namespace retro::execute
