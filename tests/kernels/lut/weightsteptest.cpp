// SPDX-License-Identifier: Apache-2.0
// Steps that a backward pass takes itself: the weights of a step along an array of gradients, bit for bit, and the same
// gradients of inputs and codes, which no changed weight may reach.
#include "tests/kernels/lut/results.h"

#include <QtTest>

#include <bit>

using namespace retro;
using namespace retro::luttest;

namespace
{

constexpr float kRate = 0.375F;

std::vector<std::uint32_t> patterns(const std::vector<float>& values)
{
    std::vector<std::uint32_t> bits;
    for (const float value : values) {
        bits.push_back(std::bit_cast<std::uint32_t>(value));
    }
    return bits;
}

SampleLayer<float> sampleOf(bool sparse, bool sequence)
{
    const lut::LayerShape shape{7, 5, 4, sequence ? 2U : 6U, sequence ? 1U : 0U, sequence ? 9U : 1U, sequence};
    return {shape, sparse, 3, 11};
}

/// A rate for each weight: 0, 1/4, 1/2, 3/4, 1 in turn.
std::vector<float> ratesFor(std::size_t count)
{
    std::vector<float> rates;
    for (std::size_t i = 0; i < count; ++i) {
        rates.push_back(static_cast<float>(i % 5) / 4);
    }
    return rates;
}

} // namespace

class LutWeightStepTest : public QObject
{
    Q_OBJECT

private slots:
    void everyMode_data()
    {
        QTest::addColumn<bool>("sparse");
        QTest::addColumn<bool>("sequence");
        QTest::addColumn<bool>("rated");
        for (int mode = 0; mode < 8; ++mode) {
            QTest::addRow("mode %d", mode) << ((mode & 1) != 0) << ((mode & 2) != 0) << ((mode & 4) != 0);
        }
    }

    void everyMode()
    {
        QFETCH(bool, sparse);
        QFETCH(bool, sequence);
        QFETCH(bool, rated);
        SampleLayer<float> sample = sampleOf(sparse, sequence);
        const lut::Layer<float> layer = layerOf(sample.description());
        const Results dense = onCpu(sample, layer, lut::Path::Fused);
        QVERIFY2(dense.status.ok(), dense.status.message.c_str());
        const std::vector<float> rates = rated ? ratesFor(sample.weights.size()) : std::vector<float>();
        std::vector<float> expected = sample.weights;
        for (std::size_t i = 0; i < expected.size(); ++i) {
            const float gradient = rated ? rates[i] * dense.weightGradients[i] : dense.weightGradients[i];
            expected[i] -= kRate * gradient;
        }
        QVERIFY(expected != sample.weights);

        Results stepped = emptyResults(layer, sample.batch);
        stepped.tape = dense.tape;
        lut::BackwardCall<float> call;
        call.batch = sample.batch;
        call.tape = &stepped.tape;
        call.outputGradients = sample.outputGradients;
        call.inputGradients = stepped.inputGradients;
        call.codeGradients = stepped.codeGradients;
        call.step = {sample.weights, kRate, rates}; // what the layer itself reads
        const lut::Status status = lut::backward(layer, call);
        QVERIFY2(status.ok(), status.message.c_str());
        QVERIFY(patterns(sample.weights) == patterns(expected));
        QVERIFY(patterns(stepped.inputGradients) == patterns(dense.inputGradients));
        QVERIFY(patterns(stepped.codeGradients) == patterns(dense.codeGradients));
    }

    /// The launch that changes weights waits for the one that reads them.
    void theScheduleSaysSo()
    {
        for (const bool sequence : {false, true}) {
            const SampleLayer<float> sample = sampleOf(true, sequence);
            lut::ScheduleRequest request =
                lut::requestOf(layerOf(sample.description()), 3, lut::Path::Fused, lut::Pass::Backward);
            request.changesWeights = true;
            lut::Schedule schedule;
            QVERIFY(lut::makeSchedule(request, schedule).ok());
            QVERIFY(schedule.find(lut::BufferId::WeightGradients) == nullptr);
            const lut::Launch& last = schedule.launches.back();
            QCOMPARE(last.writes, std::vector<lut::BufferId>{lut::BufferId::Weights});
            QCOMPARE(last.waitsFor, std::vector<std::size_t>{0});
            QVERIFY(last.stream != schedule.launches[0].stream);
        }
    }

    void refusals()
    {
        SampleLayer<float> sample = sampleOf(false, false);
        const lut::Layer<float> layer = layerOf(sample.description());
        const Results kept = onCpu(sample, layer, lut::Path::Fused);
        const std::vector<float> before = sample.weights;
        lut::BackwardCall<float> call;
        call.batch = sample.batch;
        call.tape = &kept.tape;
        call.outputGradients = sample.outputGradients;
        call.step = {sample.weights, kRate, {}};
        lut::RunOptions<float> documented;
        documented.path = lut::Path::Documented;
        QCOMPARE(lut::backward(layer, call, documented).code, lut::StatusCode::Unavailable);

        std::vector<float> gradients(before.size());
        call.weightGradients = gradients;
        QCOMPARE(lut::backward(layer, call).code, lut::StatusCode::BadSize);
        call.weightGradients = {};
        call.step.weights = call.step.weights.first(3);
        QCOMPARE(lut::backward(layer, call).code, lut::StatusCode::BadSize);
        const std::vector<float> rates(3, 1.0F);
        call.step = {sample.weights, kRate, rates};
        QCOMPARE(lut::backward(layer, call).code, lut::StatusCode::BadSize);

        const std::vector<std::uint16_t> bits = narrowed(sample.weights, lut::RowType::BFloat16);
        call.step.rates = {};
        const lut::Layer<float> narrow = layerOf(sample.narrowDescription(bits, lut::RowType::BFloat16));
        QCOMPARE(lut::backward(narrow, call).code, lut::StatusCode::Unavailable);
        QVERIFY(patterns(sample.weights) == patterns(before));
    }
};

QTEST_GUILESS_MAIN(LutWeightStepTest)
#include "weightsteptest.moc"
