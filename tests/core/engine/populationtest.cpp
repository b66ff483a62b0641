// SPDX-License-Identifier: Apache-2.0
// A folder of inputs: what a model says of them, and what its values are over them.
#include <QtTest>

#include "tests/core/diagnosis/diagnosed.h"

#include "core/engine/alternatives.h"
#include "core/engine/population.h"
#include "core/tensor/npy.h"

#include <QTemporaryDir>

#include <cmath>
#include <map>
#include <numeric>

using namespace retro;
using namespace retro::tests;

namespace
{

using diagnosis::Watched;
using diagnosis::WatchedAs;

constexpr std::int64_t kCount = 12;
constexpr std::int64_t kChannels = 4;

/// x (4 channels) → three convolutions of one point and Relu → mean → scores, and the same scores turned round.
SharedGraph network()
{
    Writer writer;
    ValueId x = writer.input("x", {1, kChannels, 2, 2});
    for (unsigned i = 0; i < 3; ++i) {
        const std::string name = "conv" + std::to_string(i);
        const ValueId w = writer.constant(name + ".w", randomTensor({kChannels, kChannels, 1, 1}, i + 1));
        const ValueId b = writer.constant(name + ".b", randomTensor({kChannels}, i + 11));
        x = writer.node("Relu", "relu" + std::to_string(i), {writer.node("Conv", name, {x, w, b})});
    }
    const ValueId flat = writer.node("Flatten", "flat", {writer.node("GlobalAveragePool", "pool", {x})});
    const ValueId scores = writer.node("MatMul", "scores", {flat, writer.constant("head", randomTensor({4, 4}, 21))});
    writer.output(scores);
    writer.output(writer.node("Neg", "turned", {scores}));
    return writer.finish();
}

engine::LabelledInputs inputsIn(const QTemporaryDir& folder)
{
    engine::LabelledInputs inputs;
    for (std::int64_t i = 0; i < kCount; ++i) {
        const std::string file = folder.filePath(QString::number(i) + ".npy").toStdString();
        if (!tensor::writeNpy(file, randomTensor({1, kChannels, 2, 2}, static_cast<unsigned>(100 + i))).ok()) {
            qFatal("no file");
        }
        inputs.items.push_back({std::to_string(i), {file}, file});
    }
    return inputs;
}

const Watched& watchedAs(const diagnosis::Population& all, WatchedAs as, std::size_t index)
{
    for (const Watched& one : all.watched) {
        if (one.as == as && index-- == 0) {
            return one;
        }
    }
    qFatal("it is not watched");
}

} // namespace

class PopulationTest : public QObject
{
    Q_OBJECT

private slots:
    /// An array may be in another unit or direction.
    void arraysHaveOtherWays()
    {
        const QTemporaryDir folder;
        Writer writer;
        const ValueId x = writer.input("x", {1, 40});
        writer.output(writer.node("MatMul", "scores", {x, writer.constant("w", randomTensor({40, 3}, 2))}));
        const auto model = loaded(writer.finish());
        engine::Question asked;
        std::vector<std::size_t> pictures;
        const auto items = inputsIn(folder).items;
        RETRO_MADE(ways, engine::alternativesFor(*model, items, true, asked, pictures));
        std::vector<float> numbers(40);
        std::iota(numbers.begin(), numbers.end(), 0.0F);
        std::map<std::string, double> third; // by way: what its number 3 becomes
        for (const engine::OtherWay& way : *ways) {
            std::vector<Tensor> inputs{floats({1, 40}, numbers)};
            way.change(inputs);
            third[way.words] = inputs.front().at(3);
        }
        QCOMPARE(third.size(), std::size_t{8});
        QCOMPARE(third["every second step of \"x\" alone"], 6.0);
        QCOMPARE(third["\"x\" with a step between each two"], 1.5);
        QCOMPARE(third["the steps of \"x\" in the other direction"], 36.0);
        QCOMPARE(third["the numbers of \"x\" times 255"], 765.0);
        QVERIFY(std::abs(third["each \"x\" given mean 0 and deviation 1"] + 16.5 / std::sqrt(1599.0 / 12)) < 1e-5);
        RETRO_MADE(unlabelled, engine::alternativesFor(*model, items, false, asked, pictures));
        QVERIFY((*unlabelled).empty()); // a wider scale makes any answer sharper
    }

