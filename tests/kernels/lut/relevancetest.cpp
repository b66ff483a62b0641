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
    shares.pairs.resize(positions * shape.length);
    shares.unplaced.resize(sample.batch);
    const RelevanceCall<double> call{sample.batch,           &tape,         sample.input, output,
                                     sample.outputGradients, 1e-6,          rule,         shares.inputs,
                                     shares.codes,           shares.tables, shares.pairs, shares.unplaced};
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
                for (const TableRule rule : {TableRule::FlipContrast, TableRule::WeakestBit}) {
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
            const double scale = std::max(1.0, std::abs(shares.expected));
            QVERIFY(std::abs(sumOf(shares.tables) - shares.expected) < 1e-9 * scale);
            const double arrived = sumOf(shares.inputs) + sumOf(shares.codes) + sumOf(shares.unplaced);
            QVERIFY2(std::abs(arrived - sumOf(shares.tables)) < 1e-9 * scale,
                     qPrintable(QStringLiteral("%1 arrived of %2").arg(arrived).arg(sumOf(shares.tables))));
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
};

QTEST_GUILESS_MAIN(LutRelevanceTest)
#include "relevancetest.moc"
