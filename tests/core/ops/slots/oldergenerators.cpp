// SPDX-License-Identifier: Apache-2.0
#include "tests/core/ops/slots/nongradientgenerators.h"

namespace retro::tests
{

namespace
{

OpCase resize10(Draw& draw)
{
    OpCase c("Resize", 10);
    c.operand(draw.tensor({1, 2, 3, 4})).constant(doubles({4}, {1, 1, draw.number(1, 3), draw.number(1, 3)}));
    return c.with("mode", draw.among<std::string>({"nearest", "linear"}));
}

OpCase resizeByRegion(Draw& draw)
{
    OpCase c("Resize", 13);
    c.operand(draw.tensor({2, 3, 4})).constant(draw.tensor({6}, 0.1, 0.9)).constant(draw.tensor({3}, 0.8, 2));
    c.with("mode", std::string("linear"));
    return c.with("coordinate_transformation_mode", std::string("tf_crop_and_resize"));
}

/// Scale and bias per channel, not along the last axis.
OpCase normalisation(const char* op, std::int64_t opset, std::int64_t parameters, Draw& draw)
{
    OpCase c(op, opset);
    c.operand(draw.tensor({2, 4, 3, 2})).operand(draw.tensor({parameters})).operand(draw.tensor({parameters}));
    return std::string(op) == "GroupNormalization" ? c.with("num_groups", std::int64_t{2}) : c;
}

OpCase batchNormalisation(Draw& draw)
{
    OpCase c("BatchNormalization", 9);
    c.operand(draw.tensor({2, 4, 3, 2})).constant(draw.tensor({4})).constant(draw.tensor({4}));
    return c.constant(draw.tensor({4})).constant(draw.tensor({4}, 0.5, 2));
}

/// A pad value that a mode does not read.
OpCase padWithValue(Draw& draw)
{
    OpCase c("Pad", 19);
    c.operand(draw.tensor({4, 3})).constant(ints({draw.whole(-1, 2), 1, draw.whole(-1, 1), 2}));
    c.operand(doubles({}, {draw.number(-1, 1)}));
    return c.with("mode", draw.among<std::string>({"edge", "reflect", "wrap"}));
}

OpCase clip6(Draw& draw)
{
    OpCase c("Clip", 6);
    return c.operand(draw.tensor({2, 3})).with("min", -0.5).with("max", 0.5);
}

OpCase softmax11(Draw& draw)
{
    OpCase c("Softmax", 11);
    return c.operand(draw.tensor({2, 3, 2})).with("axis", std::int64_t{1});
}

OpCase castLike(Draw& draw)
{
    OpCase c("CastLike", 15);
    return c.operand(draw.tensor({2, 3})).operand(draw.tensor({4}));
}

OpCase gatherOfFloats(Draw& draw)
{
    OpCase c("Gather", 13);
    return c.constant(draw.tensor({4, 3})).operand(draw.integers({2}, 0, 3));
}

OpCase gemm(Draw& draw)
{
    OpCase c("Gemm", 9);
    c.operand(draw.tensor({2, 3})).constant(draw.tensor({3, 4})).operand(draw.tensor({4}));
    return c.with("alpha", draw.number(0.5, 2)).with("beta", draw.number(0.5, 2));
}

OpCase convolutionOfConstant(Draw& draw)
{
    OpCase c("Conv", 11);
    c.operand(draw.tensor({1, 2, 4, 4})).constant(draw.tensor({3, 2, 2, 2})).operand(draw.tensor({3}));
    return c;
}

OpCase layerNormalisation(Draw& draw)
{
    OpCase c("LayerNormalization", 17);
    c.operand(draw.tensor({2, 3, 4})).operand(draw.tensor({3, 4})).operand(draw.tensor({1, 4}));
    return c.with("axis", std::int64_t{1});
}

} // namespace

std::vector<Generator> olderGenerators()
{
    return {
        {"Resize", resize10},
        {"Resize", resizeByRegion},
        {"InstanceNormalization", [](Draw& d) { return normalisation("InstanceNormalization", 6, 4, d); }},
        {"GroupNormalization", [](Draw& d) { return normalisation("GroupNormalization", 18, 2, d); }},
        {"GroupNormalization", [](Draw& d) { return normalisation("GroupNormalization", 21, 4, d); }},
        {"LayerNormalization", layerNormalisation},
        {"BatchNormalization", batchNormalisation},
        {"Pad", padWithValue},
        {"Clip", clip6},
        {"Softmax", softmax11},
        {"CastLike", castLike},
        {"Gather", gatherOfFloats},
        {"Gemm", gemm},
        {"Conv", convolutionOfConstant},
    };
}

} // namespace retro::tests
