// SPDX-License-Identifier: Apache-2.0
#include "core/ops/linear/storedweight.h"

#include "core/ops/kernel/weightvariants.h"

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

} // namespace retro::ops
