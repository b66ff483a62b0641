// SPDX-License-Identifier: Apache-2.0
// Small networks with random weights and calibrated normalisation, healthy and with one planted fault each: the first
// lines name node and cause of nearly all faults, and healthy networks raise no alarm.
#include "core/lrp/composite/ruleoverride.h"
#include "tests/core/diagnosis/diagnosed.h"

#include <QtTest>

#include <cmath>
#include <functional>
#include <limits>
#include <map>

using namespace retro;
using namespace retro::tests;

namespace
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

ChannelStatistics statisticsOfChannels(const Tensor& x)
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
        return m_writer.node("LayerNormalization", name,
                             {x, m_writer.constant(name + ".scale", drawn({width}, 0.8, 1.2)),
                              m_writer.constant(name + ".shift", drawn({width}, -0.1, 0.1))},
                             {{"axis", std::int64_t{-1}}, {"epsilon", isPlanted("epsilon", name) ? 100.0 : 1e-5}});
    }

    ValueId add(const std::string& name, ValueId a, ValueId b)
    {
        return m_writer.node("Add", name, {a, isPlanted("cancel", name) ? scaled("against", a, -0.99999F) : b});
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

constexpr std::int64_t kSide = 10;
constexpr std::int64_t kLength = 8;
constexpr std::int64_t kWidth = 16;

ValueId cnn(Layers& net)
{
    ValueId x = net.input({1, 3, kSide, kSide});
    x = net.plain("Relu", "relu1", net.conv("conv1", x, 3, 12));
    x = net.plain("Relu", "relu2", net.conv("conv2", x, 12, 12));
    x = net.plain("MaxPool", "pool", x, {{"kernel_shape", Whole{2, 2}}, {"strides", Whole{2, 2}}});
    x = net.plain("Relu", "relu3", net.conv("conv3", x, 12, 16));
    x = net.plain("Flatten", "flat", net.plain("GlobalAveragePool", "mean", x));
    return net.dense("head", net.plain("Relu", "relu4", net.dense("fc1", x, 16, 24)), 24, 5);
}

ValueId residual(Layers& net)
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

ValueId transformer(Layers& net)
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

ValueId mlp(Layers& net)
{
    ValueId x = net.input({1, 24});
    std::int64_t from = 24;
    for (const char* name : {"fc1", "fc2", "fc3"}) {
        x = net.plain("Tanh", std::string(name) + "/tanh", net.dense(name, x, from, 20));
        from = 20;
    }
    return net.dense("head", x, from, 5);
}

struct Network
{
    ValueId (*write)(Layers&);
    Shape input;
};
const std::map<std::string, Network> kNetworks{{"cnn", {cnn, {1, 3, kSide, kSide}}},
                                               {"residual", {residual, {1, 3, kSide, kSide}}},
                                               {"transformer", {transformer, {1, kLength, kWidth}}},
                                               {"mlp", {mlp, {1, 24}}}};

/// Statistics of the healthy network are those of the one with the fault, as of a model that is spoilt later.
SharedGraph made(const Network& network, unsigned seed, const Fault& fault, const Tensor& input)
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

Tensor inputOf(const Network& network, unsigned seed) { return randomTensor(network.input, seed + 77, -1.7, 1.7); }

/// A fault and what the first lines have to say of it: one of the names, and one of the words.
struct Plant
{
    std::string network;
    Fault fault;
    std::vector<std::string> names;
    std::vector<std::string> words;
};

std::vector<Plant> plants()
{
    const std::vector<std::string> bias{"bias"};
    const std::vector<std::string> nan{"NaN"};
    const std::vector<std::string> zero{"exactly 0"};
    const std::vector<std::string> outlier{"channel 1"};
    const std::vector<std::string> half{"become 0 in float16"};
    const std::vector<std::string> scale{"its scale"};
    return {
        {"cnn", {"channel", "conv1"}, {"conv1"}, outlier},
        {"cnn", {"channel", "fc1"}, {"fc1"}, outlier},
        {"cnn", {"nan", "conv2"}, {"conv2"}, nan},
        {"cnn", {"bias", "conv2"}, {"conv2"}, bias},
        {"cnn", {"bias", "conv3"}, {"conv3"}, bias},
        {"cnn", {"dead", "conv1"}, {"conv1"}, bias},
        {"cnn", {"dead", "fc1"}, {"fc1"}, bias},
        {"cnn", {"zero", "conv3"}, {"conv3"}, zero},
        {"cnn", {"pad", "conv2"}, {"conv2_pad"}, {"it pads with 8"}},
        {"cnn", {"half", "conv3"}, {"conv3_half"}, half},
        {"cnn", {"quantised", "conv2"}, {"conv2_quantise"}, scale},
        {"cnn", {"cut", "cut"}, {"cut"}, {"by 0"}},
        {"cnn", {"stop", "conv2"}, {"conv2"}, {"stop"}},
        {"cnn", {"target", ""}, {"head"}, {"is not the best class"}},
        {"residual", {"channel", "block1/conv1"}, {"block1/conv1"}, outlier},
        {"residual", {"nan", "block2/conv2"}, {"block2/conv2"}, nan},
        {"residual", {"variance", "block1/bn1"}, {"block1/bn1"}, {"variance"}},
        {"residual", {"variance", "stem/bn"}, {"stem/bn"}, {"variance"}},
        {"residual", {"training", "block2/bn2"}, {"block2/bn2"}, {"training mode"}},
        {"residual", {"zero", "block2/conv1"}, {"block2/conv1"}, zero},
        {"residual", {"cancel", "block1/add"}, {"block1/add"}, {"cancel"}},
        {"residual", {"half", "block1/conv2"}, {"block1/conv2_half"}, half},
        {"residual", {"stop", "block1/conv2"}, {"block1/conv2"}, {"stop"}},
        {"residual", {"pad", "block2/conv1"}, {"block2/conv1_pad"}, {"it pads with 8"}},
        {"transformer", {"channel", "block1/attention/v"}, {"block1/attention/v"}, outlier},
        {"transformer", {"channel", "block2/up"}, {"block2/up"}, outlier},
        {"transformer", {"nan", "block2/down"}, {"block2/down"}, nan},
        {"transformer", {"position", "positions"}, {"positions"}, {"constant"}},
        {"transformer", {"epsilon", "block1/ln2"}, {"block1/ln2"}, {"epsilon"}},
        {"transformer", {"leak", "block2/attention"}, {"block2/attention"}, {"mask"}},
        {"transformer", {"zero", "block1/up"}, {"block1/up"}, zero},
        {"transformer", {"dead", "block1/up"}, {"block1/up", "block1/relu"}, {"dead"}},
        {"transformer", {"half", "block1/attention/out"}, {"block1/attention/out_half"}, half},
        {"mlp", {"channel", "fc2"}, {"fc2"}, outlier},
        {"mlp", {"nan", "fc3"}, {"fc3"}, nan},
        {"mlp", {"scale", "fc1"}, {"fc1/tanh"}, {"saturated"}},
        {"mlp", {"scale", "fc3"}, {"fc3/tanh"}, {"saturated"}},
        {"mlp", {"bias", "fc2"}, {"fc2"}, bias},
        {"mlp", {"zero", "fc2"}, {"fc2"}, zero},
        {"mlp", {"quantised", "fc2"}, {"fc2_quantise"}, scale},
    };
}

/// What is asked of a network with the fault: some faults are in the question.
Asked askedOf(const SharedGraph& graph, const Fault& fault, const Tensor& input)
{
    Asked asked{{input}, "auto", "argmax"};
    if (fault.kind == "stop") {
        lrp::Specification rules = lrp::splitSpecification("auto");
        rules.overrides = {"name:" + fault.node + "=stop"};
        asked.composite = lrp::joinSpecification(rules);
    } else if (fault.kind == "target") {
        const Tensor scores = rewrite::testing::evaluate(graph, {input}, rewrite::testing::Precision::Float).front();
        std::int64_t worst = 0;
        for (std::int64_t i = 1; i < scores.size(); ++i) {
            worst = scores.at(i) < scores.at(worst) ? i : worst;
        }
        asked.target = std::to_string(worst);
    }
    return asked;
}

/// The first lines that a person reads.
std::string firstLines(const Diagnosis& diagnosis)
{
    constexpr std::size_t kFirst = 6;
    std::vector<std::string> lines = diagnosis::textOf(diagnosis);
    lines.resize(std::min(kFirst, lines.size()));
    std::string text;
    for (const std::string& line : lines) {
        text += line + "\n";
    }
    return text;
}

bool namesOne(const std::string& text, const std::vector<std::string>& some)
{
    return std::ranges::any_of(some, [&text](const std::string& one) { return text.find(one) != std::string::npos; });
}

} // namespace

