// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/core/diagnosis/diagnosed.h"

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

/// Small networks with random weights and calibrated normalisation, healthy or with one planted fault.
namespace retro::tests
{

/// One planted fault, or none.
struct Fault
{
    std::string kind;
    std::string node;
};

/// Mean and variance per channel.
struct ChannelStatistics
{
    std::vector<float> mean;
    std::vector<float> variance;
};
using Calibration = std::map<std::string, ChannelStatistics>;

inline ChannelStatistics statisticsOfChannels(const Tensor& x)
{
    const auto channels = static_cast<std::size_t>(x.shape()[1]);
    const std::int64_t each = x.size() / x.shape()[0] / x.shape()[1];
    ChannelStatistics all{std::vector<float>(channels), std::vector<float>(channels)};
    for (std::size_t c = 0; c < channels; ++c) {
        double sum = 0;
        double squares = 0;
        for (std::int64_t i = 0; i < each; ++i) {
            const double one = x.at(static_cast<std::int64_t>(c) * each + i);
            sum += one;
            squares += one * one;
        }
        const double mean = sum / static_cast<double>(each);
        all.mean[c] = static_cast<float>(mean);
        all.variance[c] = static_cast<float>(squares / static_cast<double>(each) - mean * mean + 0.01);
    }
    return all;
}

/// Writes the layers of a network, one of them with the fault.
class Layers
{
public:
    Layers(unsigned seed, Fault fault, const Calibration& calibration)
        : m_seed(seed), m_fault(std::move(fault)), m_calibration(calibration)
    {}

    ValueId input(const Shape& shape)
    {
        const ValueId x = m_writer.input("x", shape);
        return isPlanted("cut", "cut") ? scaled("cut", x, 0) : x;
    }

    /// Rows of a table of so many words; of a text.
    ValueId words(const std::string& name, const Shape& shape, std::int64_t count, std::int64_t width)
    {
        const ValueId table = m_writer.constant(name + ".table", drawn({count, width}, -1, 1));
        return m_writer.node("Gather", name, {table, m_writer.integers("ids", shape)});
    }

    ValueId conv(const std::string& name, ValueId x, std::int64_t from, std::int64_t to, bool hasBias = true)
    {
        const std::int64_t reach = isPlanted("pad", name) ? 0 : 1;
        if (reach == 0) {
            const Whole pads{0, 0, 1, 1, 0, 0, 1, 1};
            x = m_writer.node("Pad", name + "_pad",
                              {x, m_writer.constant(name + ".pads", Tensor::of<std::int64_t>({8}, pads)),
                               m_writer.constant(name + ".fill", Tensor::scalar<float>(8))});
        }
        std::vector<ValueId> operands{x, weight(name, {to, from, 3, 3}, from * 9, 0, 1)};
        if (hasBias) {
            operands.push_back(bias(name, to));
        }
        return behind(name, m_writer.node("Conv", name, operands, {{"pads", Whole{reach, reach, reach, reach}}}));
    }

    /// Of a series: channels × steps.
    ValueId convOfSeries(const std::string& name, ValueId x, std::int64_t from, std::int64_t to)
    {
        return behind(name,
                      m_writer.node("Conv", name, {x, weight(name, {to, from, 3}, from * 3, 0, 1), bias(name, to)},
                                    {{"pads", Whole{1, 1}}}));
    }

    /// Twice as wide and high.
    ValueId up(const std::string& name, ValueId x, std::int64_t from, std::int64_t to)
    {
        return behind(name, m_writer.node("ConvTranspose", name,
                                          {x, weight(name, {from, to, 2, 2}, from, 1, 0), bias(name, to)},
                                          {{"strides", Whole{2, 2}}}));
    }

    /// A rectifier; planted, it is cut off at a bound.
    ValueId relu(const std::string& name, ValueId x)
    {
        if (!isPlanted("clip", name)) {
            return plain("Relu", name, x);
        }
        return m_writer.node("Clip", name,
                             {x, m_writer.constant(name + ".low", Tensor::scalar<float>(0)),
                              m_writer.constant(name + ".high", Tensor::scalar<float>(0.01F))});
    }

