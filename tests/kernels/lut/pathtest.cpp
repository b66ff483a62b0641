// SPDX-License-Identifier: Apache-2.0
// Both paths on inputs from a grid, where ties are common: against the definition, against each other, for every number
// of threads and every cut of the batch.
#include "tests/kernels/lut/samplelayer.h"

#include <QtTest>

#include <cmath>
#include <functional>
#include <set>

namespace retro::luttest
{

namespace
{

/// What a layer gives, worked out element by element from its definition, in double.
struct DirectResult
{
    std::vector<double> output;
    std::vector<std::int32_t> rows;
    std::vector<double> inputGradients;
    std::vector<double> weightGradients;
    std::vector<double> codeGradients;
};

using lut::kUnusedAnchor;

/// Bits of one detector at one position, lowest first, and the one with the smallest difference.
struct Detected
{
    std::vector<int> bits;
    int weakest = -1;
    double difference = 0;

    void add(double u)
    {
        if (!std::isnan(u) && (weakest < 0 || std::fabs(u) < std::fabs(difference))) {
            weakest = static_cast<int>(bits.size());
            difference = u;
        }
        bits.push_back(u > 0 ? 1 : 0);
    }
    [[nodiscard]] double certainty() const { return weakest < 0 ? HUGE_VAL : std::fabs(difference); }
};

double slopeOf(double u) { return (u > 0 ? 0.5 : -0.5) / std::pow(1 + std::fabs(u), 2); }

class Direct
{
public:
    explicit Direct(const SampleLayer<double>& layer) : l(layer), m_perPosition(l.shape.length)
    {
        const std::uint64_t positions = l.batch * m_perPosition;
        m_result.output.assign(positions * l.shape.outputs, 0);
        m_result.inputGradients.assign(positions * l.shape.inputs, 0);
        m_result.weightGradients.assign(l.weights.size(), 0);
        m_result.codeGradients.assign(l.codes.size(), 0);
        m_result.rows.assign(positions * l.shape.tables, 0);
    }

    DirectResult work()
    {
        for (std::uint64_t b = 0; b < l.batch; ++b) {
            for (std::uint64_t t = 0; t < l.shape.tables; ++t) {
                l.shape.isSequence ? workOnSequence(b, t) : workOnSample(b, t);
            }
        }
        return std::move(m_result);
    }

private:
    Detected detect(std::uint64_t position, std::uint64_t t)
    {
        Detected found;
        for (std::uint64_t k = 0; k < l.shape.comparisons; ++k) {
            const lut::Anchor anchor = l.anchors[t * l.shape.comparisons + k];
            if (anchor.a == kUnusedAnchor) {
                found.bits.push_back(0);
            } else {
                const double* x = l.input.data() + position * l.shape.inputs;
                found.add(x[anchor.a] - x[anchor.b]);
            }
        }
        m_result.rows[position * l.shape.tables + t] = static_cast<std::int32_t>(numberOf(found.bits));
        return found;
    }

    static std::uint64_t numberOf(const std::vector<int>& bits)
    {
        std::uint64_t number = 0;
        for (std::size_t k = bits.size(); k > 0; --k) {
            number = 2 * number + static_cast<std::uint64_t>(bits[k - 1]);
        }
        return number;
    }

    /// Calls f(place of a weight, output) for the weights of a row.
    void forEachWeight(std::uint64_t t, const std::vector<int>& bits,
                       const std::function<void(std::uint64_t, std::uint64_t)>& f) const
    {
        const std::uint64_t n = t * (std::uint64_t{1} << bits.size()) + numberOf(bits);
        if (l.isSparse) {
            for (std::uint64_t s = l.rowStarts[n]; s < l.rowStarts[n + 1]; ++s) {
                f(s, l.columns[s]);
            }
            return;
        }
        for (std::uint64_t o = 0; o < l.shape.outputs; ++o) {
            f(n * l.shape.outputs + o, o);
        }
    }

    double score(std::uint64_t position, std::uint64_t t, const std::vector<int>& bits) const
    {
        double sum = 0;
        forEachWeight(t, bits, [&](std::uint64_t w, std::uint64_t o) {
            sum += l.weights[w] * l.outputGradients[position * l.shape.outputs + o];
        });
        return sum;
    }

    /// score(bits) − score(bits with one flipped)
    double contrast(std::uint64_t position, std::uint64_t t, std::vector<int> bits, std::size_t flip) const
    {
        const double main = score(position, t, bits);
        bits[flip] = 1 - bits[flip];
        return main - score(position, t, bits);
    }

