// SPDX-License-Identifier: Apache-2.0
// Relevance through a layer is conserved: what arrives at inputs, codes and nowhere is what the tables have, and that
// is what came in but for the share of epsilon.
#include <QtTest>

#include "kernels/lut/relevance.h"
#include "tests/kernels/lut/samplelayer.h"

#include <cmath>
#include <numeric>

using namespace retro::lut;
using namespace retro::luttest;

namespace
{

struct Shares
{
    std::vector<double> inputs;
    std::vector<double> codes;
    std::vector<double> tables;
    std::vector<double> bits;
    std::vector<double> pairs;
    std::vector<double> unplaced;
    double expected = 0; ///< Σ R y / (y ± ε)
};

double sumOf(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

Shares sharesOf(const SampleLayer<double>& sample, TableRule rule, int threads = 2)
{
    const LayerShape& shape = sample.shape;
    std::optional<Layer<double>> layer;
    Shares shares;
    if (!Layer<double>::create(sample.description(), layer).ok()) {
        return shares;
    }
    const std::uint64_t positions = sample.batch * shape.length;
    std::vector<double> output(positions * shape.outputs);
    Tape<double> tape;
    if (!forward<double>(*layer, {sample.batch, sample.input, output, &tape}).ok()) {
        return shares;
    }
    shares.inputs.resize(positions * shape.inputs);
    shares.codes.resize(sample.codes.size());
    shares.tables.resize(sample.batch * shape.tables);
    shares.bits.resize(sample.batch * shape.tables * shape.rowBits());
    shares.pairs.resize(positions * shape.length);
    shares.unplaced.resize(sample.batch);
    RelevanceCall<double> call;
    call.batch = sample.batch;
    call.tape = &tape;
    call.input = sample.input;
    call.output = output;
    call.outputRelevance = sample.outputGradients;
    call.rule = rule;
    call.inputRelevance = shares.inputs;
    call.codeRelevance = shares.codes;
    call.tableRelevance = shares.tables;
    call.bitRelevance = shares.bits;
    call.pairMap = shares.pairs;
    call.unplaced = shares.unplaced;
    if (!relevance(*layer, call, threads).ok()) {
        return {};
    }
    for (std::size_t i = 0; i < output.size(); ++i) {
        shares.expected += sample.outputGradients[i] * output[i] / (output[i] + (output[i] < 0 ? -1e-6 : 1e-6));
    }
    return shares;
}

} // namespace

class LutRelevanceTest : public QObject
{
    Q_OBJECT

private slots:
    void relevanceIsConserved_data()
    {
        QTest::addColumn<int>("length");
        QTest::addColumn<bool>("sparse");
        QTest::addColumn<int>("rule");
        for (const int length : {1, 2, 5, 33}) {
            for (const bool sparse : {false, true}) {
                for (const TableRule rule :
                     {TableRule::FlipContrast, TableRule::WeakestBit, TableRule::SignedFlip, TableRule::Shapley}) {
                    QTest::addRow("S %d %s rule %d", length, sparse ? "sparse" : "full", static_cast<int>(rule))
                        << length << sparse << static_cast<int>(rule);
                }
            }
        }
    }

    void relevanceIsConserved()
    {
        QFETCH(int, length);
        QFETCH(bool, sparse);
        QFETCH(int, rule);
        const bool isSequence = length > 1;
        for (unsigned seed = 1; seed <= 3; ++seed) {
            const SampleLayer<double> sample(
                {5, 4, 3, 2, isSequence ? 2U : 0U, static_cast<std::uint32_t>(length), isSequence}, sparse, 3, seed);
            const Shares shares = sharesOf(sample, static_cast<TableRule>(rule));
            // Parts of both signs can be far larger than what arrives: sums close to a share of all that moved.
            double moved = std::abs(shares.expected);
            for (const double part : shares.inputs) {
                moved += std::abs(part);
            }
            const double scale = std::max(1.0, moved);
            QVERIFY(std::abs(sumOf(shares.tables) - shares.expected) < 1e-9 * scale);
            const double arrived = sumOf(shares.inputs) + sumOf(shares.codes) + sumOf(shares.unplaced);
            QVERIFY2(std::abs(arrived - sumOf(shares.tables)) < 1e-9 * scale,
                     qPrintable(QStringLiteral("%1 arrived of %2").arg(arrived).arg(sumOf(shares.tables))));
            const double placed = sumOf(shares.inputs) + sumOf(shares.codes);
            QVERIFY(std::abs(sumOf(shares.bits) - placed) < 1e-9 * scale);
            if (isSequence) {
                QVERIFY(std::abs(sumOf(shares.pairs) - sumOf(shares.tables)) < 1e-9 * scale);
            }
        }
    }