class PlantedTest : public QObject
{
    Q_OBJECT

private slots:
    void firstLinesNameNodeAndCauseOfNearlyAll()
    {
        constexpr double kLeastShare = 0.9;
        const std::vector<Plant> all = plants();
        double found = 0;
        unsigned seed = 0;
        for (const Plant& plant : all) {
            const Network& network = kNetworks.at(plant.network);
            seed = seed % 3 + 1;
            const Tensor input = inputOf(network, seed);
            const SharedGraph graph = made(network, seed, plant.fault, input);
            QVERIFY(graph != nullptr);
            const std::string text = firstLines(diagnosed(graph, askedOf(graph, plant.fault, input)));
            const bool isNamed = namesOne(text, plant.names) && namesOne(text, plant.words);
            found += isNamed ? 1 : 0;
            if (!isNamed) {
                qWarning("%s, %s at %s:\n%s", plant.network.c_str(), plant.fault.kind.c_str(), plant.fault.node.c_str(),
                         text.c_str());
            }
        }
        QVERIFY2(found >= kLeastShare * static_cast<double>(all.size()),
                 std::to_string(found / static_cast<double>(all.size())).c_str());
    }

    void healthyNetworksRaiseAtMostOneAlarm()
    {
        std::size_t alarms = 0;
        for (const auto& [name, network] : kNetworks) {
            for (const unsigned seed : {1U, 2U, 3U, 4U}) {
                const Tensor input = inputOf(network, seed);
                const SharedGraph graph = made(network, seed, {}, input);
                const Diagnosis found = diagnosed(graph, {{input}, "auto", "argmax"});
                QVERIFY(!found.failure);
                for (const Finding& finding : found.findings) {
                    alarms += finding.level != Level::Note ? 1 : 0;
                    if (finding.level != Level::Note) {
                        qWarning("%s %u: %s", name.c_str(), seed, finding.line().c_str());
                    }
                }
            }
        }
        QVERIFY(alarms <= 1);
    }
};

QTEST_GUILESS_MAIN(PlantedTest)
#include "plantedtest.moc"
