// SPDX-License-Identifier: Apache-2.0
#include "core/ops/quantise/nbitsweight.h"
#include "core/rewrite/passes.h"
#include "core/rewrite/quantised/integernode.h"
#include "core/tensor/checkedshape.h"

namespace retro::rewrite
{

using graph::Node;
using tensor::DType;
using tensor::Tensor;

bool matMulNBits(Dequantiser& to, NodeId id)
{
    const Node node = to.draft().node(id);
    std::vector<ops::TensorType> types(node.inputs.size());
    std::vector<Tensor> constants(node.inputs.size());
    for (std::size_t slot = 1; slot < node.inputs.size(); ++slot) {
        if (node.inputs[slot].isValid() && !to.draft().isConstant(node.inputs[slot])) {
            return false; // binding says what is wrong
        }
        if (node.inputs[slot].isValid()) {
            constants[slot] = to.draft().value(node.inputs[slot]).constant;
            types[slot] = {constants[slot].dtype(), constants[slot].shape()};
        }
    }
    const ops::BindContext context{to.draft().before(), id, node, types, constants, DType::Float64};
    const base::Result<Tensor> weight = ops::nBitsWeight(context, DType::Float64, kMaxFoldedBytes);
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
