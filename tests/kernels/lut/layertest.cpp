// SPDX-License-Identifier: Apache-2.0
// What is refused, and with which words, before anything is launched.
#include <QtTest>

#include "kernels/lut/relevance.h"
#include "tests/kernels/lut/samplelayer.h"

#include <functional>

using namespace retro::lut;
using namespace retro::luttest;

namespace
{

using Sample = SampleLayer<float>;

struct Refusal
{
    const char* name;
    std::function<void(LayerDescription<float>&)> spoil;
    StatusCode code;
    const char* words;
};

const Anchor kBeyond[]{{0, 9}, {1, 0}};
const Anchor kItself[]{{1, 1}, {1, 0}};
const Anchor kHalf[]{{0, kUnusedAnchor}, {1, 0}};

const std::vector<Refusal> kRefusals{
    {"C 0", [](auto& d) { d.shape.comparisons = 0; }, StatusCode::BadShape, "C is 0; it must be 1 to 16"},
    {"C 17", [](auto& d) { d.shape.comparisons = 17; }, StatusCode::BadShape, "C is 17"},
    {"P without positions", [](auto& d) { d.shape.codeBits = 1; }, StatusCode::BadShape, "P is 1; it must be 0 to 0"},
    {"S 1 of a sequence", [](auto& d) { d.shape.isSequence = true; }, StatusCode::BadShape, "S is 1; it must be 2"},
    {"S 2 of no sequence", [](auto& d) { d.shape.length = 2; }, StatusCode::BadShape, "S is 2; it must be 1 to 1"},
    {"2 C + P beyond 24",
     [](auto& d) {
         d.shape.isSequence = true;
         d.shape.length = 2;
         d.shape.comparisons = 10;
         d.shape.codeBits = 5;
     },
     StatusCode::BadShape, "2 C + P is 25 bits"},
    {"I 1", [](auto& d) { d.shape.inputs = 1; }, StatusCode::BadShape, "I is 1; it must be 2"},
    {"O 0", [](auto& d) { d.shape.outputs = 0; }, StatusCode::BadShape, "O is 0"},
    {"T 0", [](auto& d) { d.shape.tables = 0; }, StatusCode::BadShape, "T is 0"},
    {"group 0", [](auto& d) { d.forwardGroup = 0; }, StatusCode::BadShape, "group size is 0"},
    {"too many rows",
     [](auto& d) {
         d.shape.tables = 0x7FFFFFFF;
         d.shape.comparisons = 16;
     },
     StatusCode::TooLarge, "at most 2^32"},
    {"weights overflow",
     [](auto& d) {
         d.shape.tables = 65'536;
         d.shape.comparisons = 16;
         d.shape.outputs = 0x7FFFFFFF;
     },
     StatusCode::TooLarge, "overflow a 64-bit size"},
    {"anchors missing", [](auto& d) { d.anchors = d.anchors.first(1); }, StatusCode::BadSize,
     "has 1 elements where the shape needs 2"},
    {"anchor beyond", [](auto& d) { d.anchors = kBeyond; }, StatusCode::BadAnchor,
     "pair 0 of detector 0, (0, 9) of 3 inputs"},
    {"anchor with itself", [](auto& d) { d.anchors = kItself; }, StatusCode::BadAnchor,
     "compares an input with itself"},
    {"anchor half unused", [](auto& d) { d.anchors = kHalf; }, StatusCode::BadAnchor, "half unused"},
    {"weights missing", [](auto& d) { d.weights = d.weights.first(7); }, StatusCode::BadSize,
     "has 7 elements where the shape needs 8"},
    {"codes too many", [](auto& d) { d.codes = d.weights; }, StatusCode::BadSize, "positional codes"},
};

Sample smallSample()
{
    Sample sample({3, 2, 1, 2, 0, 1, false}, false, 2, 1);
    sample.anchors = {{0, 1}, {1, 2}};
    return sample;
}

QString textOf(const Status& status) { return QString::fromStdString(status.message); }

} // namespace

class LutLayerTest : public QObject
{
    Q_OBJECT

private slots:
    void badLayersAreRefused_data()
    {
        QTest::addColumn<int>("which");
        for (std::size_t i = 0; i < kRefusals.size(); ++i) {
            QTest::newRow(kRefusals[i].name) << static_cast<int>(i);
        }
    }

    void badLayersAreRefused()
    {
        QFETCH(int, which);
        const Refusal& refusal = kRefusals[static_cast<std::size_t>(which)];
        const Sample sample = smallSample();
        LayerDescription<float> description = sample.description();
        std::optional<Layer<float>> layer;
        QVERIFY(Layer<float>::create(description, layer).ok());
        layer.reset();
        refusal.spoil(description);
        const Status status = Layer<float>::create(description, layer);
        QCOMPARE(static_cast<int>(status.code), static_cast<int>(refusal.code));
        QVERIFY2(textOf(status).contains(QLatin1String(refusal.words)), qPrintable(textOf(status)));
        QVERIFY(!layer);
    }