    void visit(std::uint64_t position, std::uint64_t t, const std::vector<int>& bits)
    {
        forEachWeight(t, bits, [&](std::uint64_t w, std::uint64_t o) {
            m_result.output[position * l.shape.outputs + o] += l.weights[w];
            m_result.weightGradients[w] += l.outputGradients[position * l.shape.outputs + o];
        });
    }

    void send(std::uint64_t position, std::uint64_t t, const Detected& detected, double difference)
    {
        const lut::Anchor anchor = l.anchors[t * l.shape.comparisons + static_cast<std::uint64_t>(detected.weakest)];
        const double v = difference * slopeOf(detected.difference);
        m_result.inputGradients[position * l.shape.inputs + anchor.a] += v;
        m_result.inputGradients[position * l.shape.inputs + anchor.b] -= v;
    }

    void workOnSample(std::uint64_t b, std::uint64_t t)
    {
        const Detected found = detect(b, t);
        visit(b, t, found.bits);
        if (found.weakest >= 0) {
            send(b, t, found, contrast(b, t, found.bits, static_cast<std::size_t>(found.weakest)));
        }
    }

    void workOnSequence(std::uint64_t b, std::uint64_t t)
    {
        std::vector<Detected> found;
        for (std::uint64_t s = 0; s < l.shape.length; ++s) {
            found.push_back(detect(b * l.shape.length + s, t));
        }
        for (std::uint64_t j = 1; j < l.shape.length; ++j) {
            for (std::uint64_t i = 0; i < j; ++i) {
                workOnPair(b, t, found, i, j);
            }
        }
    }

    void workOnPair(std::uint64_t b, std::uint64_t t, const std::vector<Detected>& found, std::uint64_t i,
                    std::uint64_t j)
    {
        const std::uint64_t codeAt = ((j - i - 1) * l.shape.tables + t) * l.shape.codeBits;
        Detected code;
        for (std::uint64_t p = 0; p < l.shape.codeBits; ++p) {
            code.add(l.codes[codeAt + p]);
        }
        std::vector<int> bits = code.bits;
        bits.insert(bits.end(), found[i].bits.begin(), found[i].bits.end());
        bits.insert(bits.end(), found[j].bits.begin(), found[j].bits.end());
        const std::uint64_t position = b * l.shape.length + j;
        visit(position, t, bits);
        const bool isLater = found[j].certainty() < found[i].certainty();
        const Detected& chosen = isLater ? found[j] : found[i];
        if (chosen.weakest >= 0) {
            const std::size_t flip =
                static_cast<std::size_t>(chosen.weakest) + l.shape.codeBits + (isLater ? l.shape.comparisons : 0);
            send(b * l.shape.length + (isLater ? j : i), t, chosen, contrast(position, t, bits, flip));
        }
        if (code.certainty() < found[i].certainty() && code.certainty() < found[j].certainty()) {
            const auto flip = static_cast<std::size_t>(code.weakest);
            m_result.codeGradients[codeAt + flip] += contrast(position, t, bits, flip) * slopeOf(code.difference);
        }
    }

    const SampleLayer<double>& l;
    std::uint64_t m_perPosition;
    DirectResult m_result;
};

DirectResult directFormula(const SampleLayer<double>& layer) { return Direct(layer).work(); }

} // namespace

} // namespace retro::luttest

using namespace retro::lut;
using namespace retro::luttest;

namespace
{

template <class T>
struct Outcome
{
    Status status;
    std::vector<T> output;
    Tape<T> tape;
    std::vector<T> inputGradients;
    std::vector<T> weightGradients;
    std::vector<T> codeGradients;

