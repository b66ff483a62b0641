// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/quantised/grid.h"

#include "core/ops/registry.h"
#include "core/rewrite/attributes.h"
#include "core/rewrite/passes.h"
#include "core/tensor/checkedshape.h"

#include <array>

namespace retro::rewrite
{

using tensor::DType;
using tensor::Tensor;

Grid gridOf(const graph::Node& node)
{
    return {operandOf(node, 1), operandOf(node, 2), intAttribute(node, "axis", 1), intAttribute(node, "block_size", 0)};
}

namespace
{

bool isSameValue(const Draft& draft, ValueId a, ValueId b)
{
    if (a == b || !a.isValid() || !b.isValid()) {
        return a == b;
    }
    if (!draft.isConstant(a) || !draft.isConstant(b)) {
        return false;
    }
    const Tensor& left = draft.value(a).constant;
    const Tensor& right = draft.value(b).constant;
    return left.dtype() == right.dtype() && left.size() == right.size() &&
           left.contiguous().reshaped({left.size()}).bitEqual(right.contiguous().reshaped({right.size()}));
}

} // namespace

bool isSame(const Draft& draft, const Grid& a, const Grid& b)
{
    const bool isShared = isOfTensor(draft, a) && isOfTensor(draft, b);
    return isSameValue(draft, a.scale, b.scale) && isSameValue(draft, a.zero, b.zero) &&
           (isShared || (a.axis == b.axis && a.block == b.block));
}

bool isOfTensor(const Draft& draft, const Grid& grid)
{
    if (!grid.scale.isValid() || grid.block != 0) {
        return false;
    }
    if (draft.isConstant(grid.scale)) {
        return draft.value(grid.scale).constant.size() == 1;
    }
    const NodeId producer = draft.value(grid.scale).producer;
    return producer.isValid() && draft.node(producer).op == "DynamicQuantizeLinear";
}

Tensor wideConstant(const Draft& draft, ValueId id)
{
    return draft.isConstant(id) ? draft.value(id).constant.to(DType::Float64).contiguous() : Tensor();
}

ValueId operandOf(const graph::Node& node, std::size_t slot)
{
    return slot < node.inputs.size() ? node.inputs[slot] : ValueId();
}

Tensor dequantised(const Draft& draft, ValueId levels, const Grid& grid)
{
    if (!draft.isConstant(levels) || !draft.isConstant(grid.scale) ||
        (grid.zero.isValid() && !draft.isConstant(grid.zero))) {
        return {};
    }
    const Tensor& data = draft.value(levels).constant;
    if (!tensor::checkedBytes(data.shape(), DType::Float64, kMaxFoldedBytes).ok()) {
        return {};
    }
    graph::Node node;
    node.op = "DequantizeLinear";
    node.opset = ops::kNewestOpset;
    node.inputs = {levels, grid.scale, grid.zero};
    node.outputs = {levels};
    node.attributes = {{"axis", grid.axis}, {"block_size", grid.block}};
    const auto asGiven = [](Tensor t) { return t.size() == 1 && t.rank() > 1 ? t.reshaped({1}) : t; };
    std::array<Tensor, 3> operands{data, asGiven(wideConstant(draft, grid.scale)), {}};
    std::array<ops::TensorType, 3> types{ops::TensorType{data.dtype(), data.shape()},
                                         ops::TensorType{DType::Float64, operands[1].shape()}, ops::TensorType{}};
    if (grid.zero.isValid()) {
        operands[2] = asGiven(draft.value(grid.zero).constant.contiguous());
        types[2] = {operands[2].dtype(), operands[2].shape()};
    }
    const auto op = ops::bind({draft.before(), NodeId(std::size_t{0}), node, types, operands, DType::Float64});
    return op.ok() ? (*op)->forward(operands)[0].contiguous() : Tensor();
}

} // namespace retro::rewrite
