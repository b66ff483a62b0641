// SPDX-License-Identifier: Apache-2.0
// Operators against values worked out by hand: integers of every width, corner cases of the standard.
#include "tests/core/ops/opcase.h"

#include <QtTest>

using namespace retro::tests;

namespace
{

Tensor of(DType type, const std::vector<std::int64_t>& values) { return ints(values).to(type); }

const DType kBytes = DType::UInt8;

} // namespace

class ValueTest : public QObject
{
    Q_OBJECT
private slots:
    void integersWrapAround()
    {
        const Tensor a = of(kBytes, {250, 3, 0});
        const Tensor b = of(kBytes, {10, 5, 1});
        QCOMPARE(q(OpCase("Add").operand(a).operand(b).run()), "[3] 4 8 1");
        QCOMPARE(q(OpCase("Sub").operand(a).operand(b).run()), "[3] 240 254 255");
        QCOMPARE(q(OpCase("Mul").operand(a).operand(b).run()), "[3] 196 15 0");
        QCOMPARE(q(OpCase("Div").operand(a).operand(of(kBytes, {4, 0, 3})).run()), "[3] 62 0 0");
        QCOMPARE(q(OpCase("Div").operand(of(DType::Int16, {-7, 7})).operand(of(DType::Int16, {2, -2})).run()),
                 "[2] -3 -3");
        QCOMPARE(q(OpCase("Neg").operand(of(DType::Int8, {-128, 5})).run()), "[2] -128 -5");
        QCOMPARE(q(OpCase("Abs").operand(of(DType::Int8, {-128, -5})).run()), "[2] -128 5");
        QCOMPARE(q(OpCase("ReduceSum").operand(of(DType::Int8, {100, 100})).run()), "[1] -56");
        QCOMPARE(q(OpCase("Relu", 14).operand(of(DType::Int8, {-3, 4})).run()), "[2] 0 4");
        // Beyond int64, as unsigned.
        const Tensor large = of(DType::Int64, {-1}).to(DType::UInt64);
        QCOMPARE(q(OpCase("Greater").operand(large).operand(of(DType::UInt64, {1})).run()), "[1] 1");
        QCOMPARE(q(OpCase("Max").operand(large).operand(of(DType::UInt64, {1})).run()), q(textOf(large)));
    }

    void remainders()
    {
        const Tensor x = ints({-4, 7, 5, 4, -7, 8});
        const Tensor y = ints({2, -3, 8, -2, 3, 5});
        QCOMPARE(q(OpCase("Mod").operand(x).operand(y).run()), "[6] 0 -2 5 0 2 3");
        QCOMPARE(q(OpCase("Mod").with("fmod", std::int64_t{1}).operand(x).operand(y).run()), "[6] 0 1 5 0 -1 3");
        QCOMPARE(q(OpCase("Mod").operand(ints({5})).operand(ints({0})).run()), "[1] 0");
        QVERIFY(OpCase("Mod").operand(doubles({1}, {5})).operand(doubles({1}, {2})).refusal().find("fmod = 1") !=
                std::string::npos);
    }

    void powers()
    {
        QCOMPARE(q(OpCase("Pow").operand(ints({2, -3, 7, 2})).operand(ints({10, 3, 0, -1})).run()), "[4] 1024 -27 1 0");
        QCOMPARE(q(OpCase("Pow").operand(ints({1, 2, 9})).operand(doubles({}, {0.5})).run()), "[3] 1 1 3");
        QCOMPARE(q(OpCase("Pow").operand(doubles({2}, {1.5, 0})).constant(ints({2})).run()), "[2] 2.25 0");
        QCOMPARE(q(OpCase("Pow").operand(doubles({2}, {-1.5, 2})).constant(ints({3})).run()), "[2] -3.375 8");
    }

    void logicAndBits()
    {
        const Tensor a = of(DType::Bool, {0, 0, 1, 1});
        const Tensor b = of(DType::Bool, {0, 1, 0, 1});
        QCOMPARE(q(OpCase("And").operand(a).operand(b).run()), "[4] 0 0 0 1");
        QCOMPARE(q(OpCase("Or").operand(a).operand(b).run()), "[4] 0 1 1 1");
        QCOMPARE(q(OpCase("Xor").operand(a).operand(b).run()), "[4] 0 1 1 0");
        QCOMPARE(q(OpCase("Not").operand(a).run()), "[4] 1 1 0 0");
        QCOMPARE(q(OpCase("BitwiseNot", 18).operand(of(kBytes, {0, 170})).run()), "[2] 255 85");
        const auto shift = [](const std::string& direction) {
            return OpCase("BitShift")
                .with("direction", direction)
                .operand(of(kBytes, {16, 129, 1}))
                .operand(of(kBytes, {1, 1, 9}))
                .run();
        };
        QCOMPARE(q(shift("RIGHT")), "[3] 8 64 0");
        QCOMPARE(q(shift("LEFT")), "[3] 32 2 0");
    }

