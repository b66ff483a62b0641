// SPDX-License-Identifier: Apache-2.0
// The bodies of the device's kernels, run item by item on the host, in an order that no device has: against the CPU
// back end. Each item owns what it writes, so the order of items does not matter; with full connectivity the bits are
// equal.
#include <QtTest>

#include "kernels/lut/device/bodies.h"
#include "tests/kernels/lut/samplelayer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

using namespace retro::lut;
using namespace retro::luttest;

static_assert(sizeof(device::AnchorPair) == sizeof(Anchor));
static_assert(device::kUnused == kUnusedAnchor);

namespace
{

/// All lanes of one item, one after another, then the tree that a device builds with shuffles.
struct HostLanes
{
    template <class F>
    auto sum(const F& part) const
    {
        std::array<decltype(part(0U)), device::kScoreLanes> parts{};
        for (std::uint32_t lane = 0; lane < device::kScoreLanes; ++lane) {
            parts[lane] = part(lane);
        }
        for (std::uint32_t half = device::kScoreLanes / 2; half > 0; half /= 2) {
            for (std::uint32_t lane = 0; lane < half; ++lane) {
                parts[lane] += parts[lane + half];
            }
        }
        return parts[0];
    }
    [[nodiscard]] bool isFirst() const { return true; }
};

struct Results
{
    std::vector<float> output;
    Tape<float> tape;
    std::vector<float> inputGradients;
    std::vector<float> weightGradients;
    std::vector<float> codeGradients;
};

Results emptyResults(const SampleLayer<float>& sample)
{
    const LayerShape& shape = sample.shape;
    const std::uint64_t positions = sample.batch * shape.length;
    const std::uint64_t places = std::uint64_t{shape.lags()} * shape.tables;
    Results results;
    results.output.assign(positions * shape.outputs, 77);
    results.inputGradients.assign(positions * shape.inputs, 77);
    results.weightGradients.assign(sample.weights.size(), 77);
    results.codeGradients.assign(sample.codes.size(), 77);
    results.tape.rows.resize(positions * shape.tables);
    results.tape.deltas.resize(positions * shape.tables);
    results.tape.bits.resize(positions * shape.tables);
    results.tape.codeRows.resize(places);
    results.tape.codeDeltas.resize(places);
    results.tape.codeBits.resize(places);
    return results;
}

/// Calls f for all items, last first.
template <class F>
void backwards(std::uint64_t count, const F& f)
{
    for (std::uint64_t item = count; item > 0; --item) {
        f(item - 1);
    }
}

/// Kernels of both passes as a device launches them.
class HostDevice
{
public:
    explicit HostDevice(const SampleLayer<float>& sample)
        : m_sample(sample), m_layer{sample.shape.inputs,
                                    sample.shape.outputs,
                                    sample.shape.tables,
                                    sample.shape.comparisons,
                                    sample.shape.codeBits,
                                    sample.shape.length,
                                    sample.shape.rows(),
                                    reinterpret_cast<const device::AnchorPair*>(sample.anchors.data()),
                                    sample.weights.data(),
                                    sample.isSparse ? sample.rowStarts.data() : nullptr,
                                    sample.isSparse ? sample.columns.data() : nullptr,
                                    sample.codes.data()},
          m_results(emptyResults(sample)), m_tape{m_results.tape.rows.data(),       m_results.tape.deltas.data(),
                                                  m_results.tape.bits.data(),       m_results.tape.codeRows.data(),
                                                  m_results.tape.codeDeltas.data(), m_results.tape.codeBits.data()}
    {}

    Results run()
    {
        forward();
        scores();
        weights();
        return std::move(m_results);
    }

private:
    [[nodiscard]] std::uint64_t positions() const { return m_sample.batch * m_layer.length; }
    [[nodiscard]] std::uint64_t places() const { return std::uint64_t{m_layer.length - 1} * m_layer.tables; }

    void forward()
    {
        float* output = m_results.output.data();
        backwards(positions() * m_layer.tables,
                  [&](std::uint64_t item) { device::chooseRow(m_layer, m_sample.input.data(), m_tape, item); });
        backwards(places(), [&](std::uint64_t item) { device::checkCode(m_layer, m_tape, item); });
        if (m_sample.isSparse) {
            backwards(positions(), [&](std::uint64_t item) { device::gatherSparse(m_layer, m_tape, output, item); });
            return;
        }
        backwards(positions() * m_layer.outputs, [&](std::uint64_t item) {
            m_layer.length == 1 ? device::gatherOutput(m_layer, m_tape, output, item)
                                : device::gatherPairOutput(m_layer, m_tape, output, item);
        });
    }

    void scores()
    {
        const float* g = m_sample.outputGradients.data();
        std::vector<float> positionScores(positions() * m_layer.tables, 55);
        std::vector<float> positionalScores(m_sample.batch * places(), 55);
        backwards(m_sample.batch * m_layer.tables, [&](std::uint64_t item) {
            m_layer.length == 1 ? device::scoreSite(m_layer, m_tape, g, positionScores.data(), item, HostLanes())
                                : device::scorePairs(m_layer, m_tape, g, positionScores.data(), positionalScores.data(),
                                                     item, HostLanes());
        });
        backwards(positions() * m_layer.inputs, [&](std::uint64_t item) {
            device::propagateInput(m_layer, m_tape, positionScores.data(), m_results.inputGradients.data(), item);
        });
        backwards(places(), [&](std::uint64_t item) {
            device::propagateCode(m_layer, m_tape, positionalScores.data(), m_sample.batch,
                                  m_results.codeGradients.data(), item);
        });
    }

