// SPDX-License-Identifier: Apache-2.0
#include "tests/core/ops/gradientcheck/generators.h"

namespace retro::tests
{

namespace
{

constexpr std::int64_t kNewest = ops::kNewestOpset;

/// An operator of one operand between bounds.
OpCase unary(const char* op, Draw& draw, double low = -2, double high = 2)
{
    OpCase c(op, kNewest);
    c.operand(draw.tensor(draw.shape(0, 3), low, high));
    return c;
}

OpCase withAlpha(const char* op, Draw& draw) { return unary(op, draw).with("alpha", draw.number(0.2, 1.5)); }

/// Two to four smooth functions behind each other, one of them with an attribute.
OpCase chain(Draw& draw)
{
    OpCase c("ElementwiseChain", 1, "retrograde");
    c.operand(draw.tensor(draw.shape(0, 3)));
    std::vector<std::string> operators{"Elu"};
    for (std::int64_t i = draw.whole(1, 3); i > 0; --i) {
        operators.emplace_back(draw.among<const char*>({"Tanh", "Sigmoid", "Softplus", "Sin"}));
    }
    const std::size_t count = operators.size();
    return c.with("operators", std::move(operators))
        .with("domains", std::vector<std::string>(count))
        .with("opsets", std::vector<std::int64_t>(count, kNewest))
        .with("0.alpha", draw.number(0.2, 1.5));
}

OpCase clip(Draw& draw)
{
    OpCase c("Clip", kNewest);
    c.operand(draw.tensor(draw.shape(1, 3)));
    const Tensor low = doubles({}, {draw.number(-1.5, -0.5)});
    const Tensor high = doubles({1}, {draw.number(0, 1.5)});
    const bool isFixed = draw.coin();
    isFixed ? c.constant(low) : c.operand(low);
    if (draw.coin()) {
        isFixed ? c.constant(high) : c.operand(high);
    }
    return c;
}

OpCase prelu(Draw& draw)
{
    OpCase c("PRelu", kNewest);
    const Shape shape = draw.shape(1, 3);
    c.operand(draw.tensor(shape));
    const Tensor slope = draw.tensor(draw.broadcasting(shape));
    return draw.coin() ? c.operand(slope) : c.constant(slope);
}

OpCase gelu(Draw& draw)
{
    return unary("Gelu", draw, -3, 3).with("approximate", draw.coin() ? std::string("tanh") : std::string("none"));
}

OpCase selu(Draw& draw)
{
    return unary("Selu", draw).with("alpha", draw.number(0.5, 2)).with("gamma", draw.number(0.5, 2));
}

OpCase hardSigmoid(Draw& draw)
{
    return unary("HardSigmoid", draw, -4, 4).with("alpha", draw.number(0.1, 0.4)).with("beta", draw.number(0.2, 0.8));
}

OpCase shrink(Draw& draw)
{
    return unary("Shrink", draw).with("lambd", draw.number(0.1, 1)).with("bias", draw.number(-0.5, 0.5));
}

} // namespace

std::vector<Generator> elementWiseGenerators()
{
    return {
        {"Abs", [](Draw& d) { return unary("Abs", d); }},
        {"Acos", [](Draw& d) { return unary("Acos", d, -0.9, 0.9); }},
        {"Acosh", [](Draw& d) { return unary("Acosh", d, 1.2, 3); }},
        {"Asin", [](Draw& d) { return unary("Asin", d, -0.9, 0.9); }},
        {"Asinh", [](Draw& d) { return unary("Asinh", d); }},
        {"Atan", [](Draw& d) { return unary("Atan", d); }},
        {"Atanh", [](Draw& d) { return unary("Atanh", d, -0.9, 0.9); }},
        {"Celu", [](Draw& d) { return withAlpha("Celu", d); }},
        {"Clip", clip},
        {"Cos", [](Draw& d) { return unary("Cos", d); }},
        {"Cosh", [](Draw& d) { return unary("Cosh", d); }},
        {"ElementwiseChain", chain, "retrograde"},
        {"Elu", [](Draw& d) { return withAlpha("Elu", d); }},
        {"Erf", [](Draw& d) { return unary("Erf", d); }},
        {"Exp", [](Draw& d) { return unary("Exp", d); }},
        {"Gelu", gelu},
        {"HardSigmoid", hardSigmoid},
        {"HardSwish", [](Draw& d) { return unary("HardSwish", d, -5, 5); }},
        {"LeakyRelu", [](Draw& d) { return withAlpha("LeakyRelu", d); }},
        {"Log", [](Draw& d) { return unary("Log", d, 0.2, 3); }},
        {"Mish", [](Draw& d) { return unary("Mish", d); }},
        {"PRelu", prelu},
        {"Reciprocal", [](Draw& d) { return unary("Reciprocal", d, 0.4, 3); }},
        {"Relu", [](Draw& d) { return unary("Relu", d); }},
        {"Selu", selu},
        {"Shrink", shrink},
        {"Sigmoid", [](Draw& d) { return unary("Sigmoid", d); }},
        {"Sin", [](Draw& d) { return unary("Sin", d); }},
        {"Sinh", [](Draw& d) { return unary("Sinh", d); }},
        {"Softplus", [](Draw& d) { return unary("Softplus", d); }},
        {"Softsign", [](Draw& d) { return unary("Softsign", d); }},
        {"Sqrt", [](Draw& d) { return unary("Sqrt", d, 0.3, 3); }},
        {"Swish", [](Draw& d) { return withAlpha("Swish", d); }},
        {"Tan", [](Draw& d) { return unary("Tan", d, -1, 1); }},
        {"Tanh", [](Draw& d) { return unary("Tanh", d); }},
        {"ThresholdedRelu", [](Draw& d) { return withAlpha("ThresholdedRelu", d); }},
    };
}

} // namespace retro::tests
