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

/// What a node reads in every block, and which operands go by blocks.
struct BlockOperands
{
    std::vector<TensorType> types;
    std::vector<Tensor> constants;
    std::vector<bool> isSplit;
};

/// Nothing when an operand neither lies as the result does nor is one constant element.
std::optional<BlockOperands> blockOperands(const BoundModel& model, const graph::Node& node, const TensorType& made)
{
    BlockOperands all;
    for (const ValueId operand : node.inputs) {
        const bool isGiven = operand.isValid();
        const TensorType type = isGiven ? model.typeOf(operand) : TensorType();
        const bool isSplit = isGiven && type.shape == made.shape;
        const bool isOne = isGiven && model.isConstant(operand) && tensor::elementCount(type.shape) == 1;
        if (isGiven && !isSplit && !isOne) {
            return std::nullopt;
        }
        all.types.push_back(type);
        all.constants.push_back(isGiven && !isSplit ? model.constant(operand) : Tensor());
        all.isSplit.push_back(isSplit);
    }
    return all;
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
    std::optional<BlockOperands> all = blockOperands(model, node, made);
    if (!all) {
        return std::nullopt;
    }
    const auto bind = [&](std::int64_t count) -> Operator {
        for (std::size_t i = 0; i < all->types.size(); ++i) {
            all->types[i].shape = all->isSplit[i] ? tensor::Shape{count} : all->types[i].shape;
        }
        auto op = ops::bind({model.graph(), id, node, all->types, all->constants, dtypeOf(model.precision())});
        const bool isFlat = op.ok() && (*op)->outputTypes() == std::vector{TensorType{made.dtype, {count}}};
        return isFlat ? std::move(*op) : nullptr;
    };
    Marked marked;
    marked.slot = slot;
    marked.isSplit = all->isSplit;
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
    if (!isAlone(marked, own, operands)) {
        operands[marked.slot] = own;
        return std::nullopt;
    }
    runInBlocks(marked, own, operands);
    return own;
}

/// True when nobody else holds the memory of `own`, and what goes by blocks beside it lies as it does.
bool Overwriting::isAlone(const Marked& marked, const Tensor& own, const std::vector<Tensor>& operands)
{
    if (!own.isDense() || own.storage().use_count() != 1) {
        return false;
    }
    for (std::size_t i = 0; i < operands.size(); ++i) {
        if (i != marked.slot && marked.isSplit[i] && operands[i].strides() != own.strides()) {
            return false;
        }
    }
    return true;
}

void Overwriting::runInBlocks(const Marked& marked, const Tensor& own, const std::vector<Tensor>& operands)
{
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
}

} // namespace retro::execute
