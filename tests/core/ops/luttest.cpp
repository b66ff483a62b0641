// SPDX-License-Identifier: Apache-2.0
// The operator LUT: worked examples by hand, every refusal, and agreement with the kernels on grid values, where ties
// are common.
#include "core/ops/lut/lut.h"
#include "core/base/memoryaccount.h"
#include "core/ops/tablelookup.h"
#include "tests/core/ops/opcase.h"
#include "tests/kernels/lut/samplelayer.h"

#include "kernels/lut/run.h"

#include <QtTest>

using namespace retro::tests;
namespace lut = retro::lut;
namespace ops = retro::ops;
using retro::luttest::SampleLayer;

namespace
{

using Ints = std::vector<std::int64_t>;

Tensor anchorList(Shape shape, const Ints& ids) { return Tensor::of<std::int64_t>(std::move(shape), ids); }

OpCase lutCase() { return OpCase("LUT", 1, "ai.retrograde"); }

/// T = 1, pairs (0, 1), (1, 2), rows (1, 2), (3, 4), (5, 6), (7, 8).
OpCase small()
{
    OpCase c = lutCase();
    return c.operand(doubles({1, 3}, {3, 1, 2}))
        .constant(anchorList({1, 2, 2}, {0, 1, 1, 2}))
        .constant(doubles({1, 4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}));
}

/// The same rows, of which each keeps the output of its number's parity, and row 0 none.
OpCase smallSparse()
{
    OpCase c = lutCase();
    return c.operand(doubles({1, 3}, {3, 1, 2}))
        .constant(anchorList({1, 2, 2}, {0, 1, 1, 2}))
        .constant(doubles({3}, {4, 5, 8}))
        .absent()
        .constant(ints({0, 0, 1, 2, 3}))
        .constant(ints({1, 0, 1}))
        .with("outputs", std::int64_t{2});
}

/// Three positions, pair (0, 1), one code bit; row ρ is (ρ, 10 ρ).
OpCase smallSequence()
{
    OpCase c = lutCase();
    return c.operand(doubles({1, 3, 2}, {2, 1, 0, 3, 1, 0.5}))
        .constant(anchorList({1, 1, 2}, {0, 1}))
        .constant(doubles({1, 8, 2}, {0, 0, 1, 10, 2, 20, 3, 30, 4, 40, 5, 50, 6, 60, 7, 70}))
        .constant(doubles({2, 1, 1}, {0.25, -1}))
        .with("sequence", std::int64_t{1});
}

std::string gradientOf(OpCase& c, const Tensor& s, std::size_t slot)
{
    if (!c.bind()) {
        return c.error();
    }
    return textOf(c.structure<ops::Differentiable>().pullback(std::span(&s, 1), c.operands(), {}, slot));
}

OpCase caseOf(const SampleLayer<double>& sample, bool isFlat)
{
    const lut::LayerShape& shape = sample.shape;
    const auto extent = [](std::uint64_t n) { return static_cast<std::int64_t>(n); };
    Ints anchors;
    for (const lut::Anchor& pair : sample.anchors) {
        const bool isUnused = pair.a == lut::kUnusedAnchor;
        anchors.insert(anchors.end(), {isUnused ? -1 : std::int64_t{pair.a}, isUnused ? -1 : std::int64_t{pair.b}});
    }
    Shape x{extent(sample.batch)};
    if (!isFlat) {
        x.insert(x.begin(), 1);
    }
    if (shape.isSequence) {
        x.push_back(shape.length);
    }
    x.push_back(shape.inputs);
    OpCase c = lutCase();
    c.operand(doubles(x, sample.input)).constant(anchorList({shape.tables, shape.comparisons, 2}, anchors));
    const std::int64_t synapses = extent(sample.weights.size());
    c.operand(doubles(sample.isSparse ? Shape{synapses} : Shape{shape.tables, extent(shape.rows()), shape.outputs},
                      sample.weights));
    shape.codeBits > 0 ? c.operand(doubles({shape.lags(), shape.tables, shape.codeBits}, sample.codes)) : c.absent();
    if (sample.isSparse) {
        c.constant(ints(Ints(sample.rowStarts.begin(), sample.rowStarts.end())));
        c.constant(ints(Ints(sample.columns.begin(), sample.columns.end())));
        c.with("outputs", std::int64_t{shape.outputs});
    }
    return c.with("sequence", std::int64_t{shape.isSequence ? 1 : 0});
}

/// Most bytes of workspace that are there while f() runs.
template <class F>
std::uint64_t held(const F& f)
{
    retro::base::MemoryAccount& account = retro::base::MemoryAccount::workspace();
    account.resetPeak();
    const std::int64_t before = account.live();
    f();
    return static_cast<std::uint64_t>(account.peak() - before);
}

std::vector<double> valuesOf(const Tensor& t)
{
    const Tensor c = t.contiguous();
    return {c.span<double>().begin(), c.span<double>().end()};
}

} // namespace

