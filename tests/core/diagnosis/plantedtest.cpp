// SPDX-License-Identifier: Apache-2.0
// Small networks with random weights and calibrated normalisation, healthy and with one planted fault each: the first
// lines name node and cause of nearly all faults, and healthy networks raise no alarm.
#include "core/lrp/composite/ruleoverride.h"
#include "tests/core/diagnosis/plantednetworks.h"

#include <QtTest>

using namespace retro;
using namespace retro::tests;

namespace
{

/// A fault and what the first lines have to say of it: one of the names, and one of the words.
struct Plant
{
    std::string network;
    Fault fault;
    std::vector<std::string> names;
    std::vector<std::string> words;
};

/// The first draw.
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

/// Other networks, other places, and faults that are in the question or beside a reference.
std::vector<Plant> plantsElsewhere()
{
    const std::vector<std::string> outlier{"channel 1"};
    const std::vector<std::string> saturated{"saturated", "closed"};
    const std::vector<std::string> scale{"its scale"};
    return {
        {"unet", {"channel", "wide/conv"}, {"wide/conv"}, outlier},
        {"unet", {"nan", "up"}, {"up"}, {"NaN"}},
        {"unet", {"zero", "wide/conv"}, {"wide/conv"}, {"operand 0 of skip"}},
        {"unet", {"clip", "deep/relu"}, {"deep/relu"}, {"upper bound"}},
        {"unet", {"variance", "deep/bn"}, {"deep/bn"}, {"variance"}},
        {"unet", {"half", "up"}, {"up_half"}, {"become 0 in float16"}},
        {"unet", {"pad", "wide/conv"}, {"wide/conv_pad"}, {"it pads with 8"}},
        {"unet", {"stop", "deep/conv"}, {"deep/conv"}, {"stop"}},
        {"unet", {"dropout", "wide/conv"}, {"wide/conv_dropout"}, {"training mode"}},
        {"unet", {"element", "deep/conv"}, {"deep/conv"}, {"differs in 1 of"}},
        {"detector", {"channel", "boxes/conv"}, {"boxes/conv"}, outlier},
        {"detector", {"bias", "boxes/conv"}, {"boxes/conv"}, {"bias"}},
        {"detector", {"dead", "boxes/conv"}, {"boxes/conv", "boxes/relu"}, {"bias", "dead"}},
        {"detector", {"again", "merge"}, {"merge_again"}, {"a second time"}},
        {"detector", {"cancel", "merge"}, {"merge"}, {"cancel"}},
        {"detector", {"divide", "coarse/conv"}, {"coarse/conv_share"}, {"0/0"}},
        {"detector", {"quantised", "lateral"}, {"lateral_quantise"}, scale},
        {"detector", {"training", "fine/bn"}, {"fine/bn"}, {"training mode"}},
        {"detector", {"mirror", ""}, {"x"}, {"mirror", "flip"}},
        {"sequence", {"input", "lstm"}, {"lstm"}, {"input gate"}},
        {"sequence", {"output", "lstm"}, {"lstm"}, {"output gate"}},
        {"sequence", {"forget", "lstm"}, {"lstm"}, {"forget gate"}},
        {"sequence", {"nan", "lstm"}, {"lstm"}, {"NaN"}},
        {"sequence", {"bias", "fc"}, {"fc"}, {"bias"}},
        {"sequence", {"element", "lstm"}, {"lstm"}, {"differs in 1 of"}},
        {"series", {"channel", "conv2"}, {"conv2"}, outlier},
        {"series", {"variance", "bn2"}, {"bn2"}, {"variance"}},
        {"series", {"clip", "relu3"}, {"relu3"}, {"upper bound"}},
        {"series", {"root", "conv2"}, {"conv2_root"}, {"root of a negative"}},
        {"series", {"stop", "conv3"}, {"conv3"}, {"stop"}},
        {"series", {"axes", ""}, {"x"}, {"its axes in the order"}},
        {"language", {"channel", "layer1/down"}, {"layer1/down"}, outlier},
        {"language", {"leak", "layer1/attention"}, {"layer1/attention"}, {"mask"}},
        {"language", {"epsilon", "layer1/ln1"}, {"layer1/ln1"}, {"epsilon"}},
        {"language", {"scale", "layer0/ln2"}, {"layer0/ln2"}, {"its scale"}},
        {"language", {"zero", "layer2/up"}, {"layer2/up"}, {"exactly 0"}},
        {"language", {"position", "positions"}, {"positions"}, {"constant"}},
        {"language", {"huge", "layer0/down"}, {"layer0/down_half"}, {"infinite in float16"}},
        {"language", {"dead", "layer2/up"}, {"layer2/up", "layer2/relu"}, {"bias", "dead"}},
        {"gated", {"scale", "first/open"}, {"first/gate", "first/open"}, saturated},
        {"gated", {"scale", "second/value"}, {"second/tanh", "second/value"}, saturated},
        {"gated", {"bias", "first/open"}, {"first/gate", "first/open"}, {"saturated", "bias"}},
        {"gated", {"quantised", "second/open"}, {"second/open_quantise"}, scale},
        {"cnn", {"alpha", "conv2"}, {"conv2"}, {"alpha"}},
        {"residual", {"box", "stem/conv"}, {"stem/conv"}, {"bounds"}},
        {"transformer", {"unused", "/no/such/node"}, {"/no/such/node"}, {"matches no"}},
    };
}

/// From right to left.
Tensor mirrored(const Tensor& x)
{
    const std::int64_t width = x.shape().back();
    std::vector<float> numbers;
    for (std::int64_t i = 0; i < x.size(); ++i) {
        numbers.push_back(static_cast<float>(x.at(i / width * width + width - 1 - i % width)));
    }
    return floats(x.shape(), numbers);
}

/// What is asked of a network with the fault: some faults are in the question.
Asked askedOf(const SharedGraph& graph, const Fault& fault, const Tensor& input)
{
    static const std::map<std::string, std::string> kRules{
        {"stop", "=stop"}, {"alpha", "=alpha-beta:alpha=3,beta=1"}, {"unused", "=gamma"}};
    Asked asked{{input}, "auto", "argmax"};
    if (const auto rule = kRules.find(fault.kind); rule != kRules.end()) {
        lrp::Specification rules = lrp::splitSpecification("auto");
        rules.overrides = {"name:" + fault.node + rule->second};
        asked.composite = lrp::joinSpecification(rules);
    } else if (fault.kind == "box") {
        asked.composite = "epsilon_gamma_box:low=0,high=255";
    } else if (fault.kind == "axes") {
        asked.inputs = {input.permuted(Whole{0, 2, 1}).contiguous()};
    } else if (fault.kind == "mirror") {
        asked.inputs = {mirrored(input)};
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

/// Nothing in one model and one input shows it.
bool isBesideReference(const Fault& fault)
{
    return fault.kind == "element" || fault.kind == "again" || fault.kind == "mirror";
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
    void firstLinesNameNodeAndCauseOfNearlyAll_data()
    {
        QTest::addColumn<bool>("isElsewhere");
        QTest::newRow("first draw") << false;
        QTest::newRow("elsewhere") << true;
    }

    void firstLinesNameNodeAndCauseOfNearlyAll()
    {
        QFETCH(const bool, isElsewhere);
        constexpr double kLeastShare = 0.9;
        const std::vector<Plant> all = isElsewhere ? plantsElsewhere() : plants();
        double found = 0;
        unsigned seed = 0;
        for (const Plant& plant : all) {
            const Network& network = networks().at(plant.network);
            seed = seed % 3 + 1;
            const Tensor input = inputOf(network, seed);
            const SharedGraph graph = made(network, seed, plant.fault, input);
            QVERIFY(graph != nullptr);
            const auto facts = factsFor(graph, askedOf(graph, plant.fault, input));
            if (isBesideReference(plant.fault)) {
                facts->setReference(factsFor(made(network, seed, {}, input), {{input}, "auto", "argmax"}));
            }
            const std::string text = firstLines(diagnosed(*facts));
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
        for (const auto& [name, network] : networks()) {
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
