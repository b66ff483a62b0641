// SPDX-License-Identifier: Apache-2.0
#include "tests/core/ops/gradientcheck/generators.h"

namespace retro::tests
{

namespace
{

constexpr std::int64_t kNewest = ops::kNewestOpset;

OpCase reshape(Draw& draw)
{
    OpCase c("Reshape", kNewest);
    const Shape shape = draw.shape(1, 4, 3);
    return c.operand(draw.tensor(shape)).constant(ints(draw.coin() ? Shape{0, -1} : Shape{-1}));
}

OpCase flatten(Draw& draw)
{
    OpCase c("Flatten", kNewest);
    const Shape shape = draw.shape(1, 4, 3);
    return c.operand(draw.tensor(shape)).with("axis", draw.axis(shape.size()));
}

OpCase transpose(Draw& draw)
{
    OpCase c("Transpose", kNewest);
    const Shape shape = draw.shape(1, 4, 3);
    std::vector<std::int64_t> order(shape.size());
    std::iota(order.begin(), order.end(), std::int64_t{0});
    return c.operand(draw.tensor(shape)).with("perm", draw.shuffled(order));
}

OpCase squeeze(Draw& draw)
{
    OpCase c("Squeeze", kNewest);
    Shape shape = draw.shape(1, 3);
    shape.insert(shape.begin() + 1, 1);
    c.operand(draw.tensor(shape));
    return draw.coin() ? c.constant(ints({1})) : c;
}

OpCase unsqueeze(Draw& draw)
{
    OpCase c("Unsqueeze", kNewest);
    return c.operand(draw.tensor(draw.shape(0, 3))).constant(ints({-1, 0}));
}

OpCase joined(const char* op, Draw& draw, const std::string& domain)
{
    OpCase c(op, domain.empty() ? kNewest : 1, domain);
    const Shape shape = draw.shape(1, 3);
    const std::int64_t axis = draw.axis(shape.size());
    const auto plain = static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(shape.size()) : axis);
    for (std::int64_t i = draw.whole(1, 3); i > 0; --i) {
        Shape part = shape;
        part[plain] = domain.empty() ? draw.whole(1, 3) : part[plain];
        i == 2 ? c.constant(draw.tensor(part)) : c.operand(draw.tensor(part));
    }
    return c.with("axis", axis);
}

OpCase split(Draw& draw)
{
    OpCase c("Split", kNewest);
    Shape shape = draw.shape(1, 3);
    shape[0] = 5;
    c.operand(draw.tensor(shape));
    if (draw.coin()) {
        return c.constant(ints({1, 4})).outputs(2);
    }
    return c.with("num_outputs", std::int64_t{3}).outputs(3);
}

OpCase unbind(Draw& draw)
{
    OpCase c("Unbind", 1, "ai.retrograde");
    Shape shape = draw.shape(1, 3);
    shape[0] = 3;
    return c.operand(draw.tensor(shape)).outputs(3);
}

OpCase expand(Draw& draw)
{
    OpCase c("Expand", kNewest);
    const Shape shape = draw.shape(1, 4, 3);
    return c.operand(draw.tensor(draw.broadcasting(shape))).constant(ints(shape));
}

OpCase tile(Draw& draw)
{
    OpCase c("Tile", kNewest);
    const Shape shape = draw.shape(1, 3, 3);
    Shape repeats;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        repeats.push_back(draw.whole(1, 3));
    }
    return c.operand(draw.tensor(shape)).constant(ints(repeats));
}

OpCase pad(Draw& draw)
{
    OpCase c("Pad", kNewest);
    const std::string mode = draw.among<std::string>({"constant", "edge", "reflect", "wrap"});
    const Shape shape{draw.whole(3, 4), draw.whole(3, 4)};
    c.operand(draw.tensor(shape)).with("mode", mode);
    c.constant(ints({draw.whole(-1, 2), draw.whole(0, 2), draw.whole(-1, 2), draw.whole(0, 2)}));
    return mode == "constant" ? c.operand(doubles({}, {draw.number(-1, 1)})) : c;
}

OpCase rearranged(const char* op, Draw& draw)
{
    OpCase c(op, kNewest);
    const bool isDepth = std::string(op) == "DepthToSpace";
    const Shape shape = isDepth ? Shape{1, 4 * draw.whole(1, 2), draw.whole(1, 3), draw.whole(1, 3)}
                                : Shape{1, draw.whole(1, 3), 2 * draw.whole(1, 2), 2 * draw.whole(1, 2)};
    c.operand(draw.tensor(shape)).with("blocksize", std::int64_t{2});
    return isDepth ? c.with("mode", draw.coin() ? std::string("CRD") : std::string("DCR")) : c;
}

OpCase trilu(Draw& draw)
{
    OpCase c("Trilu", kNewest);
    c.operand(draw.tensor({2, draw.whole(1, 4), draw.whole(1, 4)})).with("upper", draw.whole(0, 1));
    return c.constant(Tensor::scalar(draw.whole(-2, 2)));
}

OpCase passing(const char* op, Draw& draw, const std::string& domain = {})
{
    OpCase c(op, domain.empty() ? kNewest : 1, domain);
    return c.operand(draw.tensor(draw.shape(0, 3)));
}

} // namespace

std::vector<Generator> shapeGenerators()
{
    return {
        {"Checkpoint", [](Draw& d) { return passing("Checkpoint", d, "ai.retrograde"); }, "ai.retrograde"},
        {"PassThrough", [](Draw& d) { return passing("PassThrough", d, "retrograde"); }, "retrograde"},
        {"Concat", [](Draw& d) { return joined("Concat", d, {}); }},
        {"DepthToSpace", [](Draw& d) { return rearranged("DepthToSpace", d); }},
        {"Dropout", [](Draw& d) { return passing("Dropout", d); }},
        {"Expand", expand},
        {"Flatten", flatten},
        {"Identity", [](Draw& d) { return passing("Identity", d); }},
        {"Pad", pad},
        {"Reshape", reshape},
        {"SpaceToDepth", [](Draw& d) { return rearranged("SpaceToDepth", d); }},
        {"Split", split},
        {"Squeeze", squeeze},
        {"Stack", [](Draw& d) { return joined("Stack", d, "ai.retrograde"); }, "ai.retrograde"},
        {"Tile", tile},
        {"Transpose", transpose},
        {"Trilu", trilu},
        {"Unbind", unbind, "ai.retrograde"},
        {"Unsqueeze", unsqueeze},
    };
}

} // namespace retro::tests
