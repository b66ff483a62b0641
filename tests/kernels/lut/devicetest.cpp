// SPDX-License-Identifier: Apache-2.0
// What a device runs, from the schedule down to the items of its kernels, on the host and in an order that no device
// has: against the CPU back end. Each item owns what it writes, so the order of items does not matter. The documented
// path gives the bits of the CPU, the fused one does with full connectivity.
#include <QtTest>

#include "kernels/lut/callchecks.h"
#include "kernels/lut/cpu/documented.h"
#include "kernels/lut/device/documentedlaunches.h"
#include "kernels/lut/device/hostside.h"
#include "kernels/lut/device/relevancelaunches.h"
#include "tests/kernels/lut/results.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

using namespace retro::lut;
using namespace retro::luttest;

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

/// Calls f for all items, last first.
template <class F>
void backwards(std::uint64_t count, const F& f)
{
    for (std::uint64_t item = count; item > 0; --item) {
        f(item - 1);
    }
}

template <class F>
void forRange(const IndexRange& range, const F& f)
{
    backwards(range.end - range.begin, [&](std::uint64_t item) { f(range.begin + item); });
}

/// Carries out launches with loops.
struct HostLauncher
{
    template <class Body>
    void items(std::uint64_t count, const Body& body)
    {
        backwards(count, body);
    }
    template <class Body>
    void lanes(std::uint64_t count, const Body& body)
    {
        backwards(count, [&](std::uint64_t item) { body(item, HostLanes()); });
    }
    template <class First, class Second>
    void tiles(const device::Tiles& all, const First& first, const Second& second)
    {
        backwards(all.count(), [&](std::uint64_t tile) {
            forRange(all.firstOf(tile), first);
            forRange(all.secondOf(tile), second);
        });
    }
    template <class W>
    void sortVisits(const device::PassBuffers<float, W>& b)
    {
        std::vector<std::size_t> order(b.visits());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t x, std::size_t y) { return b.fused.visits[x] < b.fused.visits[y]; });
        for (std::size_t i = 0; i < order.size(); ++i) {
            b.fused.sorted[i] = b.fused.visits[order[i]];
            b.fused.sortedPlaces[i] = b.fused.places[order[i]];
        }
    }
    void zero(float* array, std::uint64_t count) { std::fill(array, array + count, 0.0F); }
};

/// Both passes as a device runs them, from the schedule down to the items.
template <class W>
class HostDevice
{
public:
    HostDevice(const SampleLayer<float>& sample, const Layer<float>& layer, const W* weights, Path path)
        : m_sample(sample), m_layer(layer), m_path(path), m_results(emptyResults(layer, sample.batch)),
          m_events(device::eventPlacesOf(layer.shape(), sample.batch))
    {
        const device::DeviceLayer<float> given = device::deviceLayerOf(layer);
        m_buffers.layer = {given.inputs, given.outputs, given.tables, given.comparisons, given.codeBits, given.length,
                           given.rows,   given.anchors, weights,      given.rowStarts,   given.columns,  given.codes};
        m_uses = device::usesOfInputs(layer);
        m_buffers.inputs = {m_uses.starts.data(), m_uses.uses.data()};
        m_buffers.batch = sample.batch;
        m_buffers.neurons = layer.shape().neurons();
        m_buffers.weights = layer.description().weightCount();
        Tape<float>& tape = m_results.tape;
        m_buffers.tape = {tape.rows.data(),     tape.deltas.data(),     tape.bits.data(),
                          tape.codeRows.data(), tape.codeDeltas.data(), tape.codeBits.data()};
        m_buffers.input = sample.input.data();
        m_buffers.output = m_results.output.data();
        m_buffers.outputGradients = sample.outputGradients.data();
        m_buffers.inputGradients = m_results.inputGradients.data();
        m_buffers.weightGradients = m_results.weightGradients.data();
        m_buffers.codeGradients = m_results.codeGradients.data();
        path == Path::Fused ? makeFused() : makeDocumented();
    }

    Results run()
    {
        m_results.status = walk(Pass::Forward);
        if (m_path == Path::Documented && m_layer.shape().isSequence) {
            // As between two calls: out of their places, and back.
            device::takeEvents(m_events, m_results.tape);
            m_results.status =
                firstBad({m_results.status, device::placeEvents(m_layer.shape(), m_results.tape, m_events)});
            m_buffers.documented.mainEvents = m_events.main.data();
            m_buffers.documented.otherEvents = m_events.other.data();
        }
        m_results.status = firstBad({m_results.status, walk(Pass::Backward)});
        return std::move(m_results);
    }

