// SPDX-License-Identifier: Apache-2.0
// Sparse gradients: the same numbers as the dense one, zeros left in its place, in all modes and on any threads.
#include "kernels/lut/sparsegradient.h"
#include "tests/kernels/lut/results.h"

#include <QtTest>

#include <bit>
#include <limits>

using namespace retro;
using namespace retro::luttest;

namespace
{

std::vector<std::uint32_t> bitsOf(const std::vector<float>& values)
{
    std::vector<std::uint32_t> bits;
    for (const float value : values) {
        bits.push_back(std::bit_cast<std::uint32_t>(value));
    }
    return bits;
}

std::vector<float> spread(const lut::SparseGradient<float>& sparse, std::size_t count)
{
    std::vector<float> dense(count);
    for (std::size_t i = 0; i < sparse.indices.size(); ++i) {
        dense[sparse.indices[i]] = sparse.values[i];
    }
    return dense;
}

} // namespace

class LutSparseGradientTest : public QObject
{
    Q_OBJECT

private slots:
    void everyModeAndPath_data()
    {
        QTest::addColumn<bool>("sparse");
        QTest::addColumn<bool>("sequence");
        QTest::addColumn<bool>("documented");
        for (int mode = 0; mode < 8; ++mode) {
            QTest::addRow("mode %d", mode) << ((mode & 1) != 0) << ((mode & 2) != 0) << ((mode & 4) != 0);
        }
    }

    void everyModeAndPath()
    {
        QFETCH(bool, sparse);
        QFETCH(bool, sequence);
        QFETCH(bool, documented);
        const lut::LayerShape shape{7, 5, 4, sequence ? 2U : 6U, sequence ? 1U : 0U, sequence ? 9U : 1U, sequence};
        const SampleLayer<float> sample(shape, sparse, 3, 11);
        const lut::Layer<float> layer = layerOf(sample.description());
        Results results = onCpu(sample, layer, documented ? lut::Path::Documented : lut::Path::Fused);
        QVERIFY2(results.status.ok(), results.status.message.c_str());
        const std::vector<float> dense = results.weightGradients;
        lut::SparseGradient<float> gradient;
        lut::compact<float>(results.weightGradients, 2, gradient);
        QVERIFY(!gradient.indices.empty());
        QVERIFY(gradient.indices.size() < dense.size());
        QVERIFY(std::is_sorted(gradient.indices.begin(), gradient.indices.end()));
        QVERIFY(bitsOf(spread(gradient, dense.size())) == bitsOf(dense));
        QVERIFY(bitsOf(results.weightGradients) == std::vector<std::uint32_t>(dense.size(), 0));
    }

    void threadsChangeNothing()
    {
        std::mt19937 random(5);
        std::vector<float> dense(300'001);
        for (float& value : dense) {
            value = random() % 9 == 0 ? static_cast<float>(random() % 7) - 3 : 0;
        }
        lut::SparseGradient<float> one;
        lut::SparseGradient<float> many{{1, 2}, {3, 4}}; // what was there before is forgotten
        std::vector<float> scratch = dense;
        lut::compact<float>(scratch, 1, one);
        scratch = dense;
        lut::compact<float>(scratch, 4, many);
        QVERIFY(one.indices == many.indices);
        QVERIFY(one.values == many.values);
        QVERIFY(bitsOf(spread(one, dense.size())) == bitsOf(dense));
        QVERIFY(std::ranges::all_of(scratch, [](float v) { return v == 0; }));
    }

    /// A number that is no number is not lost, and −0 changes the sign of a zero that it is taken from.
    void onlyPlainZerosAreLeftOut()
    {
        std::vector<double> dense{0, -0.0, std::numeric_limits<double>::quiet_NaN(), 5e-324, 0};
        lut::SparseGradient<double> gradient;
        lut::compact<double>(dense, 0, gradient);
        QCOMPARE(gradient.indices, (std::vector<std::uint64_t>{1, 2, 3}));
        QVERIFY(std::signbit(gradient.values[0]));
        QVERIFY(std::isnan(gradient.values[1]));
        QCOMPARE(gradient.values[2], 5e-324);
        lut::compact<double>({}, 0, gradient);
        QVERIFY(gradient.indices.empty() && gradient.values.empty());
    }
};

QTEST_GUILESS_MAIN(LutSparseGradientTest)
#include "sparsegradienttest.moc"
