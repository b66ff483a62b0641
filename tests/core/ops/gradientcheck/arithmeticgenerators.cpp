// SPDX-License-Identifier: Apache-2.0
#include "tests/core/ops/gradientcheck/generators.h"

namespace retro::tests
{

namespace
{

constexpr std::int64_t kNewest = ops::kNewestOpset;

/// Two operands of which one may be constant, and which broadcast to each other.
OpCase pair(OpCase c, Draw& draw, double low = -2, double high = 2)
{
    const Shape shape = draw.shape(1, 3);
    const Tensor a = draw.tensor(draw.coin() ? shape : draw.broadcasting(shape), low, high);
    const Tensor b = draw.tensor(draw.broadcasting(shape), low, high);
    const std::int64_t constant = draw.whole(0, 3);
    constant == 1 ? c.constant(a) : c.operand(a);
    return constant == 2 ? c.constant(b) : c.operand(b);
}

OpCase pair(const char* op, Draw& draw, double low = -2, double high = 2)
{
    return pair(OpCase(op, kNewest), draw, low, high);
}

/// Several operands.
OpCase several(const char* op, Draw& draw)
{
    OpCase c(op, kNewest);
    const Shape shape = draw.shape(1, 3);
    const std::int64_t count = draw.whole(1, 4);
    for (std::int64_t i = 0; i < count; ++i) {
        c.operand(draw.tensor(draw.broadcasting(shape)));
    }
    return c;
}

OpCase modulo(Draw& draw) { return pair("Mod", draw, 0.3, 4).with("fmod", std::int64_t{1}); }

OpCase where(Draw& draw)
{
    OpCase c("Where", kNewest);
    const Shape shape = draw.shape(1, 3);
    c.operand(draw.flags(draw.broadcasting(shape))).operand(draw.tensor(draw.broadcasting(shape)));
    return c.operand(draw.tensor(draw.broadcasting(shape)));
}

OpCase cast(Draw& draw)
{
    OpCase c("Cast", kNewest);
    return c.with("to", std::int64_t{11}).operand(draw.tensor(draw.shape(0, 3)));
}

OpCase castLike(Draw& draw)
{
    OpCase c("CastLike", kNewest);
    return c.operand(draw.tensor(draw.shape(0, 3))).constant(doubles({}, {1}));
}

} // namespace

std::vector<Generator> arithmeticGenerators()
{
    return {
        {"Add", [](Draw& d) { return pair("Add", d); }},
        {"Cast", cast},
        {"CastLike", castLike},
        {"Div", [](Draw& d) { return pair("Div", d, 0.4, 2); }},
        {"Max", [](Draw& d) { return several("Max", d); }},
        {"Mean", [](Draw& d) { return several("Mean", d); }},
        {"Min", [](Draw& d) { return several("Min", d); }},
        {"Mod", modulo},
        {"Mul", [](Draw& d) { return pair("Mul", d); }},
        {"Gate", [](Draw& d) { return pair(OpCase("Gate", 1, "retrograde"), d); }, "retrograde"},
        {"Neg",
         [](Draw& d) {
             OpCase c("Neg", kNewest);
             return c.operand(d.tensor(d.shape(0, 3)));
         }},
        {"Pow", [](Draw& d) { return pair("Pow", d, 0.3, 2.5); }},
        {"Sub", [](Draw& d) { return pair("Sub", d); }},
        {"Sum", [](Draw& d) { return several("Sum", d); }},
        {"Where", where},
    };
}

} // namespace retro::tests
