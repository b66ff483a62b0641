// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/rewrite/attributes.h"
#include "core/rewrite/quantised/channels.h"
#include "core/rewrite/quantised/dequantiser.h"
#include "core/rewrite/quantised/dynamiclstm.h"
#include "core/rewrite/quantised/integernode.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace retro::rewrite
{

using graph::Node;
using tensor::Tensor;

namespace
{

constexpr std::int64_t kLastAxis = -1;

/// B·factor·scale…, as the bias that levels of int32 stand for; an invalid id where `levels` is absent. Nothing when
/// one of them is computed.
std::optional<ValueId> biasOf(Dequantiser& to, ValueId levels, std::initializer_list<ValueId> scales, double factor = 1)
{
    if (!levels.isValid()) {
        return ValueId();
    }
    Tensor bias = wideConstant(to.draft(), levels);
    for (const ValueId id : scales) {
        const Tensor scale = wideConstant(to.draft(), id);
        if (!bias.isValid() || bias.rank() == 0 || !scale.isValid() ||
            (scale.size() != 1 && scale.size() != bias.shape().back())) {
            return std::nullopt;
        }
        bias = ops::algebra::multiplyBroadcast(bias, scale.reshaped({scale.size()}));
    }
    return bias.isValid() ? std::optional(to.constant(to.draft().value(levels).name + ".dequantised",
                                                      ops::algebra::scale(bias, factor)))
                          : std::nullopt;
}

bool qLinearConv(Dequantiser& to, NodeId id)
{
    const Node node = to.draft().node(id);
    const auto at = [&](std::size_t slot) { return operandOf(node, slot); };
    const ValueId weight = at(3);
    if (!weight.isValid() || !at(6).isValid()) {
        return false;
    }
    const std::optional<ValueId> bias = biasOf(to, at(8), {at(1), at(4)});
    if (!bias) {
        to.note(id, "its bias or a scale of it is computed");
        return false;
    }
    const bool areChannelsLast = intAttribute(node, "channels_last", 0) != 0;
    if (areChannelsLast && (!to.draft().isConstant(weight) || to.draft().value(weight).constant.rank() < 3)) {
        to.note(id, "its channels come last and its weight is computed, or has too few axes");
        return false;
    }
    const Dequantiser::Working working(to, id);
    ValueId x = to.floatsOf(at(0), {at(1), at(2)});
    const ValueId w = to.floatsOf(weight, {at(4), at(5), 0});
    graph::Attributes attributes = node.attributes;
    attributes.erase("channels_last");
    const std::size_t rank = areChannelsLast ? to.draft().value(weight).constant.rank() : 0;
    x = areChannelsLast ? channelsFirst(to, x, rank) : x;
    const IntegerLayer layer = integerLayer(to, {"Conv", x, w, *bias, at(1), at(4), std::move(attributes)});
    ValueId z = to.add(layer.form, "", layer.inputs, node.outputs[0]);
    z = areChannelsLast ? channelsLast(to, z, rank) : z;
    to.finishQuantised(id, z, {at(6), at(7)});
    return true;
}

bool qLinearMatMul(Dequantiser& to, NodeId id)
{
    const Node node = to.draft().node(id);
    const auto at = [&](std::size_t slot) { return operandOf(node, slot); };
    if (!at(3).isValid() || !at(6).isValid()) {
        return false;
    }
    const Dequantiser::Working working(to, id);
    const ValueId a = to.floatsOf(at(0), {at(1), at(2), -2});
    const ValueId b = to.floatsOf(at(3), {at(4), at(5), kLastAxis});
    const IntegerLayer layer = integerLayer(to, {"MatMul", a, b, {}, at(1), at(4), {}});
    to.finishQuantised(id, to.add(layer.form, "", layer.inputs, node.outputs[0]), {at(6), at(7)});
    return true;
}

/// A constant times a factor; the constant itself for 1.
ValueId scaledConstant(Dequantiser& to, ValueId id, double factor)
{
    const Tensor data = factor == 1 ? Tensor() : wideConstant(to.draft(), id);
    return data.isValid() ? to.constant(to.draft().value(id).name + ".scaled", ops::algebra::scale(data, factor)) : id;
}

/// QGemm: alpha·(a − za)·sa·(b − zb)·sb + c, of which alpha goes into the scale of b.
bool qGemm(Dequantiser& to, NodeId id)
{
    const Node node = to.draft().node(id);
    const auto at = [&](std::size_t slot) { return operandOf(node, slot); };
    const double alpha = floatAttribute(node, "alpha", 1);
    const bool isPlain = intAttribute(node, "transA", 0) == 0 && at(4).isValid();
    const std::optional<ValueId> bias = biasOf(to, at(6), {at(1), at(4)}, alpha);
    if (!isPlain || !bias || (alpha != 1 && !to.draft().isConstant(at(4)))) {
        to.note(id, "its bias or a scale is computed, or its first operand is transposed");
        return false;
    }
    const bool isTransposed = intAttribute(node, "transB", 0) != 0;
    const Dequantiser::Working working(to, id);
    const ValueId scale = scaledConstant(to, at(4), alpha);
    const ValueId a = to.floatsOf(at(0), {at(1), at(2)});
    const ValueId b = to.floatsOf(at(3), {scale, at(5), isTransposed ? 0 : kLastAxis});
    const IntegerLayer layer =
        integerLayer(to, {"Gemm", a, b, *bias, at(1), scale, {{"transB", std::int64_t{isTransposed ? 1 : 0}}}});
    if (at(7).isValid()) {
        to.finishQuantised(id, to.add(layer.form, "", layer.inputs, node.outputs[0]), {at(7), at(8)});
    } else {
        to.finish(id, layer.form, "", layer.inputs, node.outputs);
    }
    return true;
}

/// False, with a note, for a bias that the layer cannot have: one that is computed, or whose weight is.
bool hasFixedLayer(Dequantiser& to, NodeId id, ValueId weight, ValueId bias)
{
    const bool isFixed = !bias.isValid() || (to.draft().isConstant(weight) && to.draft().isConstant(bias));
    if (!isFixed) {
        to.note(id, "it has a bias, and that or its weight is computed");
    }
    return isFixed;
}

/// MatMulIntegerToFloat(a, b, sa, sb, za, zb, bias).
bool matMulIntegerToFloat(Dequantiser& to, NodeId id)
{
    const Node node = to.draft().node(id);
    const auto at = [&](std::size_t slot) { return operandOf(node, slot); };
    if (!at(2).isValid() || !at(3).isValid() || !hasFixedLayer(to, id, at(1), at(6))) {
        return false;
    }
    const Dequantiser::Working working(to, id);
    const ValueId a = to.floatsOf(at(0), {at(2), at(4)});
    const ValueId b = to.floatsOf(at(1), {at(3), at(5), kLastAxis});
    const IntegerLayer layer = integerLayer(to, {"MatMul", a, b, at(6), at(2), at(3), {}});
    to.finish(id, layer.form, "", layer.inputs, node.outputs);
    return true;
}

/// DynamicQuantizeMatMul(a, b, sb, zb, bias): a is quantised by its own range.
bool dynamicQuantizeMatMul(Dequantiser& to, NodeId id)
{
    const Node node = to.draft().node(id);
    const auto at = [&](std::size_t slot) { return operandOf(node, slot); };
    if (!at(1).isValid() || !at(2).isValid() || !hasFixedLayer(to, id, at(1), at(4))) {
        return false;
    }
    const Dequantiser::Working working(to, id);
    const auto [floats, grid] = to.dynamicOf(at(0));
    const ValueId b = to.floatsOf(at(1), {at(2), at(3), kLastAxis});
    const IntegerLayer layer = integerLayer(to, {"MatMul", floats, b, at(4), grid.scale, at(2), {}});
    to.finish(id, layer.form, "", layer.inputs, node.outputs);
    return true;
}

/// QAttention is com.microsoft's Attention of dequantised operands.
bool qAttention(Dequantiser& to, NodeId id)
{
    const Node node = to.draft().node(id);
    const auto at = [&](std::size_t slot) { return operandOf(node, slot); };
    if (!at(1).isValid() || !at(3).isValid() || !at(4).isValid()) {
        return false;
    }
    const Dequantiser::Working working(to, id);
    const ValueId x = to.floatsOf(at(0), {at(3), at(6)});
    const ValueId w = to.floatsOf(at(1), {at(4), at(7), kLastAxis});
    to.finish(id, {"com.microsoft", "Attention", 1, node.attributes}, "", {x, w, at(2), at(5), at(8)}, node.outputs);
    return true;
}

struct LayerFamily
{
    std::string_view op;
    bool isStandard;
    DequantiseFunction function;
};

constexpr std::array kLayers{
    LayerFamily{"QLinearConv", true, qLinearConv},
    LayerFamily{"QLinearConv", false, qLinearConv},
    LayerFamily{"QLinearMatMul", true, qLinearMatMul},
    LayerFamily{"QGemm", false, qGemm},
    LayerFamily{"ConvInteger", true, integerProduct},
    LayerFamily{"MatMulInteger", true, integerProduct},
    LayerFamily{"MatMulIntegerToFloat", false, matMulIntegerToFloat},
    LayerFamily{"DynamicQuantizeMatMul", false, dynamicQuantizeMatMul},
    LayerFamily{"QAttention", false, qAttention},
    LayerFamily{"MatMulNBits", false, matMulNBits},
    LayerFamily{"GatherBlockQuantized", false, gatherBlockQuantized},
    LayerFamily{"DynamicQuantizeLSTM", false, dynamicQuantizeLstm},
};

} // namespace

DequantiseFunction layerDequantiser(const Node& node)
{
    const auto at = std::ranges::find_if(kLayers, [&](const LayerFamily& layer) {
        return layer.op == node.op && node.domain == (layer.isStandard ? "" : "com.microsoft");
    });
    return at == kLayers.end() ? nullptr : at->function;
}

} // namespace retro::rewrite
