// SPDX-License-Identifier: Apache-2.0
#include "tests/core/ops/gradientcheck/generators.h"

namespace retro::tests
{

namespace
{

constexpr std::int64_t kNewest = ops::kNewestOpset;

OpCase pool(const char* op, Draw& draw)
{
    OpCase c(op, kNewest);
    c.operand(draw.distinct({1, 2, draw.whole(3, 6), draw.whole(3, 5)}));
    c.with("kernel_shape", std::vector<std::int64_t>{draw.whole(2, 3), 2});
    c.with("strides", std::vector<std::int64_t>{draw.whole(1, 2), draw.whole(1, 2)});
    c.with("pads", std::vector<std::int64_t>{draw.whole(0, 1), 0, 0, draw.whole(0, 1)});
    return c.with("ceil_mode", draw.whole(0, 1));
}

OpCase averagePool(Draw& draw) { return pool("AveragePool", draw).with("count_include_pad", draw.whole(0, 1)); }

OpCase globalPool(const char* op, Draw& draw)
{
    OpCase c(op, kNewest);
    Shape shape = draw.shape(1, 2, 3);
    shape.insert(shape.begin(), {2, 2});
    return c.operand(draw.distinct(shape));
}

OpCase batchNormalisation(Draw& draw)
{
    OpCase c("BatchNormalization", kNewest);
    Shape shape = draw.shape(1, 2, 3);
    shape.insert(shape.begin(), {2, 3});
    c.operand(draw.tensor(shape)).constant(draw.tensor({3})).constant(draw.tensor({3})).constant(draw.tensor({3}));
    return c.constant(draw.tensor({3}, 0.2, 2));
}

} // namespace

std::vector<Generator> windowGenerators()
{
    return {
        {"AveragePool", averagePool},
        {"BatchNormalization", batchNormalisation},
        {"GlobalAveragePool", [](Draw& d) { return globalPool("GlobalAveragePool", d); }},
        {"GlobalMaxPool", [](Draw& d) { return globalPool("GlobalMaxPool", d); }},
        {"MaxPool", [](Draw& d) { return pool("MaxPool", d); }},
    };
}

} // namespace retro::tests
