// SPDX-License-Identifier: Apache-2.0
#include "tests/core/ops/gradientcheck/generators.h"

namespace retro::tests
{

namespace
{

constexpr std::int64_t kNewest = ops::kNewestOpset;

std::size_t plain(std::int64_t axis, std::size_t rank)
{
    return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

OpCase gather(Draw& draw)
{
    OpCase c("Gather", kNewest);
    const Shape shape = draw.shape(1, 3);
    const std::int64_t axis = draw.axis(shape.size());
    const std::int64_t extent = shape[plain(axis, shape.size())];
    const Tensor indices = draw.integers(draw.shape(0, 2), -extent, extent - 1);
    c.operand(draw.tensor(shape)).with("axis", axis);
    return draw.coin() ? c.constant(indices) : c.operand(indices);
}

/// Our own, in which indices outside give zeros.
OpCase gatherAnything(Draw& draw)
{
    OpCase c("Gather", 1, "retrograde");
    const Shape shape = draw.shape(1, 3);
    const std::int64_t axis = draw.axis(shape.size());
    const std::int64_t extent = shape[plain(axis, shape.size())];
    const Tensor indices = draw.integers(draw.shape(0, 2), -2 * extent, 2 * extent);
    c.operand(draw.tensor(shape)).with("axis", axis);
    return draw.coin() ? c.constant(indices) : c.operand(indices);
}

OpCase gatherElements(Draw& draw)
{
    OpCase c("GatherElements", kNewest);
    const Shape shape = draw.shape(1, 3);
    const std::int64_t axis = draw.axis(shape.size());
    const std::int64_t extent = shape[plain(axis, shape.size())];
    Shape indices = shape;
    indices[plain(axis, shape.size())] = draw.whole(1, 5);
    return c.operand(draw.tensor(shape)).operand(draw.integers(indices, -extent, extent - 1)).with("axis", axis);
}

OpCase gatherNd(Draw& draw)
{
    OpCase c("GatherND", kNewest);
    if (draw.coin()) {
        c.operand(draw.tensor({2, 3, 2})).operand(draw.integers({2, 4, 1}, -3, 2));
        return c.with("batch_dims", std::int64_t{1});
    }
    return c.operand(draw.tensor({3, 3, 2})).operand(draw.integers({4, 2}, -3, 2));
}

OpCase scatterElements(const char* op, Draw& draw)
{
    const bool isOld = std::string(op) == "Scatter";
    OpCase c(op, isOld ? 10 : kNewest);
    const std::string reduction = isOld ? "none" : draw.among<std::string>({"none", "add", "mul", "max", "min"});
    // Without a reduction, two updates of one place leave it open which one stays.
    const Tensor indices = reduction == "none" ? ints({2, 0, -2}).reshaped({3, 1}) : draw.integers({3, 2}, -4, 3);
    c.operand(draw.distinct({4, 2})).operand(indices).operand(draw.tensor(indices.shape(), -0.6, 0.6));
    return isOld ? c : c.with("reduction", reduction);
}

OpCase scatterNd(Draw& draw)
{
    OpCase c("ScatterND", kNewest);
    const std::string reduction = draw.among<std::string>({"none", "add", "mul", "max", "min"});
    const Tensor indices = reduction == "none" ? ints({2, -4}).reshaped({2, 1}) : draw.integers({3, 1}, -4, 3);
    c.operand(draw.tensor({4, 2})).operand(indices).operand(draw.tensor({indices.shape()[0], 2}));
    return c.with("reduction", reduction);
}

OpCase tensorScatter(Draw& draw)
{
    OpCase c("TensorScatter", kNewest);
    const bool isCircular = draw.coin();
    c.operand(draw.tensor({2, 5, 2})).operand(draw.tensor({2, 2, 2}));
    c.with("mode", isCircular ? std::string("circular") : std::string("linear"));
    return draw.coin() ? c.operand(draw.integers({2}, 0, isCircular ? 9 : 3)) : c;
}

OpCase slice(Draw& draw)
{
    OpCase c("Slice", kNewest);
    const Shape shape{draw.whole(2, 5), draw.whole(2, 5)};
    c.operand(draw.tensor(shape)).constant(draw.integers({2}, -3, 4)).constant(draw.integers({2}, -6, 6));
    return c.constant(ints({1, 0})).constant(ints({draw.among<std::int64_t>({-2, -1, 1, 2}), 1}));
}

OpCase topK(Draw& draw)
{
    OpCase c("TopK", kNewest);
    const Shape shape = draw.shape(1, 3, 5);
    const std::int64_t axis = draw.axis(shape.size());
    c.operand(draw.distinct(shape)).constant(ints({draw.whole(1, shape[plain(axis, shape.size())])}));
    c.with("axis", axis).with("largest", draw.whole(0, 1)).with("sorted", draw.whole(0, 1));
    return c.outputs(2);
}

OpCase compress(Draw& draw)
{
    OpCase c("Compress", kNewest);
    const bool isFlat = draw.coin();
    c.operand(draw.tensor({3, 4})).constant(draw.flags({isFlat ? 7 : 4}));
    return isFlat ? c : c.with("axis", std::int64_t{1});
}

OpCase reverseSequence(Draw& draw)
{
    OpCase c("ReverseSequence", kNewest);
    const bool timeFirst = draw.coin();
    c.operand(draw.tensor({4, 4, 2})).operand(draw.integers({4}, 0, 4));
    return c.with("time_axis", std::int64_t{timeFirst ? 0 : 1}).with("batch_axis", std::int64_t{timeFirst ? 1 : 0});
}

OpCase oneHot(Draw& draw)
{
    OpCase c("OneHot", kNewest);
    const Shape shape = draw.shape(0, 3, 3);
    c.operand(draw.integers(shape, -4, 4)).constant(ints({3}).reshaped({})).operand(draw.tensor({2}));
    return c.with("axis", draw.axis(shape.size() + 1));
}

/// Start and step; the limit lies between two elements, where the count does not change.
OpCase range(Draw& draw)
{
    OpCase c("Range", kNewest);
    const double start = draw.number(-2, 2);
    const double delta = draw.number(0.3, 2) * (draw.coin() ? 1 : -1);
    const double limit = start + delta * (static_cast<double>(draw.whole(0, 5)) + 0.5);
    draw.coin() ? c.operand(doubles({}, {start})) : c.constant(doubles({}, {start}));
    return c.operand(doubles({}, {limit})).operand(doubles({}, {delta})).known();
}

OpCase unique(Draw& draw)
{
    OpCase c("Unique", kNewest);
    const Shape shape = draw.shape(1, 3, 3);
    c.operand(draw.distinct(shape)).known().with("sorted", draw.whole(0, 1)).outputs(4);
    return draw.coin() ? c : c.with("axis", draw.axis(shape.size()));
}

/// By the scale; the rest are integers.
OpCase dequantize(Draw& draw)
{
    OpCase c("DequantizeLinear", kNewest);
    const Shape shape{2, 3, 4};
    const std::int64_t form = draw.whole(0, 2);
    const Shape scales = form == 0 ? Shape{} : form == 1 ? Shape{3} : Shape{2, 2, 4};
    c.operand(draw.integers(shape, -9, 9).to(DType::Int8)).operand(draw.tensor(scales, 0.1, 1));
    if (draw.coin()) {
        c.operand(draw.integers(scales, -3, 3).to(DType::Int8));
    }
    return form == 2 ? c.with("block_size", std::int64_t{2}) : c;
}

/// Of the weights: what chooses rows has a surrogate gradient, which differences do not show.
OpCase lut(Draw& draw)
{
    OpCase c("LUT", 1, "ai.retrograde");
    const bool isSequence = draw.coin();
    const std::int64_t tables = draw.whole(1, 3);
    const std::int64_t comparisons = draw.whole(1, 2);
    const std::int64_t bits = isSequence ? draw.whole(0, 2) : 0;
    std::vector<std::int64_t> anchors;
    for (std::int64_t i = 0; i < tables * comparisons; ++i) {
        const std::int64_t a = draw.whole(0, 3);
        anchors.insert(anchors.end(), {a, (a + draw.whole(1, 3)) % 4});
    }
    c.constant(draw.tensor(isSequence ? Shape{2, 3, 4} : Shape{2, 4}));
    c.constant(Tensor::of<std::int64_t>({tables, comparisons, 2}, anchors));
    const std::int64_t rows = std::int64_t{1} << (isSequence ? 2 * comparisons + bits : comparisons);
    c.operand(draw.tensor({tables, rows, 2}));
    if (bits > 0) {
        c.constant(draw.tensor({2, tables, bits}));
    }
    return c.with("sequence", std::int64_t{isSequence ? 1 : 0});
}

} // namespace

std::vector<Generator> indexGenerators()
{
    return {
        {"Compress", compress},
        {"Gather", gather},
        {"Gather", gatherAnything, "retrograde"},
        {"GatherElements", gatherElements},
        {"GatherND", gatherNd},
        {"DequantizeLinear", dequantize},
        {"LUT", lut, "ai.retrograde"},
        {"OneHot", oneHot},
        {"Range", range},
        {"ReverseSequence", reverseSequence},
        {"Scatter", [](Draw& d) { return scatterElements("Scatter", d); }},
        {"ScatterElements", [](Draw& d) { return scatterElements("ScatterElements", d); }},
        {"ScatterND", scatterNd},
        {"Slice", slice},
        {"TensorScatter", tensorScatter},
        {"TopK", topK},
        {"Unique", unique},
    };
}

} // namespace retro::tests
