// SPDX-License-Identifier: Apache-2.0
#include "tests/core/ops/gradientcheck/generators.h"

namespace retro::tests
{

namespace
{

constexpr std::int64_t kNewest = ops::kNewestOpset;

/// Batch × channels × one or two axes.
Shape imageShape(Draw& draw, std::int64_t channels)
{
    Shape shape = draw.shape(1, 2, 4);
    shape.insert(shape.begin(), {draw.whole(1, 2), channels});
    return shape;
}

/// Standardised from a drawn axis on; scale and bias have the shape of what is standardised.
OpCase fromAxis(const char* op, Draw& draw, std::string domain, bool hasBias)
{
    OpCase c(op, domain.empty() ? kNewest : 1, domain);
    Shape shape = draw.shape(2, 3);
    shape.back() += 1; // one element has no deviation
    const std::int64_t axis = draw.axis(shape.size());
    const auto first = axis < 0 ? axis + static_cast<std::int64_t>(shape.size()) : axis;
    const Shape tail(shape.begin() + first, shape.end());
    c.operand(draw.tensor(shape)).operand(draw.tensor(tail));
    if (hasBias && draw.coin()) {
        c.operand(draw.tensor(tail));
    }
    if (hasBias && draw.coin()) {
        c.outputs(3);
    }
    return c.with("axis", axis).with("epsilon", draw.number(1e-3, 0.1));
}

OpCase instance(Draw& draw)
{
    OpCase c("InstanceNormalization", kNewest);
    const std::int64_t channels = draw.whole(1, 3);
    Shape shape = imageShape(draw, channels);
    shape.back() += 1;
    c.operand(draw.tensor(shape)).operand(draw.tensor({channels})).operand(draw.tensor({channels}));
    return c.with("epsilon", draw.number(1e-3, 0.1));
}

OpCase group(std::int64_t opset, Draw& draw)
{
    OpCase c("GroupNormalization", opset);
    const std::int64_t groups = draw.whole(1, 3);
    const std::int64_t channels = groups * 2;
    const Shape affine{opset < 21 ? groups : channels};
    c.operand(draw.tensor(imageShape(draw, channels))).operand(draw.tensor(affine)).operand(draw.tensor(affine));
    return c.with("num_groups", groups).with("epsilon", draw.number(1e-3, 0.1));
}

OpCase meanVariance(Draw& draw)
{
    OpCase c("MeanVarianceNormalization", kNewest);
    Shape shape = draw.shape(2, 4);
    shape[0] += 2;
    std::vector<std::int64_t> axes{0};
    for (std::size_t axis = 1; axis < shape.size(); ++axis) {
        if (draw.coin()) {
            axes.push_back(static_cast<std::int64_t>(axis) -
                           (draw.coin() ? static_cast<std::int64_t>(shape.size()) : 0));
        }
    }
    return c.operand(draw.tensor(shape)).with("axes", axes);
}

OpCase batch(Draw& draw)
{
    OpCase c("BatchNormalization", kNewest);
    const Shape shape = imageShape(draw, 3);
    c.operand(draw.tensor(shape));
    for (int i = 0; i < 3; ++i) {
        c.operand(draw.tensor({3}));
    }
    return c.operand(draw.tensor({3}, 0.3, 2));
}

/// By the operand's own statistics.
OpCase ownStatistics(Draw& draw)
{
    OpCase c = batch(draw);
    c.with("training_mode", std::int64_t{1}).with("momentum", draw.number(0.1, 0.9)).with("epsilon", 0.5);
    return c.outputs(static_cast<std::size_t>(draw.whole(1, 3)));
}

OpCase lp(Draw& draw)
{
    OpCase c("LpNormalization", kNewest);
    const Shape shape = draw.shape(1, 3);
    return c.operand(draw.tensor(shape)).with("axis", draw.axis(shape.size())).with("p", draw.whole(1, 2));
}

OpCase lrn(Draw& draw)
{
    OpCase c("LRN", kNewest);
    c.operand(draw.tensor(imageShape(draw, draw.whole(1, 6)))).with("size", draw.whole(1, 5));
    return c.with("alpha", draw.number(0.1, 2)).with("beta", draw.number(0.3, 1.2)).with("bias", draw.number(0.5, 2));
}

} // namespace

std::vector<Generator> normalisationGenerators()
{
    const std::string contrib = "com.microsoft";
    return {
        {"LayerNormalization", [](Draw& d) { return fromAxis("LayerNormalization", d, {}, true); }},
        {"LayerNormalization", [](Draw& d) { return fromAxis("LayerNormalization", d, "com.microsoft", true); },
         contrib},
        {"RMSNormalization", [](Draw& d) { return fromAxis("RMSNormalization", d, {}, false); }},
        {"SimplifiedLayerNormalization",
         [](Draw& d) { return fromAxis("SimplifiedLayerNormalization", d, {}, false); }},
        {"InstanceNormalization", instance},
        {"GroupNormalization", [](Draw& d) { return group(18, d); }},
        {"GroupNormalization", [](Draw& d) { return group(kNewest, d); }},
        {"MeanVarianceNormalization", meanVariance},
        {"BatchNormalization", batch},
        {"BatchNormalization", ownStatistics},
        {"LpNormalization", lp},
        {"LRN", lrn},
    };
}

} // namespace retro::tests
