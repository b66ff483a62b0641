// SPDX-License-Identifier: Apache-2.0
#include "tests/core/ops/gradientcheck/generators.h"

namespace retro::tests
{

namespace
{

constexpr std::int64_t kNewest = ops::kNewestOpset;

OpCase matMul(Draw& draw)
{
    OpCase c("MatMul", kNewest);
    const std::int64_t depth = draw.whole(1, 4);
    const Shape batch = draw.shape(0, 2, 3);
    Shape a = draw.broadcasting(batch);
    Shape b = draw.broadcasting(batch);
    a.insert(a.end(), {draw.whole(1, 3), depth});
    b.insert(b.end(), {depth, draw.whole(1, 3)});
    a = draw.whole(0, 4) == 0 ? Shape{depth} : a;
    b = draw.whole(0, 4) == 0 ? Shape{depth} : b;
    const std::int64_t constant = draw.whole(0, 3);
    constant == 1 ? c.constant(draw.tensor(a)) : c.operand(draw.tensor(a));
    return constant == 2 ? c.constant(draw.tensor(b)) : c.operand(draw.tensor(b));
}

/// x·W + b, as the rewrite of MatMul and Add writes it.
OpCase linear(Draw& draw)
{
    OpCase c("MatMul", 1, "retrograde");
    const std::int64_t depth = draw.whole(1, 4);
    const std::int64_t columns = draw.whole(1, 3);
    Shape rows = draw.shape(1, 3, 3);
    rows.push_back(depth);
    c.operand(draw.tensor(rows));
    c.constant(draw.tensor({depth, columns}));
    return c.constant(draw.tensor({draw.coin() ? columns : 1}));
}

OpCase gemm(Draw& draw)
{
    OpCase c("Gemm", kNewest);
    const std::int64_t rows = draw.whole(1, 3);
    const std::int64_t depth = draw.whole(1, 4);
    const std::int64_t columns = draw.whole(1, 3);
    const bool swapsA = draw.coin();
    const bool swapsB = draw.coin();
    const Tensor a = draw.tensor(swapsA ? Shape{depth, rows} : Shape{rows, depth});
    const Tensor b = draw.tensor(swapsB ? Shape{columns, depth} : Shape{depth, columns});
    const std::int64_t constant = draw.whole(0, 3);
    constant == 1 ? c.constant(a) : c.operand(a);
    constant == 2 ? c.constant(b) : c.operand(b);
    if (draw.coin()) {
        const Tensor addend = draw.tensor(draw.broadcasting({rows, columns}));
        draw.coin() ? c.constant(addend) : c.operand(addend);
    }
    c.with("transA", std::int64_t{swapsA}).with("transB", std::int64_t{swapsB});
    return c.with("alpha", draw.number(0.5, 2)).with("beta", draw.number(0.5, 2));
}

struct Equation
{
    const char* text;
    std::vector<Shape> shapes;
};

OpCase einsum(Draw& draw)
{
    const auto drawn = draw.among<Equation>({{"ij,jk->ik", {{2, 3}, {3, 4}}},
                                             {"bhqd,bhkd->bhqk", {{2, 2, 3, 2}, {2, 2, 4, 2}}},
                                             {"ij->ji", {{2, 3}}},
                                             {"ij->", {{2, 3}}},
                                             {"ii->i", {{3, 3}}},
                                             {"...ii->...", {{2, 3, 3}}},
                                             {"i,i", {{3}, {3}}},
                                             {"i,j->ij", {{3}, {2}}},
                                             {"...ij,...jk->...ik", {{2, 1, 2, 3}, {4, 3, 2}}},
                                             {"ab,bc,cd->ad", {{2, 3}, {3, 2}, {2, 4}}},
                                             {"ijk,k->j", {{2, 3, 2}, {2}}},
                                             {"ij,ij,i->j", {{2, 3}, {2, 3}, {2}}}});
    OpCase c("Einsum", kNewest);
    const std::int64_t constant = draw.whole(0, 3);
    for (std::size_t i = 0; i < drawn.shapes.size(); ++i) {
        const bool isConstant = drawn.shapes.size() > 1 && static_cast<std::int64_t>(i) == constant;
        isConstant ? c.constant(draw.tensor(drawn.shapes[i])) : c.operand(draw.tensor(drawn.shapes[i]));
    }
    return c.with("equation", std::string(drawn.text));
}

OpCase det(Draw& draw)
{
    OpCase c("Det", kNewest);
    Shape shape = draw.shape(0, 2, 2);
    const std::int64_t n = draw.whole(1, 4);
    shape.insert(shape.end(), {n, n});
    return c.operand(draw.tensor(shape));
}

OpCase convolution(const char* op, Draw& draw)
{
    OpCase c(op, kNewest);
    const std::int64_t axes = draw.whole(1, 2);
    const std::int64_t group = draw.whole(1, 2);
    Shape x{draw.whole(1, 2), 2 * group};
    Shape w = std::string(op) == "Conv" ? Shape{group * draw.whole(1, 2), 2} : Shape{2 * group, draw.whole(1, 2)};
    std::vector<std::int64_t> strides;
    std::vector<std::int64_t> dilations;
    std::vector<std::int64_t> pads;
    for (std::int64_t i = 0; i < axes; ++i) {
        x.push_back(draw.whole(3, 5));
        w.push_back(draw.whole(1, 2));
        strides.push_back(draw.whole(1, 2));
        dilations.push_back(draw.whole(1, 2));
        pads.insert(pads.end(), {0, 0});
    }
    pads[0] = draw.whole(0, 1);
    c.operand(draw.tensor(x)).constant(draw.tensor(w));
    return c.with("group", group).with("strides", strides).with("dilations", dilations).with("pads", pads);
}

/// Of the operand: the weights are bytes.
OpCase matMulNBits(Draw& draw)
{
    OpCase c("MatMulNBits", 1, "com.microsoft");
    const std::int64_t bits = draw.among<std::int64_t>({2, 4, 8});
    const std::int64_t depth = draw.whole(1, 40);
    const std::int64_t rows = draw.whole(1, 3);
    const std::int64_t blocks = (depth + 15) / 16;
    c.operand(draw.tensor({draw.whole(1, 3), depth}));
    c.constant(draw.integers({rows, blocks, 16 * bits / 8}, 0, 255).to(DType::UInt8));
    c.constant(draw.tensor({rows, blocks}));
    if (draw.coin()) {
        c.constant(draw.integers({rows, (blocks * bits + 7) / 8}, 0, 255).to(DType::UInt8));
    }
    c.with("K", depth).with("N", rows).with("bits", bits);
    return c.with("block_size", std::int64_t{16});
}

/// One layer of a stack, some rows of the operand 0; of the operand.
OpCase expertProduct(Draw& draw)
{
    OpCase c("ExpertProduct", 1, "retrograde");
    const std::int64_t experts = draw.whole(1, 3);
    const std::int64_t rows = draw.whole(1, 4);
    const std::int64_t bits = draw.among<std::int64_t>({0, 2, 4, 8});
    const std::int64_t columns = 16 * draw.whole(1, 2);
    const Tensor x = draw.tensor({draw.whole(1, 3), columns});
    c.operand(draw.coin() ? ops::algebra::scale(x, 0) : x);
    if (bits == 0) {
        c.constant(draw.tensor({experts, rows, columns}));
        draw.coin() ? c.constant(draw.tensor({experts, rows})) : c.absent();
        return c.with("expert", draw.whole(0, experts - 1));
    }
    const bool isPerRow = draw.coin();
    const std::int64_t blocks = isPerRow ? 1 : columns / 16;
    c.constant(draw.integers({experts, rows, columns * bits / 8}, 0, 255).to(DType::UInt8));
    draw.coin() ? c.constant(draw.tensor({experts, rows})) : c.absent();
    c.constant(draw.tensor(isPerRow ? Shape{experts, rows} : Shape{experts, rows, blocks}));
    if (draw.coin()) {
        c.constant(draw.integers({experts, rows, (blocks * bits + 7) / 8}, 0, 255).to(DType::UInt8));
    }
    c.with("expert", draw.whole(0, experts - 1)).with("bits", bits);
    return c.with("block_size", std::int64_t{isPerRow ? 0 : 16});
}

} // namespace

std::vector<Generator> linearGenerators()
{
    return {
        {"Conv", [](Draw& d) { return convolution("Conv", d); }},
        {"ConvTranspose", [](Draw& d) { return convolution("ConvTranspose", d); }},
        {"Det", det},
        {"Einsum", einsum},
        {"Gemm", gemm},
        {"MatMul", matMul},
        {"MatMul", linear, "retrograde"},
        {"MatMulNBits", matMulNBits, "com.microsoft"},
        {"ExpertProduct", expertProduct, "retrograde"},
    };
}

} // namespace retro::tests
