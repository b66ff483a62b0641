// SPDX-License-Identifier: Apache-2.0
#include "core/ops/operatoraxes.h"

#include <algorithm>
#include <array>

namespace retro::ops
{

namespace
{

struct NamedAxes
{
    std::string_view op;
    OperatorAxes axes;
};

constexpr auto kAxis1 = OperatorAxes::Channels::First;
constexpr auto kLastAxis = OperatorAxes::Channels::Last;

constexpr OperatorAxes kFirst{.channels = kAxis1, .classes = kAxis1};
constexpr OperatorAxes kFirstOfOperand{.channels = kAxis1};
constexpr OperatorAxes kFirstOfResult{.classes = kAxis1};
constexpr OperatorAxes kLast{.channels = kLastAxis, .classes = kLastAxis};
constexpr OperatorAxes kLastOfOperand{.channels = kLastAxis};
constexpr OperatorAxes kLastOfResult{.classes = kLastAxis};
constexpr OperatorAxes kNormalisation{.channels = kLastAxis, .classes = kLastAxis, .keepsAllButLast = true};
constexpr OperatorAxes kRecurrent{.channels = kLastAxis, .hasTimeAndSample = true};
constexpr OperatorAxes kKept{.keepsAll = true, .keepsClasses = true};
constexpr OperatorAxes kAxesKept{.keepsAll = true};
constexpr OperatorAxes kClassesKept{.keepsClasses = true};

/// One line per operator.
constexpr std::array kAxes{
    NamedAxes{"Conv", kFirst},
    NamedAxes{"ConvTranspose", kFirst},
    NamedAxes{"ConvInteger", kFirst},
    NamedAxes{"QLinearConv", kFirst},
    NamedAxes{"DeformConv", kFirst},
    NamedAxes{"MaxPool", kFirst},
    NamedAxes{"AveragePool", kFirst},
    NamedAxes{"LpPool", kFirstOfOperand},
    NamedAxes{"GlobalMaxPool", kFirstOfOperand},
    NamedAxes{"GlobalAveragePool", kFirstOfOperand},
    NamedAxes{"GlobalLpPool", kFirstOfOperand},
    NamedAxes{"BatchNormalization", kFirst},
    NamedAxes{"InstanceNormalization", kFirst},
    NamedAxes{"GroupNormalization", kFirst},
    NamedAxes{"LRN", kFirst},
    NamedAxes{"MaxRoiPool", kFirstOfOperand},
    NamedAxes{"RNN", kRecurrent},
    NamedAxes{"LSTM", kRecurrent},
    NamedAxes{"GRU", kRecurrent},
    NamedAxes{"LayerNormalization", kNormalisation},
    NamedAxes{"SimplifiedLayerNormalization", OperatorAxes{.channels = kLastAxis, .keepsAllButLast = true}},
    NamedAxes{"RMSNormalization", kNormalisation},
    NamedAxes{"Attention", kLastOfOperand},
    NamedAxes{"MatMulInteger", kLast},
    NamedAxes{"MatMulNBits", kLast},
    NamedAxes{"MatMul", OperatorAxes{.classes = kLastAxis,
                                     .keepsAllButLast = true}}, // its channels depend on which operand is a weight
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
    NamedAxes{"Pad", kAxesKept},
    NamedAxes{"Slice", kAxesKept},
    NamedAxes{"Elu", kKept},
    NamedAxes{"Selu", kAxesKept},
    NamedAxes{"Gelu", kKept},
    NamedAxes{"HardSwish", kAxesKept},
    NamedAxes{"Resize", OperatorAxes{.classes = kAxis1, .keepsAll = true}},
    NamedAxes{"Concat", kAxesKept},
    NamedAxes{"QuantizeLinear", kAxesKept},
    NamedAxes{"DequantizeLinear", kKept},
    NamedAxes{"Quant", kKept},
    NamedAxes{"IntQuant", kKept},
    NamedAxes{"BipolarQuant", kKept},
    NamedAxes{"Trunc", kKept},
    NamedAxes{"Checkpoint", kAxesKept},
    NamedAxes{"Upsample", kFirstOfResult},
    NamedAxes{"DepthToSpace", kFirstOfResult},
    NamedAxes{"Gemm", kLastOfResult},
    NamedAxes{"HardSigmoid", kClassesKept},
    NamedAxes{"Where", kClassesKept},
    NamedAxes{"Softplus", kClassesKept},
};

} // namespace

OperatorAxes operatorAxes(std::string_view op)
{
    const auto* found = std::ranges::find(kAxes, op, &NamedAxes::op);
    return found == kAxes.end() ? OperatorAxes() : found->axes;
}

} // namespace retro::ops