    ValueId both(const std::string& op, const std::string& name, ValueId a, ValueId b,
                 const Attributes& attributes = {})
    {
        return m_writer.node(op, name, {a, b}, attributes);
    }

    /// The last state of an LSTM over steps × batch × channels, as a row.
    ValueId recurrent(const std::string& name, ValueId x, std::int64_t steps, std::int64_t from, std::int64_t units)
    {
        const Tensor drawnOnes = drawn({1, 8 * units}, -0.1, 0.1);
        std::vector<float> numbers(drawnOnes.span<float>().begin(), drawnOnes.span<float>().end());
        static const std::vector<std::string> kGates{"input", "output", "forget"};
        for (std::size_t gate = 0; gate < kGates.size(); ++gate) {
            const auto begin = numbers.begin() + static_cast<std::ptrdiff_t>(gate) * units;
            if (isPlanted(kGates[gate], name)) {
                std::fill(begin, begin + units, -60.0F);
            }
        }
        const ValueId states =
            m_writer.node("LSTM", name,
                          {x, weight(name, {1, 4 * units, from}, 4 * from, 1, 2),
                           m_writer.constant(name + ".recurrence", drawn({1, 4 * units, units}, -0.3, 0.3)),
                           m_writer.constant(name + ".bias", floats({1, 8 * units}, numbers))},
                          {{"hidden_size", units}});
        const ValueId last =
            m_writer.node("Gather", name + "/last",
                          {states, m_writer.constant(name + ".last", Tensor::of<std::int64_t>({1}, Whole{steps - 1}))});
        return m_writer.node(
            "Reshape", name + "/row",
            {last, m_writer.constant(name + ".extents", Tensor::of<std::int64_t>({2}, Whole{1, units}))});
    }

    ValueId dense(const std::string& name, ValueId x, std::int64_t from, std::int64_t to)
    {
        return behind(name, m_writer.node("Gemm", name, {x, weight(name, {from, to}, from, 1, 0), bias(name, to)}));
    }

    /// Of every row of a text.
    ValueId rows(const std::string& name, ValueId x, std::int64_t from, std::int64_t to)
    {
        const ValueId product = m_writer.node("MatMul", name, {x, weight(name, {from, to}, from, 1, 0)});
        return behind(name, m_writer.node("Add", name + "_bias", {product, bias(name, to)}));
    }

    ValueId norm(const std::string& name, ValueId x, std::int64_t channels)
    {
        const auto known = m_calibration.find(name);
        if (known == m_calibration.end()) {
            m_asked = m_asked.empty() ? name : m_asked;
            m_probe = m_probe.isValid() ? m_probe : x;
        }
        const std::vector<float> ones(static_cast<std::size_t>(channels), 1);
        ChannelStatistics own =
            known == m_calibration.end() ? ChannelStatistics{std::vector<float>(ones.size()), ones} : known->second;
        if (isPlanted("variance", name)) {
            own.variance[1] = 1e-9F;
        }
        const auto constant = [&](const std::string& role, Tensor data) {
            return m_writer.constant(name + "." + role, std::move(data));
        };
        return m_writer.node(
            "BatchNormalization", name,
            {x, constant("scale", drawn({channels}, 0.8, 1.2)), constant("shift", drawn({channels}, -0.1, 0.1)),
             constant("mean", floats({channels}, own.mean)), constant("variance", floats({channels}, own.variance))},
            {{"epsilon", 1e-5}, {"training_mode", std::int64_t{isPlanted("training", name) ? 1 : 0}}});
    }

    ValueId rowNorm(const std::string& name, ValueId x, std::int64_t width)
    {
        const Tensor usual = drawn({width}, 0.8, 1.2);
        std::vector<float> scale(usual.span<float>().begin(), usual.span<float>().end());
        scale[1] *= isPlanted("scale", name) ? 500.0F : 1.0F;
        return m_writer.node("LayerNormalization", name,
                             {x, m_writer.constant(name + ".scale", floats({width}, scale)),
                              m_writer.constant(name + ".shift", drawn({width}, -0.1, 0.1))},
                             {{"axis", std::int64_t{-1}}, {"epsilon", isPlanted("epsilon", name) ? 100.0 : 1e-5}});
    }