    /// Relevance after the forward pass that `results` holds, so many samples at a time.
    Shares share(const Results& results, TableRule rule, std::uint64_t together)
    {
        m_results.tape = results.tape;
        Tape<float>& tape = m_results.tape;
        m_buffers.tape = {tape.rows.data(),     tape.deltas.data(),     tape.bits.data(),
                          tape.codeRows.data(), tape.codeDeltas.data(), tape.codeBits.data()};
        std::vector<float> output = results.output;
        m_buffers.output = output.data();
        Shares shares = emptyShares(m_layer, m_sample.batch);
        const RelevanceCall<float> call = shareCall(m_sample, results, rule, shares);
        const device::ShareSizes sizes = device::ShareSizes::of(m_buffers.layer);
        const std::vector<double> shapley = device::shapleyWeights();
        std::vector<float> perUnit(together * sizes.perUnit, 55);
        std::vector<float> amounts(together * sizes.amounts, 55);
        std::vector<float> chosen(together * sizes.rows, 55);
        std::vector<float> left(together * sizes.rows, 55);
        device::ShareBuffers<float> s;
        s.rule = rule;
        s.epsilon = call.epsilon;
        s.outputRelevance = call.outputRelevance.data();
        s.shapley = shapley.data();
        s.perUnit = perUnit.data();
        s.amounts = amounts.data();
        s.chosen = chosen.data();
        s.left = left.data();
        s.inputRelevance = shares.inputs.data();
        s.codeRelevance = shares.codes.empty() ? nullptr : shares.codes.data();
        s.tableRelevance = shares.tables.data();
        s.bitRelevance = shares.bits.data();
        s.pairMap = shares.pairMap.data();
        s.unplaced = shares.unplaced.data();
        HostLauncher launcher;
        device::launchShares(m_buffers, s, together, launcher);
        return shares;
    }

    /// True when no scratch is left over that must be zero.
    [[nodiscard]] bool isClean() const
    {
        return std::all_of(m_dense.begin(), m_dense.end(), [](float cell) { return cell == 0; });
    }

private:
    Status walk(Pass pass)
    {
        Schedule schedule;
        const Status status = makeSchedule(requestOf(m_layer, m_sample.batch, m_path, pass), schedule);
        HostLauncher launcher;
        if (m_path == Path::Documented) {
            device::clearDocumented(m_buffers, pass == Pass::Backward, launcher);
        }
        for (const device::Step& step : device::stepsOf(schedule)) {
            if (!device::launchStep(m_buffers, step.kernel, step.variant, launcher)) {
                return {StatusCode::Device, "no kernel " + std::string(nameOf(step.kernel))};
            }
        }
        return status;
    }

    void makeFused()
    {
        const std::uint64_t visits = m_buffers.visits();
        m_pairRuns.assign(m_buffers.positions() * m_buffers.mostRuns() * m_buffers.layer.outputs, 55);
        m_positionScores.assign(m_buffers.sites(), 55);
        m_positionalScores.assign(m_buffers.batch * m_buffers.codePlaces(), 55);
        m_pairScores.assign(m_buffers.pairScores(), {55, 55});
        m_visits.resize(visits);
        m_sorted.resize(visits);
        m_places.resize(visits);
        m_sortedPlaces.resize(visits);
        m_starts.resize(m_buffers.neurons + 1);
        m_buffers.fused = {m_pairRuns.data(),   m_positionScores.data(), m_positionalScores.data(),
                           m_pairScores.data(), m_visits.data(),         m_places.data(),
                           m_sorted.data(),     m_sortedPlaces.data(),   m_starts.data()};
    }

    void makeDocumented()
    {
        if (m_layer.isSparse()) {
            m_groups = cpu::synapseGroups(m_layer);
        }
        m_dense.assign(m_buffers.positions() * m_buffers.neurons, 55);
        m_firing.resize(2 * m_buffers.sites() * m_layer.maxForwardGroups());
        m_buffers.documented = {
            m_dense.data(),        m_events.main.data(),  m_events.other.data(),      m_firing.data(),
            m_groups.all.data(),   m_groups.first.data(), m_layer.maxForwardGroups(), m_sample.forwardGroup,
            m_sample.backwardGroup};
    }

