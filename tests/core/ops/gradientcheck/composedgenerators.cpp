// SPDX-License-Identifier: Apache-2.0
#include "tests/core/ops/gradientcheck/generators.h"

namespace retro::tests
{

namespace
{

constexpr std::int64_t kNewest = ops::kNewestOpset;
const std::string kContrib = "com.microsoft";

/// RNN (1 gate), GRU (3) or LSTM (4) with whatever is optional drawn.
OpCase recurrent(const char* op, std::int64_t gates, Draw& draw)
{
    OpCase c(op, kNewest);
    const auto direction = draw.among<std::string>({"forward", "reverse", "bidirectional"});
    const std::int64_t d = direction == "bidirectional" ? 2 : 1;
    const std::int64_t steps = draw.whole(1, 4);
    const std::int64_t batch = draw.whole(1, 2);
    const std::int64_t inputs = draw.whole(1, 3);
    const std::int64_t hidden = draw.whole(1, 3);
    const bool isBatchFirst = draw.coin();
    const auto arranged = [&](std::int64_t a, std::int64_t b) { return isBatchFirst ? Shape{b, a} : Shape{a, b}; };
    Shape x = arranged(steps, batch);
    x.push_back(inputs);
    Shape state = arranged(d, batch);
    state.push_back(hidden);
    c.operand(draw.tensor(x)).operand(draw.tensor({d, gates * hidden, inputs}));
    c.operand(draw.tensor({d, gates * hidden, hidden}));
    draw.coin() ? c.operand(draw.tensor({d, 2 * gates * hidden})) : c.absent();
    draw.coin() ? c.constant(draw.integers({batch}, 0, steps).to(DType::Int32)) : c.absent();
    draw.coin() ? c.operand(draw.tensor(state)) : c.absent();
    if (gates == 4) {
        draw.coin() ? c.operand(draw.tensor(state)) : c.absent();
        draw.coin() ? c.operand(draw.tensor({d, 3 * hidden})) : c.absent();
        c.with("input_forget", std::int64_t{draw.coin() ? 1 : 0});
    }
    if (draw.coin()) {
        c.with("clip", draw.number(1, 3));
    }
    c.with("direction", direction).with("hidden_size", hidden).with("layout", std::int64_t{isBatchFirst ? 1 : 0});
    return c.outputs(gates == 4 ? 3 : 2);
}

OpCase gru(Draw& draw) { return recurrent("GRU", 3, draw).with("linear_before_reset", draw.whole(0, 1)); }

/// Every activation in turn.
OpCase rnn(Draw& draw)
{
    const auto name = draw.among<std::string>({"Tanh", "Sigmoid", "Affine", "LeakyRelu", "ScaledTanh", "HardSigmoid",
                                               "Elu", "Softsign", "Softplus", "Relu", "ThresholdedRelu"});
    return recurrent("RNN", 1, draw).with("activations", std::vector<std::string>{name, name});
}

OpCase attention(Draw& draw)
{
    OpCase c("Attention", kNewest);
    const std::int64_t batch = draw.whole(1, 2);
    const std::int64_t keyHeads = draw.whole(1, 2);
    const std::int64_t heads = keyHeads * draw.whole(1, 2);
    const std::int64_t queries = draw.whole(1, 3);
    const std::int64_t keys = draw.whole(1, 4);
    const std::int64_t width = draw.whole(1, 3);
    const std::int64_t past = draw.coin() ? draw.whole(1, 2) : 0;
    const bool isFlat = draw.coin();
    const auto shape = [&](std::int64_t h, std::int64_t tokens, std::int64_t w) {
        return isFlat ? Shape{batch, tokens, h * w} : Shape{batch, h, tokens, w};
    };
    c.operand(draw.tensor(shape(heads, queries, width))).operand(draw.tensor(shape(keyHeads, keys, width)));
    c.operand(draw.tensor(shape(keyHeads, keys, 2)));
    draw.coin() ? c.operand(draw.tensor(draw.coin() ? Shape{queries, keys + past} : Shape{batch, 1, queries, 1}))
                : c.absent();
    if (past > 0) {
        c.operand(draw.tensor({batch, keyHeads, past, width})).operand(draw.tensor({batch, keyHeads, past, 2}));
    }
    if (draw.coin()) {
        c.with("softcap", draw.number(0.5, 2));
    }
    // The scores after a causal mask are infinite: they are an output only without one.
    const bool isCausal = draw.coin();
    c.with("is_causal", std::int64_t{isCausal ? 1 : 0});
    c.with("qk_matmul_output_mode", isCausal ? draw.among<std::int64_t>({0, 1, 3}) : draw.whole(0, 3));
    c.with("q_num_heads", heads).with("kv_num_heads", keyHeads).with("scale", draw.number(0.2, 1.5));
    return c.outputs(4);
}

OpCase rotary(Draw& draw)
{
    OpCase c("RotaryEmbedding", kNewest);
    const std::int64_t heads = draw.whole(1, 2);
    const std::int64_t rotated = 2 * draw.whole(1, 2);
    const std::int64_t width = rotated + 2 * draw.whole(0, 1);
    const bool hasPositions = draw.coin();
    c.operand(draw.tensor(draw.coin() ? Shape{2, 3, heads * width} : Shape{2, heads, 3, width}));
    const Shape cache = hasPositions ? Shape{5, rotated / 2} : Shape{2, 3, rotated / 2};
    c.operand(draw.tensor(cache)).operand(draw.tensor(cache));
    if (hasPositions) {
        c.constant(draw.integers({2, 3}, 0, 4));
    }
    c.with("num_heads", heads).with("rotary_embedding_dim", rotated);
    return c.with("interleaved", draw.whole(0, 1));
}

/// Positions stand in front of the caches, and may be the first one alone.
OpCase fusedRotary(Draw& draw)
{
    OpCase c("RotaryEmbedding", 1, kContrib);
    const std::int64_t heads = draw.whole(1, 2);
    const std::int64_t rotated = 2 * draw.whole(1, 2);
    const std::int64_t width = rotated + 2 * draw.whole(0, 1);
    c.operand(draw.tensor(draw.coin() ? Shape{2, 3, heads * width} : Shape{2, heads, 3, width}));
    c.constant(draw.coin() ? draw.integers({2, 3}, 0, 5) : draw.integers({1}, 0, 3));
    c.operand(draw.tensor({6, rotated / 2})).operand(draw.tensor({6, rotated / 2}));
    c.with("num_heads", heads).with("rotary_embedding_dim", rotated);
    return c.with("interleaved", draw.whole(0, 1));
}

/// Images with pasts of several lengths, some longer than what counts.
OpCase cacheAppend(Draw& draw)
{
    OpCase c("CacheAppend", 1, "retrograde");
    const std::int64_t added = draw.whole(1, 3);
    const std::int64_t past = draw.whole(0, 4);
    const std::int64_t heads = draw.whole(1, 2);
    c.operand(draw.tensor({2, heads, added, 3}));
    past > 0 ? c.operand(draw.tensor({2, heads, past + draw.whole(0, 2), 3})) : c.absent();
    c.constant(draw.integers({2}, added - 1, past + added - 1));
    c.constant(ints({past + added}));
    return c.with("front", draw.whole(0, 1)).with("window", draw.whole(0, 3)).outputs(5);
}

OpCase deformConv(Draw& draw)
{
    OpCase c("DeformConv", kNewest);
    const std::int64_t groups = draw.whole(1, 2);
    const std::int64_t offsetGroups = draw.whole(1, 2);
    const std::int64_t rows = draw.whole(3, 4);
    const std::int64_t columns = draw.whole(3, 5);
    const std::int64_t pad = draw.whole(0, 1);
    const std::int64_t stride = draw.whole(1, 2);
    const std::int64_t outRows = (rows + 2 * pad - 2) / stride + 1;
    const std::int64_t outColumns = (columns + 2 * pad - 2) / stride + 1;
    c.operand(draw.tensor({2, 4, rows, columns})).operand(draw.tensor({2, 4 / groups, 2, 2}));
    c.operand(draw.tensor({2, 8 * offsetGroups, outRows, outColumns}, -1.5, 1.5));
    draw.coin() ? c.operand(draw.tensor({2})) : c.absent();
    if (draw.coin()) {
        c.operand(draw.tensor({2, 4 * offsetGroups, outRows, outColumns}));
    }
    c.with("group", groups)
        .with("offset_group", offsetGroups)
        .with("strides", std::vector<std::int64_t>{stride, stride});
    return c.with("pads", std::vector<std::int64_t>{pad, pad, pad, pad});
}

OpCase deformSample(Draw& draw)
{
    OpCase c("DeformSample", 1, "retrograde");
    const std::int64_t groups = draw.whole(1, 2);
    const std::int64_t pad = draw.whole(0, 1);
    const std::int64_t rows = draw.whole(3, 4) + 2 * pad - 1;
    c.operand(draw.tensor({2, 2, rows + 1 - 2 * pad, 3}));
    c.operand(draw.tensor({2, 8 * groups, rows, 2 + 2 * pad}, -1.5, 1.5));
    if (draw.coin()) {
        c.operand(draw.tensor({2, 4 * groups, rows, 2 + 2 * pad}));
    }
    c.with("kernel_shape", std::vector<std::int64_t>{2, 2}).with("offset_group", groups);
    return c.with("pads", std::vector<std::int64_t>{pad, pad, pad, pad});
}

/// Convolution whose weights and bias are computed.
OpCase convolution(const char* op, bool isTransposed, Draw& draw)
{
    OpCase c(op, kNewest);
    const std::int64_t groups = draw.whole(1, 2);
    const std::int64_t axes = draw.whole(1, 3);
    Shape x{draw.whole(1, 2), 2 * groups};
    Shape w = isTransposed ? Shape{2 * groups, 1} : Shape{groups, 2};
    std::vector<std::int64_t> strides;
    for (std::int64_t i = 0; i < axes; ++i) {
        x.push_back(draw.whole(2, 4));
        w.push_back(draw.whole(1, 2));
        strides.push_back(draw.whole(1, 2));
    }
    c.operand(draw.tensor(x)).operand(draw.tensor(w));
    if (draw.coin()) {
        c.operand(draw.tensor({groups}));
    }
    const auto pad = draw.among<std::string>({"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"});
    return c.with("group", groups).with("strides", strides).with("auto_pad", pad);
}

} // namespace

std::vector<Generator> composedGenerators()
{
    return {
        {"RNN", rnn},
        {"GRU", gru},
        {"LSTM", [](Draw& d) { return recurrent("LSTM", 4, d); }},
        {"Attention", attention},
        {"RotaryEmbedding", rotary},
        {"RotaryEmbedding", fusedRotary, kContrib},
        {"CacheAppend", cacheAppend, "retrograde"},
        {"DeformConv", deformConv},
        {"Conv", [](Draw& d) { return convolution("Conv", false, d); }},
        {"ConvTranspose", [](Draw& d) { return convolution("ConvTranspose", true, d); }},
        {"DeformSample", deformSample, "retrograde"},
    };
}

} // namespace retro::tests