class LutTest : public QObject
{
    Q_OBJECT

private slots:
    void fullyConnected()
    {
        OpCase c = small();
        QCOMPARE(c.run(), std::string("[1 × 2] 3 4"));
        const Tensor s = doubles({1, 2}, {1, 0.5});
        QCOMPARE(gradientOf(c, s, 0), std::string("[1 × 3] 0 0.75 -0.75"));
        QCOMPARE(gradientOf(c, s, 2), std::string("[1 × 4 × 2] 0 0 1 0.5 0 0 0 0"));
    }

    void sparse()
    {
        OpCase c = smallSparse();
        QCOMPARE(c.run(), std::string("[1 × 2] 0 4"));
        const Tensor s = doubles({1, 2}, {1, 0.5});
        QCOMPARE(gradientOf(c, s, 0), std::string("[1 × 3] 0 0.25 -0.25"));
        QCOMPARE(gradientOf(c, s, 2), std::string("[3] 0.5 0 0"));
    }

    void sequence()
    {
        OpCase c = smallSequence();
        QCOMPARE(c.run(), std::string("[1 × 3 × 2] 0 0 3 30 11 110"));
        const Tensor s = doubles({1, 3, 2}, {7, 7, 1, 2, 3, 1});
        QCOMPARE(gradientOf(c, s, 0), std::string("[1 × 3 × 2] 5.25 -5.25 0 0 23.111111 -23.111111"));
        const auto& table = c.structure<ops::Differentiable>();
        const Tensor codes = table.pullback(std::span(&s, 1), c.operands(), {}, 3);
        QVERIFY(distance(codes, doubles({2, 1, 1}, {10.88, 0})) < 1e-12);
    }

    void whatItIs()
    {
        OpCase c = smallSequence();
        QVERIFY(c.bind());
        QVERIFY(c.op().structure().kind() == ops::StructureKind::TableLookup);
        QCOMPARE(c.op().savedForGradient().operands, std::uint64_t{0b1101});
        QCOMPARE(c.op().savedForGradient().outputs, std::uint64_t{0});
        const auto& table = c.structure<ops::TableLookup>();
        const ops::TableChoices chosen = table.choices(c.operands());
        QCOMPARE(textOf(chosen.rows.to(DType::Float64)), std::string("[1 × 3 × 1] 1 0 1"));
        QCOMPARE(textOf(chosen.deltas), std::string("[1 × 3 × 1] 1 -3 0.5"));
        QCOMPARE(textOf(chosen.codeRows.to(DType::Float64)), std::string("[2 × 1] 1 0"));
        lut::Schedule schedule;
        QVERIFY(lut::makeSchedule(table.schedule(lut::Path::Documented, lut::Pass::Forward), schedule).ok());
        QVERIFY(!schedule.launches.empty());
        QCOMPARE(schedule.find(lut::BufferId::Weights)->bytes, std::uint64_t{8 * 16});
    }