    const SampleLayer<float>& m_sample;
    const Layer<float>& m_layer;
    Path m_path;
    Results m_results;
    device::PassBuffers<float, W> m_buffers;
    device::UsesOfInputs m_uses;
    std::vector<float> m_pairRuns;
    std::vector<float> m_positionScores;
    std::vector<device::PairScore<float>> m_pairScores;
    std::vector<float> m_positionalScores;
    std::vector<std::uint32_t> m_visits;
    std::vector<std::uint32_t> m_sorted;
    std::vector<std::uint64_t> m_places;
    std::vector<std::uint64_t> m_sortedPlaces;
    std::vector<std::uint64_t> m_starts;
    std::vector<float> m_dense;
    std::vector<FiringEvent> m_firing;
    cpu::SynapseGroups m_groups;
    device::PlacedEvents m_events;
};

} // namespace

class LutDeviceTest : public QObject
{
    Q_OBJECT

private slots:
    void launchesGiveWhatTheCpuGives_data() { addLayerRows({1, 2, 5, 31, 32, 33, 65}, {1, 7, 16, 33}); }

    void launchesGiveWhatTheCpuGives()
    {
        QFETCH(int, length);
        for (const RowType type : {RowType::Real, RowType::Float16, RowType::BFloat16}) {
            for (const Path path : {Path::Fused, Path::Documented}) {
                if (type != RowType::Real && length != 1 && length != 33) {
                    continue; // how rows are read does not depend on the length
                }
                compare(type, path);
                if (QTest::currentTestFailed()) {
                    qInfo("rows %d, path %d", static_cast<int>(type), static_cast<int>(path));
                    return;
                }
            }
        }
    }

    void relevanceIsSharedAsOnTheCpu_data() { addLayerRows({1, 2, 5, 33}, {1, 16, 33}); }

    /// Under every rule, all samples at once and some at a time; some differences are not numbers.
    void relevanceIsSharedAsOnTheCpu()
    {
        QFETCH(int, length);
        QFETCH(int, outputs);
        QFETCH(bool, sparse);
        const bool isSequence = length > 1;
        SampleLayer<float> sample({5, static_cast<std::uint32_t>(outputs), 3, 2, isSequence ? 2U : 0U,
                                   static_cast<std::uint32_t>(length), isSequence},
                                  sparse, isSequence ? 3 : 40, 7);
        sample.input[2] = std::numeric_limits<float>::quiet_NaN();
        const Layer<float> layer = layerOf(sample.description());
        const Results forward = onCpu(sample, layer, Path::Fused);
        QVERIFY2(forward.status.ok(), forward.status.message.c_str());
        for (const TableRule rule : kTableRules) {
            Shares cpu = emptyShares(layer, sample.batch);
            const RelevanceCall<float> call = shareCall(sample, forward, rule, cpu);
            QVERIFY(relevance(layer, call, 1).ok());
            for (const std::uint64_t together : {sample.batch, std::uint64_t{2}}) {
                HostDevice<float> device(sample, layer, sample.weights.data(), Path::Fused);
                expectNear(device.share(forward, rule, together), cpu);
                if (QTest::currentTestFailed()) {
                    qInfo("rule %d, %d together", static_cast<int>(rule), static_cast<int>(together));
                    return;
                }
            }
        }
    }

    /// The weights of a game of two, from its definition.
    void shapleyWeightsAreThoseOfTheGame()
    {
        const std::vector<double> weights = device::shapleyWeights();
        const auto weight = [&](std::uint32_t players, std::uint32_t undone, bool isUndone) {
            return weights[device::shapleyPlace(players, undone, isUndone)];
        };
        // One comparison: half of what undoing it takes away, as the mean of both rows stays with the table.
        QCOMPARE(weight(1, 0, false), 0.5);
        QCOMPARE(weight(1, 1, true), -0.5);
        // Two: ((v01 − v1) + (v0 − v∅)) / 2 with v∅ the mean of the four rows and v0 that of two.
        QCOMPARE(weight(2, 0, false), 0.375);
        QCOMPARE(weight(2, 1, true), -0.375 + 0.0);
        QCOMPARE(weight(2, 1, false), 0.125);
        QCOMPARE(weight(2, 2, true), -0.125);
        for (std::uint32_t players = 1; players <= kMaxShapleyBits; ++players) {
            double sum = 0; // rows of equal scores give nothing
            double sets = 1;
            for (std::uint32_t others = 0; others < players; ++others) {
                sum += sets * (weight(players, others, false) + weight(players, others + 1, true));
                sets = sets * (players - 1 - others) / (others + 1);
            }
            QVERIFY(std::abs(sum) < 1e-12);
        }
    }

