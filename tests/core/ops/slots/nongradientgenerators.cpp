// SPDX-License-Identifier: Apache-2.0
#include "tests/core/ops/slots/nongradientgenerators.h"

namespace retro::tests
{

namespace
{

constexpr std::int64_t kNewest = ops::kNewestOpset;

Tensor whole(std::int64_t value) { return Tensor::scalar(value); }

/// One floating operand.
template <const char* op>
OpCase ofFloats(Draw& draw)
{
    OpCase c(op, kNewest);
    return c.operand(draw.tensor({draw.whole(1, 3), draw.whole(1, 3)}));
}

/// Two floating operands, compared.
template <const char* op>
OpCase ofPair(Draw& draw)
{
    OpCase c(op, kNewest);
    const Shape shape = draw.shape(1, 3);
    return c.operand(draw.tensor(shape)).operand(draw.tensor(draw.broadcasting(shape)));
}

template <const char* op>
OpCase ofFlags(Draw& draw)
{
    OpCase c(op, kNewest);
    const Shape shape = draw.shape(1, 3);
    return c.operand(draw.flags(shape)).operand(draw.flags(shape));
}

template <const char* op>
OpCase ofIntegers(Draw& draw)
{
    OpCase c(op, kNewest);
    const Shape shape = draw.shape(1, 3);
    return c.operand(draw.integers(shape, 0, 9)).operand(draw.integers(shape, 0, 9));
}

OpCase bitShift(Draw& draw)
{
    OpCase c("BitShift", kNewest);
    c.operand(draw.integers({3}, 0, 9).to(DType::UInt8)).operand(draw.integers({3}, 0, 3).to(DType::UInt8));
    return c.with("direction", std::string("LEFT"));
}

OpCase bitwiseNot(Draw& draw)
{
    OpCase c("BitwiseNot", kNewest);
    return c.operand(draw.integers({3}, 0, 9));
}

OpCase logicalNot(Draw& draw)
{
    OpCase c("Not", kNewest);
    return c.operand(draw.flags({3}));
}

OpCase constantOfShape(Draw& draw)
{
    OpCase c("ConstantOfShape", kNewest);
    return c.constant(ints({draw.whole(1, 3), 2}));
}

template <const char* op>
OpCase windowFunction(Draw& draw)
{
    OpCase c(op, kNewest);
    return c.constant(whole(draw.whole(1, 6)));
}

OpCase melWeights(Draw& draw)
{
    OpCase c("MelWeightMatrix", kNewest);
    c.constant(whole(draw.whole(2, 4))).constant(whole(16)).constant(whole(8192));
    return c.constant(doubles({}, {draw.number(10, 100)})).constant(doubles({}, {draw.number(2000, 4000)}));
}

OpCase detach(Draw& draw)
{
    OpCase c("Detach", 1, "retrograde");
    return c.operand(draw.tensor({2, 3}));
}

Tensor bytes(Draw& draw, Shape shape) { return draw.integers(std::move(shape), 0, 20).to(DType::UInt8); }
Tensor byte(Draw& draw) { return bytes(draw, {}); }
Tensor scale(Draw& draw) { return draw.tensor({}, 0.1, 0.5); }

OpCase matMulInteger(Draw& draw)
{
    OpCase c("MatMulInteger", kNewest);
    return c.operand(bytes(draw, {2, 3})).operand(bytes(draw, {3, 2})).operand(byte(draw)).operand(byte(draw));
}

OpCase qLinearMatMul(Draw& draw)
{
    OpCase c("QLinearMatMul", kNewest);
    c.operand(bytes(draw, {2, 3})).operand(scale(draw)).operand(byte(draw));
    c.operand(bytes(draw, {3, 2})).operand(scale(draw)).operand(byte(draw));
    return c.operand(scale(draw)).operand(byte(draw));
}

OpCase convInteger(Draw& draw)
{
    OpCase c("ConvInteger", kNewest);
    return c.operand(bytes(draw, {1, 1, 4, 4})).operand(bytes(draw, {1, 1, 2, 2})).operand(byte(draw));
}

OpCase qLinearConv(Draw& draw)
{
    OpCase c("QLinearConv", kNewest);
    c.operand(bytes(draw, {1, 1, 4, 4})).operand(scale(draw)).operand(byte(draw));
    c.operand(bytes(draw, {1, 1, 2, 2})).operand(scale(draw)).operand(byte(draw));
    return c.operand(scale(draw)).operand(byte(draw));
}

OpCase quantize(Draw& draw)
{
    OpCase c("QuantizeLinear", kNewest);
    return c.operand(draw.tensor({2, 3})).operand(scale(draw)).operand(byte(draw));
}

OpCase dynamicQuantize(Draw& draw)
{
    OpCase c("DynamicQuantizeLinear", kNewest);
    return c.operand(draw.tensor({2, 3})).outputs(3);
}

OpCase suppression(Draw& draw)
{
    OpCase c("NonMaxSuppression", kNewest);
    c.operand(draw.tensor({1, 4, 4}, 0, 1)).operand(draw.tensor({1, 2, 4}, 0, 1)).constant(whole(3));
    return c.operand(doubles({1}, {0.5})).operand(doubles({1}, {0.1})).known();
}

} // namespace

std::vector<Generator> nonGradientGenerators()
{
    static constexpr char kArgMax[] = "ArgMax";
    static constexpr char kArgMin[] = "ArgMin";
    static constexpr char kCeil[] = "Ceil";
    static constexpr char kFloor[] = "Floor";
    static constexpr char kRound[] = "Round";
    static constexpr char kSign[] = "Sign";
    static constexpr char kIsInf[] = "IsInf";
    static constexpr char kIsNan[] = "IsNaN";
    static constexpr char kHardmax[] = "Hardmax";
    static constexpr char kNonZero[] = "NonZero";
    static constexpr char kShape[] = "Shape";
    static constexpr char kSize[] = "Size";
    static constexpr char kEyeLike[] = "EyeLike";
    static constexpr char kEqual[] = "Equal";
    static constexpr char kGreater[] = "Greater";
    static constexpr char kGreaterOrEqual[] = "GreaterOrEqual";
    static constexpr char kLess[] = "Less";
    static constexpr char kLessOrEqual[] = "LessOrEqual";
    static constexpr char kAnd[] = "And";
    static constexpr char kOr[] = "Or";
    static constexpr char kXor[] = "Xor";
    static constexpr char kBitwiseAnd[] = "BitwiseAnd";
    static constexpr char kBitwiseOr[] = "BitwiseOr";
    static constexpr char kBitwiseXor[] = "BitwiseXor";
    static constexpr char kHann[] = "HannWindow";
    static constexpr char kHamming[] = "HammingWindow";
    static constexpr char kBlackman[] = "BlackmanWindow";
    return {
        {kArgMax, ofFloats<kArgMax>},
        {kArgMin, ofFloats<kArgMin>},
        {kCeil, ofFloats<kCeil>},
        {kFloor, ofFloats<kFloor>},
        {kRound, ofFloats<kRound>},
        {kSign, ofFloats<kSign>},
        {kIsInf, ofFloats<kIsInf>},
        {kIsNan, ofFloats<kIsNan>},
        {kHardmax, ofFloats<kHardmax>},
        {kNonZero, ofFloats<kNonZero>},
        {kShape, ofFloats<kShape>},
        {kSize, ofFloats<kSize>},
        {kEyeLike, ofFloats<kEyeLike>},
        {kEqual, ofPair<kEqual>},
        {kGreater, ofPair<kGreater>},
        {kGreaterOrEqual, ofPair<kGreaterOrEqual>},
        {kLess, ofPair<kLess>},
        {kLessOrEqual, ofPair<kLessOrEqual>},
        {kAnd, ofFlags<kAnd>},
        {kOr, ofFlags<kOr>},
        {kXor, ofFlags<kXor>},
        {kBitwiseAnd, ofIntegers<kBitwiseAnd>},
        {kBitwiseOr, ofIntegers<kBitwiseOr>},
        {kBitwiseXor, ofIntegers<kBitwiseXor>},
        {kHann, windowFunction<kHann>},
        {kHamming, windowFunction<kHamming>},
        {kBlackman, windowFunction<kBlackman>},
        {"BitShift", bitShift},
        {"BitwiseNot", bitwiseNot},
        {"Not", logicalNot},
        {"ConstantOfShape", constantOfShape},
        {"MelWeightMatrix", melWeights},
        {"Detach", detach, "retrograde"},
        {"MatMulInteger", matMulInteger},
        {"QLinearMatMul", qLinearMatMul},
        {"ConvInteger", convInteger},
        {"QLinearConv", qLinearConv},
        {"QuantizeLinear", quantize},
        {"DynamicQuantizeLinear", dynamicQuantize},
        {"NonMaxSuppression", suppression},
    };
}

} // namespace retro::tests
