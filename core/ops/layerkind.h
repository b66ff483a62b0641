// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

/// Which layer a node is, by its operator, before it is bound.
namespace retro::ops
{

/// Of these operators of the standard.
[[nodiscard]] inline bool isAnyOf(const graph::Node& node, std::initializer_list<std::string_view> names)
{
    return node.domain.empty() && std::ranges::find(names, std::string_view(node.op)) != names.end();
}
/// Attention of the standard.
[[nodiscard]] inline bool isAttention(const graph::Node& node) { return isAnyOf(node, {"Attention"}); }
/// A convolution, forward or transposed.
[[nodiscard]] inline bool isConvolution(const graph::Node& node) { return isAnyOf(node, {"Conv", "ConvTranspose"}); }
/// MatMul and Gemm.
[[nodiscard]] inline bool isProduct(const graph::Node& node) { return isAnyOf(node, {"MatMul", "Gemm"}); }
[[nodiscard]] inline bool isMatMul(const graph::Node& node) { return isAnyOf(node, {"MatMul"}); }
/// MatMul of our own, which has a bias.
[[nodiscard]] inline bool isLinearLayer(const graph::Node& node)
{
    return node.op == "MatMul" && node.domain == "retrograde";
}
/// Einsum, of any equation.
[[nodiscard]] inline bool isEinsum(const graph::Node& node) { return isAnyOf(node, {"Einsum"}); }
/// Keys or values behind those of a past, of our own.
[[nodiscard]] inline bool isCacheAppend(const graph::Node& node)
{
    return node.op == "CacheAppend" && node.domain == "retrograde";
}
/// Levels of floats, of the standard or of com.microsoft.
[[nodiscard]] inline bool isQuantize(const graph::Node& node)
{
    return node.op == "QuantizeLinear" && (node.domain.empty() || node.domain == "com.microsoft");
}
/// Floats of levels, of the standard or of com.microsoft.
[[nodiscard]] inline bool isDequantize(const graph::Node& node)
{
    return node.op == "DequantizeLinear" && (node.domain.empty() || node.domain == "com.microsoft");
}
/// Levels of floats with a scale that follows from them.
[[nodiscard]] inline bool isDynamicQuantize(const graph::Node& node)
{
    return isAnyOf(node, {"DynamicQuantizeLinear"});
}
/// The largest of each window.
[[nodiscard]] inline bool isMaxPool(const graph::Node& node) { return isAnyOf(node, {"MaxPool"}); }
/// The same values in another type.
[[nodiscard]] inline bool isCast(const graph::Node& node) { return isAnyOf(node, {"Cast"}); }
/// Also its logarithm.
[[nodiscard]] inline bool isSoftmax(const graph::Node& node) { return isAnyOf(node, {"Softmax", "LogSoftmax"}); }
[[nodiscard]] inline bool isRecurrent(const graph::Node& node) { return isAnyOf(node, {"RNN", "GRU", "LSTM"}); }
[[nodiscard]] inline bool isBatchNormalisation(const graph::Node& node)
{
    return isAnyOf(node, {"BatchNormalization"});
}
/// Of rows, by their deviation.
[[nodiscard]] inline bool isLayerNormalisation(const graph::Node& node)
{
    return isAnyOf(node, {"LayerNormalization"});
}
/// Of rows, by their root mean square.
[[nodiscard]] inline bool isRmsNormalisation(const graph::Node& node)
{
    return isAnyOf(node, {"RMSNormalization", "SimplifiedLayerNormalization"});
}
/// A loop, with a graph inside.
[[nodiscard]] inline bool isLoop(const graph::Node& node) { return isAnyOf(node, {"Loop", "Scan"}); }
[[nodiscard]] inline bool isBranch(const graph::Node& node) { return isAnyOf(node, {"If"}); }

} // namespace retro::ops