    /// Every item of either kind in one tile, the last tile included.
    void tilesHoldEveryItemOnce()
    {
        for (std::uint64_t samples = 0; samples < 20; ++samples) {
            for (std::uint64_t together = 1; together < 8; ++together) {
                const device::Tiles tiles{samples, together, 3, 5};
                std::uint64_t first = 0;
                std::uint64_t second = 0;
                for (std::uint64_t tile = 0; tile < tiles.count(); ++tile) {
                    QCOMPARE(tiles.firstOf(tile).begin, first);
                    QCOMPARE(tiles.secondOf(tile).begin, second);
                    first = tiles.firstOf(tile).end;
                    second = tiles.secondOf(tile).end;
                    QCOMPARE(first * 5, second * 3); // of the same samples
                }
                QCOMPARE(first, samples * 3);
                QCOMPARE(second, samples * 5);
            }
        }
    }

    /// Against the definition of the formats, for every number that there is.
    void rowsOf16BitsAreWidenedExactly()
    {
        for (std::uint32_t bits = 0; bits < 65536; ++bits) {
            const auto number = static_cast<std::uint16_t>(bits);
            QVERIFY2(isSame(widened(Float16{number}), defined(bits, 5, 10)), qPrintable(QString::number(bits, 16)));
            QVERIFY2(isSame(widened(BFloat16{number}), defined(bits, 8, 7)), qPrintable(QString::number(bits, 16)));
        }
    }

    /// A pass over rows of 16 bits is one over the numbers that they hold.
    void theCpuWidensRowsOf16Bits()
    {
        for (const RowType type : {RowType::Float16, RowType::BFloat16}) {
            SampleLayer<float> sample({5, 7, 3, 2, 1, 5, true}, false, 3, 9);
            const std::vector<std::uint16_t> bits = narrowed(sample.weights, type);
            std::optional<Layer<float>> narrow;
            std::optional<Layer<float>> wide;
            QVERIFY(Layer<float>::create(sample.narrowDescription(bits, type), narrow).ok());
            for (std::size_t i = 0; i < bits.size(); ++i) {
                sample.weights[i] = type == RowType::Float16 ? widened(Float16{bits[i]}) : widened(BFloat16{bits[i]});
            }
            QVERIFY(Layer<float>::create(sample.description(), wide).ok());
            for (const Path path : {Path::Fused, Path::Documented}) {
                const Results ours = onCpu(sample, *narrow, path);
                const Results expected = onCpu(sample, *wide, path);
                QVERIFY2(ours.status.ok(), ours.status.message.c_str());
                QVERIFY(ours.output == expected.output && ours.inputGradients == expected.inputGradients);
                QVERIFY(ours.weightGradients == expected.weightGradients);
            }
        }
    }

    void rowsInTwoTypesAreRefused()
    {
        const SampleLayer<float> sample({5, 7, 3, 2, 0, 1, false}, false, 3, 9);
        const std::vector<std::uint16_t> bits = narrowed(sample.weights, RowType::Float16);
        LayerDescription<float> both = sample.description();
        both.narrowWeights = bits;
        std::optional<Layer<float>> layer;
        QCOMPARE(Layer<float>::create(both, layer).message,
                 std::string("weights are given in two types; give those of the rows' type alone"));
        LayerDescription<float> few = sample.narrowDescription(bits, RowType::Float16);
        few.narrowWeights = few.narrowWeights.first(5);
        QCOMPARE(Layer<float>::create(few, layer).message,
                 std::string("the array of weights [T, R, O] has 5 elements where the shape needs 84"));
    }

    /// What is captured into a graph: every launch of every schedule, on its stream, with its waits.
    void stepsKeepStreamsAndWaits()
    {
        for (const bool isSequence : {false, true}) {
            const SampleLayer<float> sample({5, 7, 3, 2, isSequence ? 1U : 0U, isSequence ? 4U : 1U, isSequence}, false,
                                            3, 9);
            const Layer<float> layer = layerOf(sample.description());
            for (const Path path : {Path::Fused, Path::Documented}) {
                for (const Pass pass : {Pass::Forward, Pass::Backward}) {
                    Schedule schedule;
                    QVERIFY(makeSchedule(requestOf(layer, 3, path, pass), schedule).ok());
                    checkSteps(schedule);
                }
            }
        }
    }