    void weights()
    {
        const std::uint64_t visits = device::visitCount(m_layer, m_sample.batch);
        const std::uint64_t neurons = m_sample.shape.neurons();
        std::vector<std::uint32_t> rows(visits);
        std::vector<std::uint64_t> from(visits);
        backwards(visits,
                  [&](std::uint64_t item) { device::listVisit(m_layer, m_tape, rows.data(), from.data(), item); });
        sortByRow(rows, from);
        std::vector<std::uint64_t> starts(neurons + 1);
        backwards(neurons + 1,
                  [&](std::uint64_t item) { device::startOfRow(rows.data(), visits, starts.data(), item); });
        backwards(m_results.weightGradients.size(), [&](std::uint64_t item) {
            device::sumWeight(m_layer, m_sample.outputGradients.data(), starts.data(), from.data(), neurons,
                              m_results.weightGradients.data(), item);
        });
    }

    static void sortByRow(std::vector<std::uint32_t>& rows, std::vector<std::uint64_t>& from)
    {
        std::vector<std::size_t> order(rows.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return rows[a] < rows[b]; });
        std::vector<std::uint32_t> sortedRows;
        std::vector<std::uint64_t> sortedFrom;
        for (const std::size_t at : order) {
            sortedRows.push_back(rows[at]);
            sortedFrom.push_back(from[at]);
        }
        rows.swap(sortedRows);
        from.swap(sortedFrom);
    }

    const SampleLayer<float>& m_sample;
    device::DeviceLayer<float> m_layer;
    Results m_results;
    device::DeviceTape<float> m_tape;
};

Results onCpu(const SampleLayer<float>& sample)
{
    Results results = emptyResults(sample);
    std::optional<Layer<float>> layer;
    const bool isGood =
        Layer<float>::create(sample.description(), layer).ok() &&
        forward<float>(*layer, {sample.batch, sample.input, results.output, &results.tape}).ok() &&
        backward<float>(*layer, {sample.batch, &results.tape, sample.outputGradients, results.inputGradients,
                                 results.weightGradients, results.codeGradients})
            .ok();
    return isGood ? results : Results{};
}

bool isNear(const std::vector<float>& a, const std::vector<float>& b)
{
    const auto near = [](float x, float y) { return std::abs(x - y) <= 1e-5F * std::max(1.0F, std::abs(y)); };
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), near);
}

} // namespace

class LutDeviceTest : public QObject
{
    Q_OBJECT

private slots:
    void bodiesGiveWhatTheCpuGives_data()
    {
        QTest::addColumn<int>("length");
        QTest::addColumn<int>("outputs");
        QTest::addColumn<bool>("sparse");
        for (const int length : {1, 2, 5, 31, 32, 33, 65}) {
            for (const int outputs : {1, 7, 16, 33}) {
                for (const bool sparse : {false, true}) {
                    QTest::addRow("S %d O %d %s", length, outputs, sparse ? "sparse" : "full")
                        << length << outputs << sparse;
                }
            }
        }
    }

    void bodiesGiveWhatTheCpuGives()
    {
        QFETCH(int, length);
        QFETCH(int, outputs);
        QFETCH(bool, sparse);
        const bool isSequence = length > 1;
        const LayerShape shape{5,
                               static_cast<std::uint32_t>(outputs),
                               3,
                               2,
                               isSequence ? 1U : 0U,
                               static_cast<std::uint32_t>(length),
                               isSequence};
        SampleLayer<float> sample(shape, sparse, isSequence ? 2 : 600, 3);
        // Sums of sparse rows have another order; on the grid they are exact all the same.
        for (float& weight : sample.weights) {
            weight *= sparse ? 1.0F : 0.1F;
        }
        const Results cpu = onCpu(sample);
        const Results device = HostDevice(sample).run();
        QVERIFY(!cpu.output.empty());
        QVERIFY(device.tape.rows == cpu.tape.rows && device.tape.bits == cpu.tape.bits);
        QVERIFY(device.tape.deltas == cpu.tape.deltas);
        QVERIFY(device.tape.codeRows == cpu.tape.codeRows && device.tape.codeBits == cpu.tape.codeBits);
        QVERIFY(device.output == cpu.output);
        QVERIFY(device.weightGradients == cpu.weightGradients);
        QVERIFY(isNear(device.inputGradients, cpu.inputGradients));
        QVERIFY(isNear(device.codeGradients, cpu.codeGradients));
        if (!sparse) {
            QVERIFY(device.inputGradients == cpu.inputGradients);
            QVERIFY(device.codeGradients == cpu.codeGradients);
        }
    }
};

QTEST_GUILESS_MAIN(LutDeviceTest)
#include "devicetest.moc"
