// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/quantised/integernode.h"

#include "core/graph/attributes.h"

namespace retro::rewrite
{

using graph::Node;
using tensor::Tensor;

namespace
{

/// The scale of the weight as it broadcasts to it; invalid where it does not.
ValueId fittingScale(Dequantiser& to, const IntegerLayerParts& parts)
{
    const Draft& draft = to.draft();
    if (isOfTensor(draft, {parts.wScale, {}})) {
        return parts.wScale;
    }
    const Tensor scale = wideConstant(draft, parts.wScale);
    if (!scale.isValid() || scale.rank() != 1 || !draft.isConstant(parts.w)) {
        return {};
    }
    const tensor::Shape& weight = draft.value(parts.w).constant.shape();
    const auto swap = parts.attributes.find("transB");
    const auto* flag = swap == parts.attributes.end() ? nullptr : std::get_if<std::int64_t>(&swap->second);
    const bool isSwapped = parts.op == "Conv" || (flag != nullptr && *flag != 0);
    const std::size_t axis = isSwapped ? 0 : weight.size() - 1;
    if (weight.size() < 2 || weight[axis] != scale.size()) {
        return {};
    }
    if (!isSwapped) {
        return parts.wScale;
    }
    tensor::Shape shape(weight.size(), 1);
    shape[0] = scale.size();
    return to.constant(draft.value(parts.wScale).name + ".rows", scale.reshaped(std::move(shape)));
}

} // namespace

IntegerLayer integerLayer(Dequantiser& to, IntegerLayerParts parts)
{
    const ValueId scale = isOfTensor(to.draft(), {parts.xScale, {}}) ? fittingScale(to, parts) : ValueId();
    if (scale.isValid()) {
        return {{"retrograde.integer", parts.op, 1, std::move(parts.attributes)},
                {parts.x, parts.w, parts.bias, parts.xScale, scale}};
    }
    std::vector<ValueId> inputs{parts.x, parts.w};
    if (parts.bias.isValid()) {
        inputs.push_back(parts.bias);
    }
    const bool isLinear = parts.op == "MatMul" && parts.bias.isValid();
    return {{isLinear ? "retrograde" : "", parts.op, isLinear ? 1 : 13, std::move(parts.attributes)}, inputs};
}

} // namespace retro::rewrite