    void rounding()
    {
        const Tensor x = doubles({6}, {-2.5, -1.5, -0.2, 0.5, 1.5, 2.7});
        QCOMPARE(q(OpCase("Round").operand(x).run()), "[6] -2 -2 -0 0 2 3");
        QCOMPARE(q(OpCase("Ceil").operand(x).run()), "[6] -2 -1 -0 1 2 3");
        QCOMPARE(q(OpCase("Floor").operand(x).run()), "[6] -3 -2 -1 0 1 2");
        QCOMPARE(q(OpCase("Sign").operand(ints({-3, 0, 9})).run()), "[3] -1 0 1");
        const Tensor odd = doubles({4}, {std::nan(""), -INFINITY, INFINITY, 1});
        QCOMPARE(q(OpCase("IsNaN").operand(odd).run()), "[4] 1 0 0 0");
        QCOMPARE(q(OpCase("IsInf").with("detect_negative", std::int64_t{0}).operand(odd).run()), "[4] 0 0 1 0");
    }

    void extremesOfRowsAndOfNothing()
    {
        const Tensor none = doubles({2, 0}, {});
        const std::vector<std::int64_t> last{1};
        const auto reduce = [&](const char* op) { return OpCase(op, 11).with("axes", last).operand(none).run(); };
        QCOMPARE(q(reduce("ReduceMax")), "[2 × 1] -inf -inf");
        QCOMPARE(q(reduce("ReduceMin")), "[2 × 1] inf inf");
        QCOMPARE(q(reduce("ReduceProd")), "[2 × 1] 1 1");
        QCOMPARE(q(reduce("ReduceLogSumExp")), "[2 × 1] -inf -inf");
        QVERIFY(
            OpCase("ReduceMax", 11).with("axes", last).operand(none.to(DType::Int8)).refusal().find("no elements") !=
            std::string::npos);
        // Without axes, and asked to reduce none, the rest of the function still happens.
        OpCase squares("ReduceSumSquare", 18);
        squares.with("noop_with_empty_axes", std::int64_t{1}).operand(doubles({2}, {2, 3}));
        QCOMPARE(q(squares.run()), "[2] 4 9");
    }

    void picksAndOrders()
    {
        const Tensor x = doubles({2, 3}, {1, 5, 5, 2, 0, 2});
        QCOMPARE(q(OpCase("ArgMax").with("axis", std::int64_t{1}).operand(x).run()), "[2 × 1] 1 0");
        QCOMPARE(q(OpCase("ArgMax")
                       .with("axis", std::int64_t{1})
                       .with("keepdims", std::int64_t{0})
                       .with("select_last_index", std::int64_t{1})
                       .operand(x)
                       .run()),
                 "[2] 2 2");
        const auto top = [&](std::size_t output) {
            return OpCase("TopK").operand(x).constant(ints({2})).outputs(2).run(output);
        };
        QCOMPARE(q(top(0)), "[2 × 2] 5 5 2 2");
        QCOMPARE(q(top(1)), "[2 × 2] 1 2 0 2");
        // NaN has a place, so that nothing is compared without an answer.
        QCOMPARE(q(OpCase("TopK")
                       .operand(doubles({4}, {1, std::nan(""), 3, std::nan("")}))
                       .constant(ints({3}))
                       .outputs(2)
                       .run(1)),
                 "[3] 1 3 2");
        QCOMPARE(q(OpCase("NonZero").constant(doubles({2, 2}, {1, 0, 0, 4})).run()), "[2 × 2] 0 1 0 1");
        const auto unique = [](std::size_t output) {
            return OpCase("Unique").with("sorted", std::int64_t{0}).constant(ints({3, 1, 3})).outputs(4).run(output);
        };
        QCOMPARE(q(unique(0)), "[2] 3 1");
        QCOMPARE(q(unique(1)), "[2] 0 1");
        QCOMPARE(q(unique(2)), "[3] 0 1 0");
        QCOMPARE(q(unique(3)), "[2] 2 1");
    }

