// SPDX-License-Identifier: Apache-2.0
#include "core/execute/overwriting.h"

#include "core/graph/metadata.h"
#include "core/ops/registry.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

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

/// How a node reads an operand block by block.
struct BlockOperand
{
    TensorType type;
    Tensor constant;      ///< one element that every block reads
    bool isSplit = false; ///< goes by blocks
};

/// Nothing when the operand neither lies as the result does nor is one constant element.
std::optional<BlockOperand> blockOperand(const BoundModel& model, ValueId operand, const TensorType& made)
{
    if (!operand.isValid()) {
        return BlockOperand();
    }
    const TensorType type = model.typeOf(operand);
    if (type.shape == made.shape) {
        return BlockOperand{type, {}, true};
    }
    const bool isOne = model.isConstant(operand) && tensor::elementCount(type.shape) == 1;
    return isOne ? std::optional(BlockOperand{type, model.constant(operand), false}) : std::nullopt;
}

/// The node over `count` elements; null when it does not give as many.
std::unique_ptr<ops::BoundOperator> boundToBlock(const BoundModel& model, NodeId id,
                                                 const std::vector<BlockOperand>& operands, std::int64_t count)
{
    std::vector<TensorType> types;
    std::vector<Tensor> constants;
    for (const BlockOperand& operand : operands) {
        types.push_back({operand.type.dtype, operand.isSplit ? tensor::Shape{count} : operand.type.shape});
        constants.push_back(operand.constant);
    }
    const std::vector<tensor::DType> numbers = model.operandNumbers(id);
    auto op = ops::bind(
        {model.graph(), id, model.graph().node(id), types, constants, dtypeOf(model.precision()), nullptr, numbers});
    const tensor::DType made = model.op(id).outputTypes().front().dtype;
    const bool isFlat = op.ok() && (*op)->outputTypes() == std::vector{TensorType{made, {count}}};
    return isFlat ? std::move(*op) : nullptr;
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
    std::vector<BlockOperand> operands;
    for (const ValueId input : node.inputs) {
        const std::optional<BlockOperand> operand = blockOperand(model, input, made);
        if (!operand) {
            return std::nullopt;
        }
        marked.isSplit.push_back(operand->isSplit);
        operands.push_back(*operand);
    }
    marked.whole = boundToBlock(model, id, operands, kBlock);
    marked.rest = boundToBlock(model, id, operands, tensor::elementCount(made.shape) % kBlock);
    return marked.whole && marked.rest ? std::optional(std::move(marked)) : std::nullopt;
}

std::optional<Tensor> Overwriting::run(NodeId node, std::vector<Tensor>& operands) const
{
    const auto at = m_marked.find(node);
    if (at == m_marked.end()) {
        return std::nullopt;
    }
    const Marked& marked = at->second;
    if (!isAlone(marked, operands)) {
        return std::nullopt;
    }
    runInBlocks(marked, operands);
    return std::exchange(operands[marked.slot], Tensor());
}

/// True when nobody else holds the memory of the marked operand, and what goes by blocks beside it lies as it does.
bool Overwriting::isAlone(const Marked& marked, const std::vector<Tensor>& operands)
{
    const Tensor& own = operands[marked.slot];
    if (!own.isDense() || own.storage().use_count() != 1) {
        return false;
    }
    for (std::size_t i = 0; i < operands.size(); ++i) {
        if (marked.isSplit[i] && operands[i].strides() != own.strides()) {
            return false;
        }
    }
    return true;
}

std::vector<Tensor> Overwriting::block(const Marked& marked, const std::vector<Tensor>& operands, std::int64_t begin,
                                       std::int64_t count)
{
    std::vector<Tensor> blocks;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        blocks.push_back(marked.isSplit[i] ? blockOf(operands[i], begin, count) : operands[i]);
    }
    return blocks;
}

void Overwriting::runInBlocks(const Marked& marked, const std::vector<Tensor>& operands)
{
    const Tensor& own = operands[marked.slot];
    // Nobody else holds this memory, so nobody sees it change.
    auto* memory = const_cast<tensor::Storage*>(own.storage().get())->data();
    const std::size_t width = tensor::sizeOf(own.dtype());
    for (std::int64_t begin = 0; begin < own.size(); begin += kBlock) {
        const std::int64_t count = std::min(kBlock, own.size() - begin);
        const Operator& op = count == kBlock ? marked.whole : marked.rest;
        const Tensor result = op->run(block(marked, operands, begin, count)).front().contiguous();
        std::memcpy(memory + static_cast<std::size_t>(own.offset() + begin) * width, result.rawData(),
                    static_cast<std::size_t>(count) * width);
    }
}

} // namespace retro::execute
