// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/quantised/integernode.h"

#include "core/graph/attributes.h"
#include "core/rewrite/quantised/channels.h"

#include <algorithm>
#include <numeric>

namespace retro::rewrite
{

using graph::Node;
using tensor::Tensor;

namespace
{

ValueId transposed(Dequantiser& to, ValueId value, std::vector<std::int64_t> order, const std::string& suffix)
{
    return to.add({"", "Transpose", 13, {{"perm", std::move(order)}}}, suffix, {value}, value);
}

std::vector<std::int64_t> sameOrder(std::size_t rank)
{
    std::vector<std::int64_t> order(rank);
    std::iota(order.begin(), order.end(), std::int64_t{0});
    return order;
}

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

ValueId channelsFirst(Dequantiser& to, ValueId value, std::size_t rank)
{
    std::vector<std::int64_t> order = sameOrder(rank);
    std::rotate(order.begin() + 1, order.end() - 1, order.end());
    return transposed(to, value, std::move(order), "/channels first");
}

std::vector<std::int64_t> lastOrder(std::size_t rank)
{
    std::vector<std::int64_t> order = sameOrder(rank);
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
    return order;
}

ValueId channelsLast(Dequantiser& to, ValueId value, std::size_t rank)
{
    return transposed(to, value, lastOrder(rank), "/channels last");
}

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