    void whatIsPadded()
    {
        const Tensor x = doubles({3}, {1, 2, 3});
        const auto pad = [&](const std::string& mode, std::int64_t begin, std::int64_t end) {
            return OpCase("Pad", 19).with("mode", mode).operand(x).constant(ints({begin, end})).run();
        };
        QCOMPARE(q(pad("edge", 3, 2)), "[8] 1 1 1 1 2 3 3 3");
        QCOMPARE(q(pad("reflect", 2, 2)), "[7] 3 2 1 2 3 2 1");
        QCOMPARE(q(pad("wrap", 3, 2)), "[8] 1 2 3 1 2 3 1 2");
        // Cut first, then what is left is continued.
        QCOMPARE(q(pad("edge", 2, -1)), "[4] 1 1 1 2");
        QCOMPARE(q(pad("reflect", -1, 1)), "[3] 2 3 2");
        QCOMPARE(q(pad("wrap", 2, -1)), "[4] 1 2 1 2");
        QCOMPARE(q(pad("wrap", -1, 2)), "[4] 2 3 2 3");
    }

    void scatterWithEqualIndices()
    {
        const Tensor x = doubles({3}, {1, 2, 3});
        const auto scatter = [&](const std::string& reduction) {
            return OpCase("ScatterElements", 18)
                .with("reduction", reduction)
                .operand(x)
                .operand(ints({1, 1, -1}))
                .operand(doubles({3}, {5, -4, 2}))
                .run();
        };
        QCOMPARE(q(scatter("none")), "[3] 1 -4 2");
        QCOMPARE(q(scatter("add")), "[3] 1 3 5");
        QCOMPARE(q(scatter("mul")), "[3] 1 -40 6");
        QCOMPARE(q(scatter("max")), "[3] 1 5 3");
        QCOMPARE(q(scatter("min")), "[3] 1 -4 2");
    }

    void onlyTheLastWriterGetsTheGradient()
    {
        OpCase c("ScatterElements", 18);
        c.operand(doubles({3}, {1, 2, 3})).operand(ints({1, 1})).operand(doubles({2}, {5, 6}));
        QVERIFY2(c.bind(), c.error().c_str());
        const auto& map = c.structure<retro::ops::ShapeMap>();
        QVERIFY(map.isSteered());
        const std::vector<Tensor> s{doubles({3}, {10, 20, 30})};
        QCOMPARE(q(textOf(map.carryBack(s, c.operands(), 0))), "[3] 10 0 30");
        QCOMPARE(q(textOf(map.carryBack(s, c.operands(), 2))), "[2] 0 20");
    }

    void indicesOutsideAreRefusedAndHarmless()
    {
        OpCase c("Gather");
        QVERIFY(c.operand(doubles({2}, {1, 2})).operand(ints({-2, 5})).bind());
        const auto checked = c.op().check(c.operands());
        QVERIFY(!checked.ok());
        QCOMPARE(q(checked.error().message), "index 5 is outside an extent of 2");
        QCOMPARE(q(textOf(c.forward()[0])), "[2] 1 0");
    }

    void castsAndKnownTensors()
    {
        QCOMPARE(q(OpCase("Cast").with("to", std::int64_t{2}).operand(doubles({2}, {3.7, -1})).run()), "[2] 3 255");
        QCOMPARE(q(OpCase("CastLike", 15).operand(doubles({2}, {3.7, 0})).operand(of(DType::Bool, {1})).run()),
                 "[2] 1 0");
        QCOMPARE(q(OpCase("Range").constant(ints({10})).constant(ints({3})).constant(ints({-3})).run()), "[3] 10 7 4");
        QCOMPARE(q(OpCase("EyeLike").with("k", std::int64_t{1}).operand(doubles({2, 2}, {0, 0, 0, 0})).run()),
                 "[2 × 2] 0 1 0 0");
        QCOMPARE(q(OpCase("Size").operand(doubles({2, 3}, {0, 0, 0, 0, 0, 0})).run()), "[scalar] 6");
        QCOMPARE(q(OpCase("OneHot").operand(ints({1, -1, 7})).constant(ints({3})).constant(doubles({2}, {0, 1})).run()),
                 "[3 × 3] 0 1 0 0 0 1 0 0 0");
    }

    void oldBroadcasting()
    {
        const std::int64_t on = 1;
        const Tensor a = doubles({2, 3}, {1, 2, 3, 4, 5, 6});
        const Tensor b = doubles({3}, {10, 20, 30});
        QCOMPARE(q(OpCase("Add", 6).with("broadcast", on).with("axis", on).operand(a).operand(b).run()),
                 "[2 × 3] 11 22 33 14 25 36");
        QVERIFY(OpCase("Add", 6).operand(a).operand(b).refusal().find("broadcast = 1") != std::string::npos);
        QVERIFY(OpCase("Mul", 6)
                    .with("broadcast", on)
                    .with("axis", std::int64_t{0})
                    .operand(doubles({3, 3}, std::vector<double>(9, 1)))
                    .operand(b)
                    .refusal()
                    .find("opset 7") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(ValueTest)
#include "valuetest.moc"