    /// Bit for bit.
    bool operator==(const Outcome& other) const
    {
        return output == other.output && tape.rows == other.tape.rows && tape.deltas == other.tape.deltas &&
               tape.bits == other.tape.bits && inputGradients == other.inputGradients &&
               weightGradients == other.weightGradients && codeGradients == other.codeGradients;
    }
};

template <class T>
Outcome<T> passOver(const SampleLayer<T>& sample, Path path, int threads = 2)
{
    Outcome<T> pass;
    std::optional<Layer<T>> layer;
    pass.status = Layer<T>::create(sample.description(), layer);
    if (!pass.status.ok()) {
        return pass;
    }
    const std::uint64_t positions = sample.batch * sample.shape.length;
    pass.output.assign(positions * sample.shape.outputs, T(77));
    pass.inputGradients.assign(positions * sample.shape.inputs, T(77));
    pass.weightGradients.assign(sample.weights.size(), T(77));
    pass.codeGradients.assign(sample.codes.size(), T(77));
    RunOptions<T> options;
    options.path = path;
    options.threads = threads;
    pass.status = forward<T>(*layer, {sample.batch, sample.input, pass.output, &pass.tape}, options);
    if (pass.status.ok()) {
        pass.status = backward<T>(*layer,
                                  {sample.batch, &pass.tape, sample.outputGradients, pass.inputGradients,
                                   pass.weightGradients, pass.codeGradients},
                                  options);
    }
    return pass;
}

template <class T>
QString difference(const char* name, const std::vector<T>& ours, const std::vector<double>& expected, double tolerance)
{
    if (ours.size() != expected.size()) {
        return QStringLiteral("%1: %2 numbers, not %3").arg(name).arg(ours.size()).arg(expected.size());
    }
    for (std::size_t i = 0; i < ours.size(); ++i) {
        const double limit = tolerance * std::max(1.0, std::abs(expected[i]));
        if (!(std::abs(static_cast<double>(ours[i]) - expected[i]) <= limit)) {
            return QStringLiteral("%1[%2] is %3, not %4")
                .arg(name)
                .arg(i)
                .arg(static_cast<double>(ours[i]))
                .arg(expected[i]);
        }
    }
    return {};
}

/// Sums on the grid are exact; what has a slope in it is not.
template <class T>
QString differenceToFormula(const SampleLayer<T>& sample, const DirectResult& direct, Path path)
{
    const double tolerance = sizeof(T) == sizeof(double) ? 1e-12 : 2e-5;
    const Outcome<T> pass = passOver(sample, path);
    if (!pass.status.ok()) {
        return QString::fromStdString(pass.status.message);
    }
    if (!std::ranges::equal(pass.tape.rows, direct.rows)) {
        return QStringLiteral("other rows are chosen");
    }
    for (const QString& text : {difference("output", pass.output, direct.output, 0),
                                difference("dx", pass.inputGradients, direct.inputGradients, tolerance),
                                difference("dw", pass.weightGradients, direct.weightGradients, 0),
                                difference("dpe", pass.codeGradients, direct.codeGradients, tolerance)}) {
        if (!text.isEmpty()) {
            return text;
        }
    }
    return {};
}

template <class T>
QString imbalance(const SampleLayer<T>& sample, const Outcome<T>& pass)
{
    const std::uint64_t perSample = sample.shape.length * std::uint64_t{sample.shape.inputs};
    for (std::uint64_t b = 0; b < sample.batch; ++b) {
        double sum = 0;
        double size = 0;
        for (std::uint64_t i = 0; i < perSample; ++i) {
            sum += static_cast<double>(pass.inputGradients[b * perSample + i]);
            size += std::abs(static_cast<double>(pass.inputGradients[b * perSample + i]));
        }
        if (!(std::abs(sum) <= 1e-6 * std::max(size, 1.0))) {
            return QStringLiteral("sample %1: the gradients of the inputs sum to %2").arg(b).arg(sum);
        }
    }
    return {};
}

/// Samples [first, end) of a layer's batch.
template <class T>
SampleLayer<T> partOf(const SampleLayer<T>& whole, std::uint64_t first, std::uint64_t end)
{
    SampleLayer<T> part = whole;
    part.batch = end - first;
    const std::uint64_t inputs = whole.shape.length * std::uint64_t{whole.shape.inputs};
    const std::uint64_t outputs = whole.shape.length * std::uint64_t{whole.shape.outputs};
    const auto cut = [&](const std::vector<T>& values, std::uint64_t each) {
        return std::vector<T>(values.begin() + static_cast<std::ptrdiff_t>(first * each),
                              values.begin() + static_cast<std::ptrdiff_t>(end * each));
    };
    part.input = cut(whole.input, inputs);
    part.outputGradients = cut(whole.outputGradients, outputs);
    return part;
}

struct Sizes
{
    LayerShape shape; ///< I, O, T, C, P, S, sequence
    std::uint64_t batch;
};

const std::vector<Sizes> kSizes{
    {{2, 1, 1, 1, 0, 1, false}, 1},    {{6, 5, 4, 3, 0, 1, false}, 17},  {{9, 33, 7, 4, 0, 1, false}, 40},
    {{5, 70, 37, 2, 0, 1, false}, 33}, {{4, 3, 2, 6, 0, 1, false}, 300}, {{3, 2, 1, 1, 1, 2, true}, 3},
    {{5, 4, 3, 2, 0, 5, true}, 2},     {{6, 7, 2, 2, 2, 9, true}, 3},    {{4, 3, 2, 1, 2, 31, true}, 2},
    {{4, 9, 2, 2, 1, 32, true}, 2},    {{4, 2, 3, 2, 1, 33, true}, 1},   {{4, 5, 1, 2, 2, 65, true}, 2},
};

} // namespace