    void badConnectivityIsRefused_data()
    {
        QTest::addColumn<QList<quint64>>("starts");
        QTest::addColumn<int>("column");
        QTest::addColumn<QString>("words");
        QTest::newRow("short") << QList<quint64>{0, 1, 2, 3} << 0
                               << "row starts has 4 elements where the shape needs 5";
        QTest::newRow("descends") << QList<quint64>{0, 2, 1, 3, 3} << 0 << "descend at row 2";
        QTest::newRow("begins late") << QList<quint64>{1, 1, 2, 3, 3} << 0 << "run from 1 to 3";
        QTest::newRow("ends early") << QList<quint64>{0, 1, 2, 2, 2} << 0 << "run from 0 to 2";
        QTest::newRow("beyond the outputs") << QList<quint64>{0, 0, 1, 2, 3} << 2 << "goes to output 2 of 2";
    }

    void badConnectivityIsRefused()
    {
        QFETCH(QList<quint64>, starts);
        QFETCH(int, column);
        QFETCH(QString, words);
        Sample sample = smallSample();
        sample.isSparse = true;
        sample.weights = {1, 2, 3};
        sample.columns = {1, static_cast<std::uint32_t>(column), 1};
        sample.rowStarts.assign(starts.begin(), starts.end());
        std::optional<Layer<float>> layer;
        const Status status = Layer<float>::create(sample.description(), layer);
        QVERIFY2(textOf(status).contains(words), qPrintable(textOf(status)));
    }

    void groupsOfSparseRowsAreCounted()
    {
        Sample sample = smallSample();
        sample.isSparse = true;
        sample.shape.outputs = 8;
        sample.weights.assign(7, 1.0F);
        sample.columns = {0, 1, 2, 3, 4, 5, 6};
        sample.rowStarts = {0, 0, 1, 1, 7};
        const Layer<float> layer = layerOf(sample.description());
        QCOMPARE(layer.maxForwardGroups(), std::uint64_t{2}); // six synapses, three to a group
        QCOMPARE(layer.groupCount(), std::uint64_t{3});
    }

    void callsThatDoNotFitAreRefused()
    {
        const Sample sample = smallSample();
        const Layer<float> layer = layerOf(sample.description());
        std::vector<float> output(4, 7.0F);
        const std::vector<float> untouched = output;
        const std::span<const float> input(sample.input);
        QVERIFY(textOf(forward<float>(layer, {2, input.first(5), output, nullptr})).contains("Input has 5 elements"));
        QVERIFY(textOf(forward<float>(layer, {2, input, std::span(output).first(3), nullptr}))
                    .contains("Output has 3 elements"));
        QVERIFY(textOf(forward<float>(layer, {std::uint64_t{1} << 61, input, output, nullptr})).contains("overflows"));
        QVERIFY(output == untouched);
        QVERIFY(textOf(backward<float>(layer, {2, nullptr, output, {}, {}, {}})).contains("needs the tape"));
        Tape<float> tape;
        QVERIFY(forward<float>(layer, {2, input, output, &tape}).ok());
        QVERIFY(textOf(backward<float>(layer, {1, &tape, output, {}, {}, {}})).contains("the same batch"));
        std::vector<float> weights(3);
        QVERIFY(textOf(backward<float>(layer, {2, &tape, output, {}, weights, {}})).contains("Weight Gradients has 3"));
        RelevanceCall<float> call;
        QVERIFY(textOf(relevance(layer, call)).contains("needs the tape"));
        call.batch = 2;
        call.tape = &tape;
        call.input = input;
        call.output = output;
        call.outputRelevance = std::span<const float>(output).first(3);
        QVERIFY(textOf(relevance(layer, call)).contains("relevance of the output has 3"));
    }

    void denseScratchBeyondTheLimitIsRefusedWithItsSize()
    {
        const SampleLayer<float> sample({4, 3, 2, 2, 1, 33, true}, false, 2, 1);
        const Layer<float> layer = layerOf(sample.description());
        std::vector<float> output(2 * 33 * 3, 5.0F);
        RunOptions<float> options;
        options.path = Path::Documented;
        // [2, 33, 2, 32] numbers, and 16 bytes for each of 2 · 2 · 528 main and twice as many alternative events.
        constexpr std::uint64_t kNeeded = 2 * 33 * 2 * 32 * 4 + 3 * 16 * 2 * 2 * 528;
        options.scratchLimit = kNeeded - 1;
        const Status status = forward<float>(layer, {2, sample.input, output, nullptr}, options);
        QCOMPARE(static_cast<int>(status.code), static_cast<int>(StatusCode::TooLarge));
        QVERIFY2(textOf(status).contains(QString::number(kNeeded)), qPrintable(textOf(status)));
        QVERIFY(std::all_of(output.begin(), output.end(), [](float y) { return y == 5.0F; }));
        options.scratchLimit = kNeeded;
        QVERIFY(forward<float>(layer, {2, sample.input, output, nullptr}, options).ok());
        options.path = Path::Fused;
        options.scratchLimit = 0;
        QVERIFY(forward<float>(layer, {2, sample.input, output, nullptr}, options).ok());
    }

    void backEndsSayWhetherTheyCanRun()
    {
        QVERIFY(availability(Backend::Cpu).ok());
        const Status cuda = availability(Backend::Cuda);
        QVERIFY(cuda.ok() || (cuda.code == StatusCode::Unavailable && textOf(cuda).contains("CUDA")));
    }
};

QTEST_GUILESS_MAIN(LutLayerTest)
#include "layertest.moc"