    ValueId add(const std::string& name, ValueId a, ValueId b)
    {
        const ValueId sum =
            m_writer.node("Add", name, {a, isPlanted("cancel", name) ? scaled("against", a, -0.99999F) : b});
        return isPlanted("again", name) ? m_writer.node("Add", name + "_again", {sum, b}) : sum;
    }

    ValueId positions(ValueId x, const Shape& shape)
    {
        const double size = isPlanted("position", "positions") ? 60 : 0.3;
        return m_writer.node("Add", "positions", {x, m_writer.constant("position", drawn(shape, -size, size))});
    }

    /// Causal, with one head.
    ValueId attention(const std::string& name, ValueId x, std::int64_t length, std::int64_t width)
    {
        const ValueId q = rows(name + "/q", x, width, width);
        const ValueId k = rows(name + "/k", x, width, width);
        const ValueId v = rows(name + "/v", x, width, width);
        const ValueId turned = m_writer.node("Transpose", name + "/turn", {k}, {{"perm", Whole{0, 2, 1}}});
        ValueId scores = scaled(name + "/scale", m_writer.node("MatMul", name + "/scores", {q, turned}),
                                1 / std::sqrt(static_cast<float>(width)));
        if (!isPlanted("leak", name)) {
            std::vector<float> mask(static_cast<std::size_t>(length * length));
            for (std::int64_t i = 0; i < length * length; ++i) {
                mask[static_cast<std::size_t>(i)] = i % length > i / length ? -1e9F : 0.0F;
            }
            scores = m_writer.node("Add", name + "/mask",
                                   {scores, m_writer.constant(name + ".mask", floats({length, length}, mask))});
        }
        const ValueId weights = m_writer.node("Softmax", name + "/softmax", {scores}, {{"axis", std::int64_t{-1}}});
        return rows(name + "/out", m_writer.node("MatMul", name + "/mix", {weights, v}), width, width);
    }

    ValueId plain(const std::string& op, const std::string& name, ValueId x, const Attributes& attributes = {})
    {
        return m_writer.node(op, name, {x}, attributes);
    }

    /// The network; or, where statistics of a normalisation are missing, what that reads.
    SharedGraph finish(ValueId y)
    {
        m_writer.output(m_probe.isValid() ? m_probe : y);
        return m_writer.finish();
    }
    /// The normalisation whose statistics are missing; empty where none is.
    [[nodiscard]] const std::string& asked() const { return m_asked; }

private:
    [[nodiscard]] bool isPlanted(const std::string& kind, const std::string& node) const
    {
        return m_fault.kind == kind && m_fault.node == node;
    }

    Tensor drawn(const Shape& shape, double low, double high) { return randomTensor(shape, ++m_seed, low, high); }

    ValueId scaled(const std::string& name, ValueId x, float factor)
    {
        return m_writer.node("Mul", name, {x, m_writer.constant(name + ".factor", Tensor::scalar<float>(factor))});
    }