class LutPathTest : public QObject
{
    Q_OBJECT

    static void addRows()
    {
        QTest::addColumn<int>("which");
        QTest::addColumn<bool>("sparse");
        for (std::size_t i = 0; i < kSizes.size(); ++i) {
            for (const bool sparse : {false, true}) {
                const LayerShape& s = kSizes[i].shape;
                QTest::addRow("%s S %u T %u C %u P %u O %u", sparse ? "sparse" : "full", s.length, s.tables,
                              s.comparisons, s.codeBits, s.outputs)
                    << static_cast<int>(i) << sparse;
            }
        }
    }

    template <class T>
    static SampleLayer<T> sampleOfRow(unsigned seed)
    {
        QFETCH(int, which);
        QFETCH(bool, sparse);
        const Sizes& sizes = kSizes[static_cast<std::size_t>(which)];
        return {sizes.shape, sparse, sizes.batch, seed};
    }

private slots:
    /// Of what a fused forward pass of a sequence keeps for itself it writes the rows alone, and says no more.
    void launchesShowWhatTheyWrote()
    {
        const SampleLayer<float> sample(
            {.inputs = 6, .outputs = 2, .tables = 3, .comparisons = 2, .codeBits = 1, .length = 5, .isSequence = true},
            false, 2, 1);
        const Layer<float> layer = layerOf(sample.description());
        for (const bool hasTape : {false, true}) {
            std::set<BufferId> seen;
            RunOptions<float> options;
            options.observer = [&](const LaunchView<float>& view) {
                for (const BufferData& one : view.buffers) {
                    seen.insert(one.id);
                }
            };
            std::vector<float> output(sample.batch * sample.shape.length * sample.shape.outputs);
            Tape<float> tape;
            const ForwardCall<float> call{sample.batch, sample.input, output, hasTape ? &tape : nullptr};
            QVERIFY(forward<float>(layer, call, options).ok());
            QVERIFY(seen.contains(BufferId::LookupIndices) && seen.contains(BufferId::PeMinDeltas));
            QCOMPARE(seen.contains(BufferId::MinAnchorDeltas), hasTape);
            QCOMPARE(seen.contains(BufferId::MinAnchorDeltaIndices), hasTape);
        }
    }

    void bothPathsEqualTheDefinition_data() { addRows(); }
    void bothPathsEqualTheDefinition()
    {
        for (unsigned seed = 1; seed <= 3; ++seed) {
            const auto sample = sampleOfRow<double>(seed);
            const DirectResult direct = directFormula(sample);
            for (const Path path : {Path::Fused, Path::Documented}) {
                const QString inDouble = differenceToFormula(sample, direct, path);
                QVERIFY2(inDouble.isEmpty(), qPrintable(inDouble));
                const QString inFloat = differenceToFormula(sampleOfRow<float>(seed), direct, path);
                QVERIFY2(inFloat.isEmpty(), qPrintable(inFloat));
            }
        }
    }

    void gradientsOfTheInputsCancel_data() { addRows(); }
    void gradientsOfTheInputsCancel()
    {
        for (const Path path : {Path::Fused, Path::Documented}) {
            const auto sample = sampleOfRow<float>(4);
            const QString text = imbalance(sample, passOver(sample, path));
            QVERIFY2(text.isEmpty(), qPrintable(text));
        }
    }

    void everyNumberOfThreadsGivesTheSameBits_data() { addRows(); }
    void everyNumberOfThreadsGivesTheSameBits()
    {
        const auto sample = sampleOfRow<float>(5);
        for (const Path path : {Path::Fused, Path::Documented}) {
            const Outcome<float> one = passOver(sample, path, 1);
            QVERIFY(one.status.ok());
            for (const int threads : {2, 3, 7}) {
                QVERIFY(passOver(sample, path, threads) == one);
            }
        }
    }

