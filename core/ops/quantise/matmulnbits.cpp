// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/linear/packedproduct.h"
#include "core/ops/linear/storedweight.h"
#include "core/ops/quantise/expertproduct.h"
#include "core/ops/quantise/gatherblockquantized.h"
#include "core/ops/quantise/nbitsweight.h"

#include <array>
#include <memory>
#include <vector>

namespace retro::ops
{

namespace
{

using tensor::DType;

constexpr std::size_t kBlockedBiasSlot = 5;

/// x·Wᵀ + b is a linear layer; relevance and gradients are those of one with the widened weights, which stay packed.
BoundResult bindMatMulNBits(const BindContext& context)
{
    if (!context.present(0) || !tensor::isFloating(firstType(context).dtype)) {
        return context.error("operand 0 must be floating");
    }
    const DType type = firstType(context).dtype;
    RETRO_TRY(const std::shared_ptr<const PackedMatrix> weight, packedNBits(context));
    const bool hasBias = context.present(kBlockedBiasSlot);
    graph::Node node = context.node;
    node.domain = hasBias ? "retrograde" : "";
    node.op = "MatMul";
    node.opset = hasBias ? 1 : kNewestOpset;
    node.attributes.clear();
    const graph::ValueId made(context.graph.valueCount()); // not what the graph stores there
    node.inputs = {node.inputs[0], made};
    std::vector<TensorType> types{firstType(context), {type, weight->shape()}};
    std::vector<Tensor> constants{Tensor(), shapeOnly(type, weight->shape())};
    if (hasBias) {
        node.inputs.push_back(made);
        types.push_back(context.operandTypes[kBlockedBiasSlot]);
        constants.push_back(context.constants[kBlockedBiasSlot]);
    }
    return bindPackedProduct({context.graph, context.id, node, types, constants, context.floatType, context.source},
                             weight);
}

} // namespace

std::span<const OperatorDeclaration> matMulNBitsDeclarations()
{
    static constexpr std::array kDeclarations{
        OperatorDeclaration{"com.microsoft", "GatherBlockQuantized", 1, 0, "shape map", true, bindGatherBlockQuantized,
                            true},
        OperatorDeclaration{"com.microsoft", "MatMulNBits", 1, 0, "linear map", true, bindMatMulNBits},
        OperatorDeclaration{"retrograde", "ExpertProduct", 1, 0, "linear map", true, bindExpertProduct},
    };
    return kDeclarations;
}

} // namespace retro::ops
