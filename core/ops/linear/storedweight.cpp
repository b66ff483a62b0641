// SPDX-License-Identifier: Apache-2.0
#include "core/ops/linear/storedweight.h"

#include "core/ops/kernel/weightvariants.h"

#include <cstring>

namespace retro::ops
{

Tensor storedWeight(const BindContext& context, std::size_t slot)
{
    const Tensor& inRun = context.constants[slot];
    const graph::ValueId id = context.node.inputs[slot];
    if (id.index() >= context.graph.valueCount()) {
        return inRun; // a constant that a rewrite has just made
    }
    const graph::Value& value = context.graph.value(id);
    const bool isStoredSo = value.kind == graph::ValueKind::Constant && value.constant.isValid() &&
                            isSixteenBit(value.constant.dtype()) && value.constant.shape() == inRun.shape();
    return isStoredSo ? value.constant : inRun;
}

bool takesStored(const graph::Node& node, std::size_t slot)
{
    if (node.op == "MatMul") {
        return slot < 2 && (node.domain.empty() || node.domain == "retrograde");
    }
    if (node.op == "Gemm" && node.domain.empty()) {
        const auto alpha = node.attributes.find("alpha"); // a factor goes into the weights when the node is bound
        const bool isScaled = alpha != node.attributes.end();
        return slot < 2 && !isScaled;
    }
    return node.op == "Gather" && node.domain.empty() && slot == 0;
}

Tensor shapeOnly(tensor::DType type, const tensor::Shape& shape)
{
    auto storage = std::make_shared<tensor::Storage>(sizeof(double));
    std::memset(storage->data(), 0, storage->size());
    return {type, shape, tensor::Shape(shape.size(), 0), 0, std::move(storage)};
}

} // namespace retro::ops