    ValueId weight(const std::string& name, const Shape& shape, std::int64_t terms, std::size_t outputAxis,
                   std::size_t inputAxis)
    {
        const double size = std::sqrt(6.0 / static_cast<double>(terms)); // of a layer before a rectifier
        const Tensor drawnOnes = drawn(shape, -size, size);
        std::vector<float> numbers(drawnOnes.span<float>().begin(), drawnOnes.span<float>().end());
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            std::int64_t rest = static_cast<std::int64_t>(i);
            Whole index(shape.size());
            for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) {
                index[axis] = rest % shape[axis];
            }
            numbers[i] *= isPlanted("channel", name) && index[outputAxis] == 1 ? 1000.0F : 1.0F;
            numbers[i] *= isPlanted("zero", name) && index[inputAxis] < shape[inputAxis] / 2 ? 0.0F : 1.0F;
            numbers[i] *= isPlanted("scale", name) ? 80.0F : 1.0F;
        }
        numbers[5] += isPlanted("element", name) ? 2.0F : 0.0F;
        numbers[3] = isPlanted("nan", name) ? std::numeric_limits<float>::quiet_NaN() : numbers[3];
        return m_writer.constant(name + ".weight", floats(shape, numbers));
    }

    ValueId bias(const std::string& name, std::int64_t channels)
    {
        const double away = isPlanted("bias", name) ? 25 : (isPlanted("dead", name) ? -200 : 0);
        return m_writer.constant(name + ".bias", drawn({channels}, away - 0.05, away + 0.05));
    }

    /// What is planted behind a layer.
    ValueId behind(const std::string& name, ValueId x)
    {
        if (isPlanted("half", name)) {
            x = scaled(name + "_down", x, 1e-9F);
            x = plain("Cast", name + "_half", x, {{"to", std::int64_t{10}}});
            x = plain("Cast", name + "_float", x, {{"to", std::int64_t{1}}});
            return scaled(name + "_up", x, 1e9F);
        }
        if (isPlanted("huge", name)) {
            x = plain("Cast", name + "_half", scaled(name + "_enlarge", x, 1e6F), {{"to", std::int64_t{10}}});
            return scaled(name + "_shrink", plain("Cast", name + "_float", x, {{"to", std::int64_t{1}}}), 1e-6F);
        }
        if (isPlanted("divide", name)) {
            const ValueId positive = plain("Relu", name + "_positive", x);
            return both("Div", name + "_share", positive, positive);
        }
        if (isPlanted("root", name)) {
            return plain("Sqrt", name + "_root", x);
        }
        if (isPlanted("dropout", name)) {
            return m_writer.node("Dropout", name + "_dropout",
                                 {x, m_writer.constant(name + ".ratio", Tensor::scalar<float>(0.5F)),
                                  m_writer.constant(name + ".training", Tensor::scalar<bool>(true))});
        }
        if (isPlanted("quantised", name)) {
            const ValueId scale = m_writer.constant(name + ".quant", Tensor::scalar<float>(0.0005F));
            const ValueId zero = m_writer.constant(name + ".zero", Tensor::scalar<std::int8_t>(0));
            const ValueId small = m_writer.node("QuantizeLinear", name + "_quantise", {x, scale, zero});
            return m_writer.node("DequantizeLinear", name + "_back", {small, scale, zero});
        }
        return x;
    }

    Writer m_writer;
    unsigned m_seed;
    Fault m_fault;
    const Calibration& m_calibration;
    std::string m_asked;
    ValueId m_probe;
};

inline constexpr std::int64_t kSide = 10;
inline constexpr std::int64_t kLength = 8;
inline constexpr std::int64_t kWidth = 16;

inline ValueId cnn(Layers& net)
{
    ValueId x = net.input({1, 3, kSide, kSide});
    x = net.plain("Relu", "relu1", net.conv("conv1", x, 3, 12));
    x = net.plain("Relu", "relu2", net.conv("conv2", x, 12, 12));
    x = net.plain("MaxPool", "pool", x, {{"kernel_shape", Whole{2, 2}}, {"strides", Whole{2, 2}}});
    x = net.plain("Relu", "relu3", net.conv("conv3", x, 12, 16));
    x = net.plain("Flatten", "flat", net.plain("GlobalAveragePool", "mean", x));
    return net.dense("head", net.plain("Relu", "relu4", net.dense("fc1", x, 16, 24)), 24, 5);
}

inline ValueId residual(Layers& net)
{
    ValueId x = net.input({1, 3, kSide, kSide});
    x = net.plain("Relu", "stem/relu", net.norm("stem/bn", net.conv("stem/conv", x, 3, 12, false), 12));
    for (const char* block : {"block1", "block2"}) {
        const std::string name = block;
        ValueId y = net.norm(name + "/bn1", net.conv(name + "/conv1", x, 12, 12, false), 12);
        y = net.conv(name + "/conv2", net.plain("Relu", name + "/relu", y), 12, 12, false);
        x = net.plain("Relu", name + "/out", net.add(name + "/add", x, net.norm(name + "/bn2", y, 12)));
    }
    x = net.plain("Flatten", "flat", net.plain("GlobalAveragePool", "mean", x));
    return net.dense("head", x, 12, 5);
}