    void withoutADeviceNothingIsMeasured()
    {
        if (lut::availability(lut::Backend::Cuda).ok()) {
            QSKIP("there is a device");
        }
        OpCase c = small();
        QVERIFY(c.bind());
        const auto times = c.structure<ops::LutOperator>().timeOnDevice(c.operands(), lut::Path::Fused);
        QVERIFY(!times.ok() && times.error().code == retro::base::ErrorCode::Engine);
        QVERIFY(times.error().message.find("CUDA") != std::string::npos);
    }

    void theDocumentedPathGivesTheSame()
    {
        for (OpCase c : {small(), smallSparse(), smallSequence()}) {
            OpCase documented = c;
            documented.with("documented", std::int64_t{1});
            QCOMPARE(documented.run(), c.run());
            QVERIFY(documented.structure<ops::TableLookup>().path() == lut::Path::Documented);
            QVERIFY(c.structure<ops::TableLookup>().path() == lut::Path::Fused);
        }
    }

    /// Firing statistics, events, scores and chosen rows are what the operator states, in every kind of run.
    void workspaceIsWhatIsHeld()
    {
        for (OpCase c : {small(), smallSparse(), smallSequence()}) {
            for (const std::int64_t isDocumented : {0, 1}) {
                c.with("documented", isDocumented);
                QVERIFY2(c.bind(), c.error().c_str());
                const auto& table = c.structure<ops::TableLookup>();
                const Tensor y = c.forward()[0];
                QCOMPARE(held([&] { (void)c.forward(); }), c.op().workspace(ops::Work::Forward));
                const bool isKept = isDocumented != 0 || table.layerShape().isSequence;
                QCOMPARE(c.op().workspace(ops::Work::Forward) > 0, isKept);
                for (const std::size_t slot : {0, 2, 3}) {
                    if (slot < c.operands().size() && c.operands()[slot].isValid()) {
                        QCOMPARE(held([&] { (void)table.pullback(std::span(&y, 1), c.operands(), {}, slot); }),
                                 c.op().workspace(ops::Work::Reverse, slot));
                    }
                }
                const auto as = [](const Tensor& result) { return result; };
                QCOMPARE(held([&] { (void)table.distribute(as, c.operands(), lut::TableRule::FlipContrast, false); }),
                         c.op().workspace(ops::Work::Relevance));
            }
        }
    }

    /// Each element of the firing statistics [1, 3, 1, 8] is looked at.
    void statisticsCost()
    {
        OpCase c = smallSequence();
        QVERIFY(c.bind());
        const double fused = c.op().flops();
        const double moved = c.op().traffic();
        QVERIFY(c.with("documented", std::int64_t{1}).bind());
        QCOMPARE(c.op().flops(), fused + 24);
        QVERIFY(moved > 0 && c.op().traffic() > moved + 24 * 8);
    }