    void eventsOfAnotherLayerAreRefused()
    {
        const LayerShape shape{4, 3, 2, 2, 1, 3, true};
        Tape<float> tape;
        tape.batch = 2;
        device::PlacedEvents places;
        const auto isRefused = [&](const MainEvent& event) {
            tape.mainEvents = {event};
            return device::placeEvents(shape, tape, places).code == StatusCode::BadSize;
        };
        QVERIFY(!isRefused({1, 1, 63, 2}));
        QVERIFY(isRefused({2, 1, 0, 1}));               // sample
        QVERIFY(isRefused({0, 1, 64, 1}));              // row
        QVERIFY(isRefused({0, 1, 0, 3}));               // position
        QVERIFY(isRefused({0, 1, 0, 0}));               // no pair ends at the first
        tape.mainEvents = {{0, 1, 3, 1}, {0, 1, 4, 1}}; // one pair, two events
        QVERIFY(device::placeEvents(shape, tape, places).code == StatusCode::BadSize);
    }

private:
    static void checkSteps(const Schedule& schedule)
    {
        const std::vector<device::Step> steps = device::stepsOf(schedule);
        QCOMPARE(steps.size(), schedule.launches.size());
        QVERIFY(steps.size() <= device::kMaxSteps);
        for (std::size_t i = 0; i < steps.size(); ++i) {
            QVERIFY(steps[i].kernel == schedule.launches[i].kernel && steps[i].variant == schedule.launches[i].variant);
            QCOMPARE(steps[i].stream, schedule.launches[i].stream);
            QVERIFY(steps[i].stream < device::kMaxStreams);
            QCOMPARE(std::popcount(steps[i].waitsFor), static_cast<int>(schedule.launches[i].waitsFor.size()));
            for (const std::size_t before : schedule.launches[i].waitsFor) {
                QVERIFY((steps[i].waitsFor >> before & 1U) != 0 && before < i);
            }
        }
    }

    /// The number of a sign, so many bits of exponent, and so many of fraction.
    static double defined(std::uint32_t bits, int exponentBits, int fractionBits)
    {
        const double sign = (bits >> 15) != 0 ? -1 : 1;
        const int most = (1 << exponentBits) - 1;
        const int exponent = static_cast<int>(bits >> fractionBits) & most;
        const auto fraction = static_cast<int>(bits & ((1U << fractionBits) - 1));
        if (exponent == most) {
            return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                                 : std::numeric_limits<double>::quiet_NaN();
        }
        const int hidden = exponent == 0 ? 0 : 1 << fractionBits;
        return sign * std::ldexp(hidden + fraction, std::max(exponent, 1) - most / 2 - fractionBits);
    }

    static bool isSame(float ours, double expected)
    {
        return std::isnan(expected) ? std::isnan(ours)
                                    : ours == expected && std::signbit(ours) == std::signbit(expected);
    }

    template <class W>
    static Results onHost(const SampleLayer<float>& sample, const Layer<float>& layer, const W* weights, Path path)
    {
        HostDevice<W> device(sample, layer, weights, path);
        Results results = device.run();
        if (!device.isClean()) {
            results.status = {StatusCode::Device, "the dense scratch is not clean"};
        }
        return results;
    }

    static void compare(RowType type, Path path)
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
        // Sums of sparse rows have another order on the fused path; on the grid they are exact all the same.
        const bool isExact = !sparse || path == Path::Documented;
        for (float& weight : sample.weights) {
            weight *= isExact ? 0.1F : 1.0F;
        }
        const std::vector<std::uint16_t> bits = narrowed(sample.weights, type);
        const Layer<float> layer = layerOf(sample.narrowDescription(bits, type));
        const Results cpu = onCpu(sample, layer, path);
        QVERIFY2(cpu.status.ok(), cpu.status.message.c_str());
        const Results device =
            type == RowType::Float16    ? onHost(sample, layer, reinterpret_cast<const Float16*>(bits.data()), path)
            : type == RowType::BFloat16 ? onHost(sample, layer, reinterpret_cast<const BFloat16*>(bits.data()), path)
                                        : onHost(sample, layer, sample.weights.data(), path);
        QVERIFY2(device.status.ok(), device.status.message.c_str());
        expectSame(device, cpu, isExact);
    }
};

QTEST_GUILESS_MAIN(LutDeviceTest)
#include "devicetest.moc"
