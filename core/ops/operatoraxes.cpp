// SPDX-License-Identifier: Apache-2.0
#include "core/ops/operatoraxes.h"

#include <algorithm>
#include <array>
#include <utility>

namespace retro::ops
{

namespace
{

struct NamedAxes
{
    std::string_view op;
    OperatorAxes axes;
};

constexpr OperatorAxes kFirst{.channels = OperatorAxes::Channels::First};
constexpr OperatorAxes kLast{.channels = OperatorAxes::Channels::Last};
constexpr OperatorAxes kNormalisation{.channels = OperatorAxes::Channels::Last, .keepsAllButLast = true};
constexpr OperatorAxes kRecurrent{.channels = OperatorAxes::Channels::Last, .hasTimeAndSample = true};
constexpr OperatorAxes kKept{.keepsAll = true};

/// One line per operator.
constexpr std::array kAxes{
    NamedAxes{"Conv", kFirst},
    NamedAxes{"ConvTranspose", kFirst},
    NamedAxes{"ConvInteger", kFirst},
    NamedAxes{"QLinearConv", kFirst},
    NamedAxes{"DeformConv", kFirst},
    NamedAxes{"FusedConv", kFirst},
    NamedAxes{"MaxPool", kFirst},
    NamedAxes{"AveragePool", kFirst},
    NamedAxes{"LpPool", kFirst},
    NamedAxes{"GlobalMaxPool", kFirst},
    NamedAxes{"GlobalAveragePool", kFirst},
    NamedAxes{"GlobalLpPool", kFirst},
    NamedAxes{"BatchNormalization", kFirst},
    NamedAxes{"InstanceNormalization", kFirst},
    NamedAxes{"GroupNormalization", kFirst},
    NamedAxes{"LRN", kFirst},
    NamedAxes{"MaxRoiPool", kFirst},
    NamedAxes{"RNN", kRecurrent},
    NamedAxes{"LSTM", kRecurrent},
    NamedAxes{"GRU", kRecurrent},
    NamedAxes{"LayerNormalization", kNormalisation},
    NamedAxes{"SimplifiedLayerNormalization", kNormalisation},
    NamedAxes{"SkipLayerNormalization", kLast},
    NamedAxes{"RMSNormalization", kNormalisation},
    NamedAxes{"Attention", kLast},
    NamedAxes{"MultiHeadAttention", kLast},
    NamedAxes{"FusedMatMul", kLast},
    NamedAxes{"MatMulInteger", kLast},
    NamedAxes{"MatMulNBits", kLast},
    NamedAxes{"MatMul", OperatorAxes{.keepsAllButLast = true}}, // its channels depend on which operand is a weight
    NamedAxes{"Identity", kKept},
    NamedAxes{"Cast", kKept},
    NamedAxes{"Dropout", kKept},
    NamedAxes{"Relu", kKept},
    NamedAxes{"LeakyRelu", kKept},
    NamedAxes{"PRelu", kKept},
    NamedAxes{"Sigmoid", kKept},
    NamedAxes{"Tanh", kKept},
    NamedAxes{"Clip", kKept},
    NamedAxes{"Neg", kKept},
    NamedAxes{"Abs", kKept},
    NamedAxes{"Sqrt", kKept},
    NamedAxes{"Exp", kKept},
    NamedAxes{"Log", kKept},
    NamedAxes{"Pow", kKept},
    NamedAxes{"Add", kKept},
    NamedAxes{"Sub", kKept},
    NamedAxes{"Mul", kKept},
    NamedAxes{"Div", kKept},
    NamedAxes{"Pad", kKept},
    NamedAxes{"Slice", kKept},
    NamedAxes{"Elu", kKept},
    NamedAxes{"Selu", kKept},
    NamedAxes{"Gelu", kKept},
    NamedAxes{"HardSwish", kKept},
    NamedAxes{"Resize", kKept},
    NamedAxes{"Concat", kKept},
    NamedAxes{"QuantizeLinear", kKept},
    NamedAxes{"DequantizeLinear", kKept},
    NamedAxes{"Checkpoint", kKept},
};

} // namespace

OperatorAxes operatorAxes(std::string_view op)
{
    const auto* found = std::ranges::find(kAxes, op, &NamedAxes::op);
    return found == kAxes.end() ? OperatorAxes() : found->axes;
}

} // namespace retro::ops