inline ValueId transformer(Layers& net)
{
    ValueId x = net.positions(net.input({1, kLength, kWidth}), {1, kLength, kWidth});
    for (const char* block : {"block1", "block2"}) {
        const std::string name = block;
        const ValueId y = net.rowNorm(name + "/ln1", x, kWidth);
        x = net.add(name + "/add1", x, net.attention(name + "/attention", y, kLength, kWidth));
        ValueId z = net.rows(name + "/up", net.rowNorm(name + "/ln2", x, kWidth), kWidth, 2 * kWidth);
        z = net.rows(name + "/down", net.plain("Relu", name + "/relu", z), 2 * kWidth, kWidth);
        x = net.add(name + "/add2", x, z);
    }
    x = net.plain("ReduceMean", "mean", net.rowNorm("ln", x, kWidth),
                  {{"axes", Whole{1}}, {"keepdims", std::int64_t{0}}});
    return net.dense("head", x, kWidth, 5);
}

inline ValueId mlp(Layers& net)
{
    ValueId x = net.input({1, 24});
    std::int64_t from = 24;
    for (const char* name : {"fc1", "fc2", "fc3"}) {
        x = net.plain("Tanh", std::string(name) + "/tanh", net.dense(name, x, from, 20));
        from = 20;
    }
    return net.dense("head", x, from, 5);
}

/// Segments a picture: a class per pixel, with a skip.
inline ValueId unet(Layers& net)
{
    const ValueId x = net.input({1, 3, kSide, kSide});
    const ValueId wide = net.relu("down/relu", net.norm("down/bn", net.conv("down/conv", x, 3, 12), 12));
    ValueId y = net.plain("MaxPool", "pool", wide, {{"kernel_shape", Whole{2, 2}}, {"strides", Whole{2, 2}}});
    y = net.relu("deep/relu", net.norm("deep/bn", net.conv("deep/conv", y, 12, 16), 16));
    y = net.both("Concat", "skip", net.up("up", y, 16, 12), wide, {{"axis", std::int64_t{1}}});
    y = net.relu("wide/relu", net.norm("wide/bn", net.conv("wide/conv", y, 24, 12), 12));
    return net.conv("head", y, 12, 4);
}

/// Boxes on a grid, of two resolutions that are added.
inline ValueId detector(Layers& net)
{
    const ValueId x = net.input({1, 3, kSide, kSide});
    const ValueId fine = net.relu("fine/relu", net.norm("fine/bn", net.conv("fine/conv", x, 3, 12, false), 12));
    ValueId y = net.plain("MaxPool", "pool", fine, {{"kernel_shape", Whole{2, 2}}, {"strides", Whole{2, 2}}});
    y = net.relu("coarse/relu", net.norm("coarse/bn", net.conv("coarse/conv", y, 12, 16, false), 16));
    y = net.add("merge", net.up("lateral", y, 16, 12), fine);
    return net.conv("boxes", net.relu("boxes/relu", net.conv("boxes/conv", y, 12, 16)), 16, 9);
}

/// The class of a series, by an LSTM.
inline ValueId sequence(Layers& net)
{
    const ValueId x = net.input({kLength, 1, 6});
    const ValueId y = net.recurrent("lstm", x, kLength, 6, 12);
    return net.dense("head", net.plain("Relu", "relu", net.dense("fc", y, 12, 16)), 16, 4);
}

/// The class of a series, by convolutions.
inline ValueId series(Layers& net)
{
    ValueId x = net.input({1, 4, 3 * kLength});
    x = net.relu("relu1", net.norm("bn1", net.convOfSeries("conv1", x, 4, 12), 12));
    x = net.relu("relu2", net.norm("bn2", net.convOfSeries("conv2", x, 12, 12), 12));
    x = net.relu("relu3", net.norm("bn3", net.convOfSeries("conv3", x, 12, 16), 16));
    x = net.plain("Flatten", "flat", net.plain("GlobalAveragePool", "mean", x));
    return net.dense("head", x, 16, 4);
}