    /// One of a stack that changes the answer is tried on every input of the folder.
    void aReplacementIsTriedOnTheFolder()
    {
        const QTemporaryDir folder;
        Writer writer;
        ValueId x = writer.input("x", {1, kChannels, 2, 2});
        for (unsigned i = 0; i < 4; ++i) {
            const std::string name = "/blocks." + std::to_string(i);
            const ValueId w = writer.constant(name + ".w", randomTensor({kChannels, kChannels, 1, 1}, i + 1));
            x = writer.node("LeakyRelu", name + "/act", {writer.node("Conv", name + "/conv", {x, w})},
                            {{"alpha", i == 2 ? -3.0 : 0.1}});
        }
        const ValueId flat = writer.node("Flatten", "flat", {writer.node("GlobalAveragePool", "pool", {x})});
        writer.output(writer.node("MatMul", "scores", {flat, writer.constant("head", randomTensor({4, 4}, 21))}));
        const auto model = loaded(writer.finish());
        RETRO_MADE(all, engine::populationOf(model, engine::Question(), inputsIn(folder)));
        QCOMPARE((*all)->inputs.size(), static_cast<std::size_t>(kCount));
        Asked asked{{(*all)->inputs.front().front()}};
        const auto facts = engine::factsOf(model, asked.request(), {}, *all);
        const std::string text = firstText(diagnosed(*facts, "model.odd-one"));
        QVERIFY2(text.find(" of 12 inputs get another class") != std::string::npos, text.c_str());
    }

    void valuesAreWatchedOverAllInputs()
    {
        const QTemporaryDir folder;
        const auto model = loaded(network());
        RETRO_MADE(all, engine::populationOf(model, engine::Question(), inputsIn(folder)));
        QCOMPARE((*all)->asGiven.best.size(), static_cast<std::size_t>(kCount));
        QCOMPARE((*all)->asGiven.confidence.size(), static_cast<std::size_t>(kCount));
        QCOMPARE((*all)->watched.size(), std::size_t{6}); // three layers with a bias, three rectifiers
        // The first layer by hand.
        const Watched& layer = watchedAs(**all, WatchedAs::Linear, 0);
        QCOMPARE(layer.node, std::string("conv0"));
        const Tensor weight = randomTensor({kChannels, kChannels, 1, 1}, 1);
        const Tensor bias = randomTensor({kChannels}, 11);
        for (std::int64_t channel = 0; channel < kChannels; ++channel) {
            double sum = 0;
            std::int64_t fired = 0;
            for (std::int64_t i = 0; i < kCount; ++i) {
                const Tensor input = randomTensor({1, kChannels, 2, 2}, static_cast<unsigned>(100 + i));
                for (std::int64_t place = 0; place < 4; ++place) {
                    double value = bias.at(channel);
                    for (std::int64_t k = 0; k < kChannels; ++k) {
                        value += weight.at(channel * kChannels + k) * input.at(k * 4 + place);
                    }
                    sum += value;
                    fired += value > 0 ? 1 : 0;
                }
            }
            const auto at = static_cast<std::size_t>(channel);
            QVERIFY(std::abs(layer.channels[at].mean() - sum / (4 * kCount)) < 1e-6);
            QCOMPARE(watchedAs(**all, WatchedAs::Rectified, 0).channels[at].fired, fired);
        }
    }

    void anOutputLikeTheTargetIsAskedToo()
    {
        const QTemporaryDir folder;
        RETRO_MADE(all, engine::populationOf(loaded(network()), engine::Question(), inputsIn(folder)));
        QCOMPARE((*all)->otherwise.size(), std::size_t{1});
        QCOMPARE((*all)->otherwise.front().output, std::string("turned_out"));
        QCOMPARE((*all)->otherwise.front().option, std::string("--target turned_out"));
    }
};

QTEST_APPLESS_MAIN(PopulationTest)
#include "populationtest.moc"
