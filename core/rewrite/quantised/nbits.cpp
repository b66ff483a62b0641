// SPDX-License-Identifier: Apache-2.0
#include "core/ops/quantise/gatherblockquantized.h"
#include "core/ops/quantise/nbitsweight.h"
#include "core/rewrite/quantised/integernode.h"
#include "core/tensor/checkedshape.h"

#include <optional>

namespace retro::rewrite
{

using graph::Node;
using tensor::DType;
using tensor::Tensor;

namespace
{

/// Weights of at most so many bytes as float64 become numbers, for which there are more tools; larger ones stay packed.
constexpr std::uint64_t kMostWidened = 2ULL << 20;

/// The operands of a node, all but one of which are constant.
struct PackedOperands
{
    std::vector<ops::TensorType> types;
    std::vector<Tensor> constants;
};

/// Nothing where another one than `computed` is no constant: binding says what is wrong.
std::optional<PackedOperands> packedOperands(Dequantiser& to, const Node& node, std::size_t computed)
{
    PackedOperands operands{std::vector<ops::TensorType>(node.inputs.size()), std::vector<Tensor>(node.inputs.size())};
    for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
        if (slot == computed || !node.inputs[slot].isValid()) {
            continue;
        }
        if (!to.draft().isConstant(node.inputs[slot])) {
            return std::nullopt;
        }
        operands.constants[slot] = to.draft().value(node.inputs[slot]).constant;
        operands.types[slot] = {operands.constants[slot].dtype(), operands.constants[slot].shape()};
    }
    return operands;
}

} // namespace

bool gatherBlockQuantized(Dequantiser& to, NodeId id)
{
    const Node node = to.draft().node(id);
    const std::optional<PackedOperands> operands = packedOperands(to, node, 1);
    if (!operands) {
        return false;
    }
    const ops::BindContext context{to.draft().before(), id, node, operands->types, operands->constants, DType::Float64};
    const base::Result<ops::GatheredTable> table = ops::gatheredTable(context, DType::Float64, kMostWidened);
    if (!table.ok()) {
        return false;
    }
    const Dequantiser::Working working(to, id);
    const ValueId made = to.constant(to.draft().value(node.inputs[0]).name + ".dequantised", table->table);
    to.finish(id, {"retrograde", "Gather", 1, {{"axis", table->axis}}}, "", {made, node.inputs[1]}, node.outputs);
    return true;
}

bool matMulNBits(Dequantiser& to, NodeId id)
{
    const Node node = to.draft().node(id);
    const std::optional<PackedOperands> operands = packedOperands(to, node, 0);
    if (!operands) {
        return false; // binding says what is wrong
    }
    const ops::BindContext context{to.draft().before(), id, node, operands->types, operands->constants, DType::Float64};
    const base::Result<Tensor> weight = ops::nBitsWeight(context, DType::Float64, kMostWidened);
    if (!weight.ok()) {
        return false;
    }
    const Dequantiser::Working working(to, id);
    const ValueId w = to.constant(to.draft().value(node.inputs[1]).name + ".dequantised", *weight);
    const ValueId bias = operandOf(node, 5);
    if (bias.isValid()) {
        to.finish(id, {"retrograde", "MatMul", 1, {}}, "", {node.inputs[0], w, bias}, node.outputs);
    } else {
        to.finish(id, {"", "MatMul", 13, {}}, "", {node.inputs[0], w}, node.outputs);
    }
    return true;
}

} // namespace retro::rewrite