/// The next word at each position of a text.
inline ValueId language(Layers& net)
{
    constexpr std::int64_t kWords = 20;
    ValueId x = net.positions(net.words("embedding", {1, kLength}, kWords, kWidth), {1, kLength, kWidth});
    for (const char* block : {"layer0", "layer1", "layer2"}) {
        const std::string name = block;
        x = net.add(name + "/add1", x,
                    net.attention(name + "/attention", net.rowNorm(name + "/ln1", x, kWidth), kLength, kWidth));
        ValueId z = net.rows(name + "/up", net.rowNorm(name + "/ln2", x, kWidth), kWidth, 2 * kWidth);
        z = net.rows(name + "/down", net.plain("Relu", name + "/relu", z), 2 * kWidth, kWidth);
        x = net.add(name + "/add2", x, z);
    }
    return net.rows("head", net.rowNorm("ln", x, kWidth), kWidth, kWords);
}

/// Of a row of a table, with gates.
inline ValueId gated(Layers& net)
{
    ValueId x = net.input({1, 24});
    for (const char* layer : {"first", "second"}) {
        const std::string name = layer;
        const std::int64_t from = name == "first" ? 24 : 20;
        const ValueId y = net.plain("Tanh", name + "/tanh", net.dense(name + "/value", x, from, 20));
        x = net.both("Mul", name + "/mul", y,
                     net.plain("Sigmoid", name + "/gate", net.dense(name + "/open", x, from, 20)));
    }
    return net.dense("head", x, 20, 5);
}

struct Network
{
    ValueId (*write)(Layers&);
    Shape input;
    std::int64_t words = 0; ///< how many there are; 0: the input is no text
};
inline const std::map<std::string, Network>& networks()
{
    static const std::map<std::string, Network> kNetworks{{"cnn", {cnn, {1, 3, kSide, kSide}}},
                                                          {"residual", {residual, {1, 3, kSide, kSide}}},
                                                          {"transformer", {transformer, {1, kLength, kWidth}}},
                                                          {"mlp", {mlp, {1, 24}}},
                                                          {"unet", {unet, {1, 3, kSide, kSide}}},
                                                          {"detector", {detector, {1, 3, kSide, kSide}}},
                                                          {"sequence", {sequence, {kLength, 1, 6}}},
                                                          {"series", {series, {1, 4, 3 * kLength}}},
                                                          {"language", {language, {1, kLength}, 20}},
                                                          {"gated", {gated, {1, 24}}}};
    return kNetworks;
}

/// Statistics of the healthy network are those of the one with the fault, as of a model that is spoilt later.
inline SharedGraph made(const Network& network, unsigned seed, const Fault& fault, const Tensor& input)
{
    Calibration calibration;
    while (true) {
        Layers healthy(seed * 1000, {}, calibration);
        const SharedGraph graph = healthy.finish(network.write(healthy));
        if (healthy.asked().empty()) {
            break;
        }
        const std::vector<Tensor> read = rewrite::testing::evaluate(graph, {input}, rewrite::testing::Precision::Float);
        calibration[healthy.asked()] = statisticsOfChannels(read.front());
    }
    Layers planted(seed * 1000, fault, calibration);
    return planted.finish(network.write(planted));
}

inline Tensor inputOf(const Network& network, unsigned seed)
{
    const Tensor drawn = randomTensor(network.input, seed + 77, -1.7, 1.7);
    if (network.words == 0) {
        return drawn;
    }
    Whole ids;
    for (std::int64_t i = 0; i < drawn.size(); ++i) {
        ids.push_back(static_cast<std::int64_t>((drawn.at(i) + 1.7) / 3.4 * static_cast<double>(network.words - 1)));
    }
    return Tensor::of<std::int64_t>(network.input, ids);
}

} // namespace retro::tests
