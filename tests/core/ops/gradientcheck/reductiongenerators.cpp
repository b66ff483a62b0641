// SPDX-License-Identifier: Apache-2.0
#include "tests/core/ops/gradientcheck/generators.h"

namespace retro::tests
{

namespace
{

constexpr std::int64_t kNewest = ops::kNewestOpset;

/// A reduction over drawn axes: an attribute at opset 11, an operand at the newest.
OpCase reduction(const char* op, Draw& draw, double low = -2, double high = 2)
{
    const bool isOld = draw.coin();
    OpCase c(op, isOld ? 11 : kNewest);
    const Shape shape = draw.shape(1, 4, 3);
    c.operand(low > high ? draw.distinct(shape) : draw.tensor(shape, low, high));
    c.with("keepdims", draw.whole(0, 1));
    const std::vector<std::int64_t> axes = draw.axes(shape.size());
    if (isOld && !axes.empty()) {
        c.with("axes", axes);
    } else if (!isOld && draw.coin()) {
        c.constant(ints(axes)).with("noop_with_empty_axes", draw.whole(0, 1));
    }
    return c;
}

OpCase extreme(const char* op, Draw& draw) { return reduction(op, draw, 1, 0); }

OpCase cumulative(const char* op, Draw& draw)
{
    OpCase c(op, kNewest);
    const Shape shape = draw.shape(1, 3);
    c.operand(draw.tensor(shape)).constant(Tensor::scalar(draw.axis(shape.size())));
    return c.with("exclusive", draw.whole(0, 1)).with("reverse", draw.whole(0, 1));
}

OpCase softmax(const char* op, Draw& draw)
{
    OpCase c(op, draw.coin() ? 11 : kNewest);
    const Shape shape = draw.shape(1, 4, 3);
    return c.operand(draw.tensor(shape)).with("axis", draw.axis(shape.size()));
}

} // namespace

std::vector<Generator> reductionGenerators()
{
    return {
        {"CumProd", [](Draw& d) { return cumulative("CumProd", d); }},
        {"CumSum", [](Draw& d) { return cumulative("CumSum", d); }},
        {"LogSoftmax", [](Draw& d) { return softmax("LogSoftmax", d); }},
        {"ReduceL1", [](Draw& d) { return reduction("ReduceL1", d); }},
        {"ReduceL2", [](Draw& d) { return reduction("ReduceL2", d, 0.2, 2); }},
        {"ReduceLogSum", [](Draw& d) { return reduction("ReduceLogSum", d, 0.2, 2); }},
        {"ReduceLogSumExp", [](Draw& d) { return reduction("ReduceLogSumExp", d); }},
        {"ReduceMax", [](Draw& d) { return extreme("ReduceMax", d); }},
        {"ReduceMean", [](Draw& d) { return reduction("ReduceMean", d); }},
        {"ReduceMin", [](Draw& d) { return extreme("ReduceMin", d); }},
        {"ReduceProd", [](Draw& d) { return reduction("ReduceProd", d); }},
        {"ReduceSum", [](Draw& d) { return reduction("ReduceSum", d); }},
        {"ReduceSumSquare", [](Draw& d) { return reduction("ReduceSumSquare", d); }},
        {"Softmax", [](Draw& d) { return softmax("Softmax", d); }},
    };
}

} // namespace retro::tests