    /// Dense scratch that is too large is refused with its size when the node is bound; the fused path has none.
    void scratchBeyondTheLimitIsRefused()
    {
        OpCase c = lutCase();
        c.operand(Tensor::zeros(DType::Float64, {20'000, 3, 2}))
            .constant(anchorList({1, 6, 2}, {0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0}))
            .constant(Tensor::zeros(DType::Float64, {1, 4096, 1}))
            .with("sequence", std::int64_t{1});
        QVERIFY2(c.bind(), c.error().c_str());
        c.with("documented", std::int64_t{1});
        QVERIFY(!c.bind());
        QVERIFY2(QString::fromStdString(c.error()).contains("the documented path needs 1968960000 bytes"),
                 c.error().c_str());
        QVERIFY(QString::fromStdString(c.error()).contains("take the fused path"));
    }

    /// Leading axes are the batch, and a rank more changes nothing.
    void gridValuesAgreeWithTheKernels()
    {
        for (unsigned seed = 1; seed <= 24; ++seed) {
            const bool isSequence = seed % 2 == 0;
            const std::uint32_t length = isSequence ? (seed % 3 == 0 ? 33 : 2) : 1;
            const SampleLayer<double> sample({5, 3, 4, 2, isSequence ? seed % 3 : 0, length, isSequence}, seed % 4 < 2,
                                             3, seed);
            const lut::Layer<double> layer = retro::luttest::layerOf(sample.description());
            std::vector<double> y(sample.outputGradients.size());
            lut::Tape<double> tape;
            QVERIFY(lut::forward<double>(layer, {sample.batch, sample.input, y, &tape}).ok());
            std::vector<double> dx(sample.input.size());
            std::vector<double> dw(sample.weights.size());
            std::vector<double> codes(sample.codes.size());
            QVERIFY(lut::backward<double>(layer, {sample.batch, &tape, sample.outputGradients, dx, dw, codes}).ok());

            OpCase c = caseOf(sample, seed % 5 != 0);
            QVERIFY2(c.bind(), c.error().c_str());
            const std::vector<Tensor> results = c.forward();
            QCOMPARE(valuesOf(results[0]), y);
            const Tensor s = doubles(results[0].shape(), sample.outputGradients);
            const auto& table = c.structure<ops::TableLookup>();
            const auto gradient = [&](std::size_t slot) {
                return valuesOf(table.pullback(std::span(&s, 1), c.operands(), results, slot));
            };
            QCOMPARE(gradient(0), dx);
            QCOMPARE(gradient(2), dw);
            if (!sample.codes.empty()) {
                QCOMPARE(gradient(3), codes);
            }
            double sum = 0;
            for (const double g : dx) {
                sum += g;
            }
            QVERIFY(std::abs(sum) < 1e-9);
        }
    }

    void floatAndOtherOrder()
    {
        OpCase c = lutCase();
        c.operand(randomTensor({2, 3, 6}, DType::Float32, 4)).constant(anchorList({2, 1, 2}, {0, 5, 3, 1}));
        c.operand(randomTensor({2, 4, 3}, DType::Float32, 5)).with("sequence", std::int64_t{1});
        QVERIFY2(c.bind(), c.error().c_str());
        std::vector<Tensor> moved{inOtherOrder(c.operands()[0]), c.operands()[1], inOtherOrder(c.operands()[2])};
        QVERIFY(c.forward()[0].bitEqual(c.forward(moved)[0]));
    }

    void emptyBatch()
    {
        OpCase c = lutCase();
        c.operand(doubles({0, 3}, {}))
            .constant(anchorList({1, 1, 2}, {0, 1}))
            .constant(doubles({1, 2, 2}, {1, 2, 3, 4}));
        QCOMPARE(c.run(), std::string("[0 × 2]"));
    }

    void refusals()
    {
        const Tensor x = doubles({1, 3}, {3, 1, 2});
        const Tensor pair = anchorList({1, 1, 2}, {0, 1});
        const Tensor w = doubles({1, 2, 1}, {1, 2});
        const auto with = [&](const Tensor& input, const Tensor& anchors, const Tensor& weights) {
            return lutCase().operand(input).constant(anchors).constant(weights);
        };
        const auto expectRefusal = [](OpCase c, const char* text) {
            const std::string refusal = c.refusal();
            RETRO_SAYS(refusal, text, "LUT");
        };
        expectRefusal(with(x, anchorList({1, 1, 2}, {0, 3}), w), "reads an input that does not exist");
        expectRefusal(with(x, anchorList({1, 1, 2}, {0, -7}), w), "anchors[1] is -7; inputs are 0 to 2");
        expectRefusal(with(x, anchorList({1, 1, 2}, {2, 2}), w), "compares an input with itself");
        expectRefusal(with(x, anchorList({1, 1, 2}, {-1, 2}), w), "half unused");
        expectRefusal(with(x, anchorList({1, 2}, {0, 1}), w), "detectors × comparisons × 2");
        expectRefusal(with(x, doubles({1, 1, 2}, {0, 1}), w), "must be int32 or int64");
        expectRefusal(with(x, anchorList({1, 0, 2}, {}), doubles({1, 1, 1}, {1})), "anchor pairs per detector C is 0");
        expectRefusal(with(x, anchorList({1, 17, 2}, Ints(34, 0)), w), "1 × 131072 × outputs");
        expectRefusal(with(x, anchorList({1, 40, 2}, Ints(80, 0)), w), "C is 40");
        expectRefusal(with(x, pair, doubles({1, 3, 1}, {1, 2, 3})), "need 1 × 2 × outputs");
        expectRefusal(with(x, pair, doubles({1, 2, 0}, {})), "number of outputs O is 0");
        expectRefusal(with(doubles({1, 1}, {3}), pair, w), "number of inputs I is 1");
        expectRefusal(with(doubles({}, {3}), pair, w), "the input is");
        expectRefusal(with(x.to(DType::Float32), pair, w), "all alike");
        expectRefusal(with(x, pair, w).with("outputs", std::int64_t{2}), "rows have 1 weights");
        expectRefusal(with(x, pair, w).with("forward_group", std::int64_t{0}), "group size is 0");
        expectRefusal(with(x, pair, w).with("backward_group", std::int64_t{-1}), "backward_group is -1");
        expectRefusal(with(x, pair, w).constant(doubles({1, 1, 1}, {1})), "need sequence = 1");
        expectRefusal(with(x, pair, w).absent().constant(ints({0})), "given together");
        expectRefusal(with(x, pair, doubles({1, 4, 1}, {1, 2, 3, 4})).with("sequence", std::int64_t{1}),
                      "sequence length S is 1");
        const Tensor xs = doubles({2, 3}, {3, 1, 2, 0, 0, 0});
        const Tensor ws = doubles({1, 8, 1}, std::vector<double>(8, 1));
        expectRefusal(with(xs, pair, ws).constant(doubles({2, 1, 1}, {1, 1})).with("sequence", std::int64_t{1}),
                      "need 1 × 1 × bits");
        expectRefusal(with(xs, anchorList({1, 13, 2}, Ints(26, 0)), ws).with("sequence", std::int64_t{1}),
                      "2 C + P is 26 bits");
    }

    void refusalsOfConnectivity()
    {
        const auto sparseCase = [](const Tensor& starts, const Tensor& columns, std::int64_t outputs) {
            OpCase c = lutCase();
            return c.operand(doubles({1, 3}, {3, 1, 2}))
                .constant(anchorList({1, 1, 2}, {0, 1}))
                .constant(doubles({2}, {4, 5}))
                .absent()
                .constant(starts)
                .constant(columns)
                .with("outputs", outputs);
        };
        const auto expectRefusal = [](OpCase c, const char* text) {
            const std::string refusal = c.refusal();
            QVERIFY2(refusal.find(text) != std::string::npos, refusal.c_str());
        };
        QCOMPARE(sparseCase(ints({0, 1, 2}), ints({0, 1}), 2).refusal(), std::string("bound"));
        expectRefusal(sparseCase(ints({0, 1}), ints({0, 1}), 2), "row starts has 2 elements");
        expectRefusal(sparseCase(ints({0, 2, 1}), ints({0, 1}), 2), "descend at row 2");
        expectRefusal(sparseCase(ints({0, -1, 2}), ints({0, 1}), 2), "row starts[1] is -1;");
        expectRefusal(sparseCase(ints({0, 1, 1}), ints({0, 1}), 2), "must run from 0 to the 2 synapses");
        expectRefusal(sparseCase(ints({0, 1, 2}), ints({0, 2}), 2), "goes to output 2 of 2");
        expectRefusal(sparseCase(ints({0, 1, 2}), ints({0, -2}), 2), "columns[1] is -2; outputs are 0 to 1");
        expectRefusal(sparseCase(ints({0, 1, 2}), ints({0, -1}), 2), "columns[1] is -1; outputs are 0 to 1");
        expectRefusal(sparseCase(ints({0, 1, 2}), Tensor::of<std::int64_t>({2}, Ints{5'000'000'000, 0}), 2),
                      "columns[0] is 5000000000; outputs are 0 to 1");
        expectRefusal(sparseCase(ints({0, 1, 2}), ints({0}), 2), "columns has 1 elements");
        expectRefusal(sparseCase(ints({0, 1, 2}), ints({0, 1}), 0), "at least 1");
    }
};

QTEST_GUILESS_MAIN(LutTest)
#include "luttest.moc"