    void everyNumberOfThreadsGivesTheSameBits()
    {
        const SampleLayer<double> sample({5, 4, 3, 2, 2, 9, true}, false, 5, 1);
        const Shares one = sharesOf(sample, TableRule::FlipContrast, 1);
        const Shares many = sharesOf(sample, TableRule::FlipContrast, 4);
        QVERIFY(one.inputs == many.inputs && one.codes == many.codes && one.pairs == many.pairs);
        QVERIFY(sumOf(one.inputs) != 0);
    }

    void aTableWithoutComparisonsHasNowhereToSendIts()
    {
        SampleLayer<double> sample({3, 1, 1, 1, 0, 1, false}, false, 1, 1);
        sample.anchors = {{kUnusedAnchor, kUnusedAnchor}};
        sample.weights = {2, 5};
        sample.outputGradients = {4};
        const Shares shares = sharesOf(sample, TableRule::FlipContrast);
        QVERIFY(std::abs(shares.unplaced[0] - 4) < 1e-5);
        QCOMPARE(sumOf(shares.inputs), 0.0);
    }

    void theWeakestBitTakesAll()
    {
        SampleLayer<double> sample({3, 1, 1, 2, 0, 1, false}, false, 1, 1);
        sample.anchors = {{0, 1}, {1, 2}};
        sample.input = {3, 1, 0.5};
        sample.weights = {1, 2, 3, 4};
        sample.outputGradients = {8};
        const Shares shares = sharesOf(sample, TableRule::WeakestBit);
        QCOMPARE(shares.inputs[0], 0.0);
        QVERIFY(std::abs(shares.inputs[1] - 4) < 1e-5);
        QVERIFY(std::abs(shares.inputs[2] - 4) < 1e-5);
    }

    /// Rows 0 … 3 with scores 1, 2, 4, 9 for s = 1, and row 3 chosen: of the 9, the mean row explains 4.
    void shapleyValuesAreOfTheGame()
    {
        SampleLayer<double> sample({4, 1, 1, 2, 0, 1, false}, false, 1, 1);
        sample.anchors = {{0, 1}, {2, 3}};
        sample.input = {1, 0, 3, 0};
        sample.weights = {1, 2, 4, 9};
        sample.outputGradients = {9 * (1 + 1e-6 / 9)}; // s = 1
        const Shares shares = sharesOf(sample, TableRule::Shapley);
        // v(∅) = 4, v({0}) = (2 + 9) / 2, v({1}) = (4 + 9) / 2, v({0, 1}) = 9.
        const double first = ((5.5 - 4) + (9 - 6.5)) / 2;
        const double second = ((6.5 - 4) + (9 - 5.5)) / 2;
        QVERIFY(std::abs(shares.inputs[0] - first / 2) < 1e-9);
        QVERIFY(std::abs(shares.inputs[3] - second / 2) < 1e-9);
        QVERIFY(std::abs(shares.unplaced[0] - 4) < 1e-9);
    }

    void signedFlipsKeepTheirSign()
    {
        SampleLayer<double> sample({4, 1, 1, 2, 0, 1, false}, false, 1, 1);
        sample.anchors = {{0, 1}, {2, 3}};
        sample.input = {1, 0, 3, 0};
        sample.weights = {1, 12, 4, 9}; // undoing the second comparison would raise the result
        sample.outputGradients = {9 * (1 + 1e-6 / 9)};
        const Shares shares = sharesOf(sample, TableRule::SignedFlip);
        QVERIFY(std::abs(shares.inputs[0] - 5.0 / 2 / 2 / 2) < 1e-9); // (9 − 4) / (1 + 1) / 2, half of it
        QVERIFY(std::abs(shares.inputs[2] + 3.0 / 4 / 2 / 2) < 1e-9); // (9 − 12) / (1 + 3) / 2, half of it
        QVERIFY(std::abs(shares.unplaced[0] - (9 - 1.25 + 0.375)) < 1e-9);
    }

    void shapleyOverTooManyRowsIsRefused()
    {
        const SampleLayer<double> sample({5, 2, 1, 5, 1, 2, true}, false, 1, 1);
        const Layer<double> layer = layerOf(sample.description());
        std::vector<double> output(4);
        Tape<double> tape;
        QVERIFY(forward<double>(layer, {1, sample.input, output, &tape}).ok());
        RelevanceCall<double> call;
        call.batch = 1;
        call.tape = &tape;
        call.input = sample.input;
        call.output = output;
        call.outputRelevance = sample.outputGradients;
        call.rule = TableRule::Shapley;
        const Status status = relevance(layer, call, 1);
        QVERIFY(status.code == StatusCode::BadShape && status.message.find("11") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(LutRelevanceTest)
#include "relevancetest.moc"
