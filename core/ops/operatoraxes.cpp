// SPDX-License-Identifier: Apache-2.0
#include "core/ops/operatoraxes.h"

#include "core/ops/elements.h"

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

/// A line for each operator whose elements alone (elementsOf) do not say it.
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
    NamedAxes{"Resize", OperatorAxes{.classes = kAxis1, .keepsAll = true}},
    NamedAxes{"Upsample", kFirstOfResult},
    NamedAxes{"DepthToSpace", kFirstOfResult},
    NamedAxes{"Gemm", kLastOfResult},
};

} // namespace

OperatorAxes operatorAxes(const graph::Node& node)
{
    using enum Elements;
    const auto* found = std::ranges::find(kAxes, std::string_view(node.op), &NamedAxes::op);
    if (found != kAxes.end()) {
        return found->axes;
    }
    return isElementByElement(node) ? kKept : areElements(node, {Padded, Taken, Joined}) ? kAxesKept : OperatorAxes();
}

} // namespace retro::ops