    void everyCutOfTheBatchGivesTheSameBits_data() { addRows(); }
    void everyCutOfTheBatchGivesTheSameBits()
    {
        const auto whole = sampleOfRow<float>(6);
        const Outcome<float> together = passOver(whole, Path::Fused);
        const std::uint64_t middle = whole.batch / 2;
        std::vector<float> output;
        std::vector<float> gradients;
        for (const auto& [first, end] : {std::pair{std::uint64_t{0}, middle}, std::pair{middle, whole.batch}}) {
            const Outcome<float> part = passOver(partOf(whole, first, end), Path::Fused);
            QVERIFY(part.status.ok());
            output.insert(output.end(), part.output.begin(), part.output.end());
            gradients.insert(gradients.end(), part.inputGradients.begin(), part.inputGradients.end());
        }
        QVERIFY(output == together.output);
        QVERIFY(gradients == together.inputGradients);
    }

    void aPassWithoutTapeGivesTheSameOutput_data() { addRows(); }
    void aPassWithoutTapeGivesTheSameOutput()
    {
        const auto sample = sampleOfRow<float>(7);
        const Layer<float> layer = layerOf(sample.description());
        for (const Path path : {Path::Fused, Path::Documented}) {
            RunOptions<float> options;
            options.path = path;
            std::vector<float> output(sample.batch * sample.shape.length * sample.shape.outputs);
            QVERIFY(forward<float>(layer, {sample.batch, sample.input, output, nullptr}, options).ok());
            QVERIFY(output == passOver(sample, path).output);
        }
    }

    void eventsAreThoseOfTheDefinition()
    {
        // One table, C 1, P 1, S 3: rows 1, 0, 1 with codes 1, 0 (worked out by hand).
        SampleLayer<double> sample({2, 2, 1, 1, 1, 3, true}, false, 1, 1);
        sample.anchors = {{0, 1}};
        sample.input = {2, 1, 0, 3, 1, 0.5};
        sample.codes = {0.25, -1};
        const Layer<double> layer = layerOf(sample.description());
        Tape<double> tape;
        std::vector<double> output(6);
        RunOptions<double> options;
        options.path = Path::Documented;
        QVERIFY(forward<double>(layer, {1, sample.input, output, &tape}, options).ok());
        const auto textOf = [](const Array<MainEvent>& events) {
            QStringList lines;
            for (const MainEvent& event : events) {
                lines << QStringLiteral("%1:%2x%3").arg(event.position).arg(event.neuron).arg(event.count);
            }
            return lines.join(QLatin1Char(' '));
        };
        QCOMPARE(textOf(tape.mainEvents), QStringLiteral("1:3x1 2:5x1 2:6x1"));
        QCOMPARE(textOf(tape.otherEvents), QStringLiteral("1:1x1 1:2x1 2:1x1 2:2x1 2:4x1"));
    }

    void numbersThatAreNoneChooseNothing()
    {
        SampleLayer<float> sample({3, 2, 1, 2, 0, 1, false}, false, 2, 1);
        sample.anchors = {{0, 1}, {1, 2}};
        const float nan = std::numeric_limits<float>::quiet_NaN();
        sample.input = {nan, 1, 0, nan, nan, nan};
        for (const Path path : {Path::Fused, Path::Documented}) {
            const Outcome<float> pass = passOver(sample, path);
            QVERIFY(pass.status.ok());
            QCOMPARE(pass.tape.rows, (Array<std::int32_t>{2, 0}));
            QCOMPARE(pass.tape.bits, (Array<std::int32_t>{1, -1}));
            QCOMPARE(pass.inputGradients[3], 0.0F);
            QCOMPARE(pass.inputGradients[5], 0.0F);
        }
    }

    void anEmptyBatchGivesNothing()
    {
        const SampleLayer<float> sample({4, 3, 2, 2, 1, 3, true}, false, 0, 1);
        for (const Path path : {Path::Fused, Path::Documented}) {
            const Outcome<float> pass = passOver(sample, path);
            QVERIFY(pass.status.ok());
            QVERIFY(pass.output.empty());
            QVERIFY(
                std::all_of(pass.weightGradients.begin(), pass.weightGradients.end(), [](float w) { return w == 0; }));
        }
    }

    void gradientsThatNobodyWantsAreLeftOut()
    {
        const SampleLayer<float> sample({4, 3, 2, 2, 1, 3, true}, false, 2, 1);
        const Outcome<float> all = passOver(sample, Path::Fused);
        const Layer<float> layer = layerOf(sample.description());
        std::vector<float> weights(sample.weights.size());
        QVERIFY(backward<float>(layer, {2, &all.tape, sample.outputGradients, {}, weights, {}}).ok());
        QVERIFY(weights == all.weightGradients);
    }
};

QTEST_GUILESS_MAIN(LutPathTest)
#include "pathtest.moc"
