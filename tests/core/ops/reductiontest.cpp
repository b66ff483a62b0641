// SPDX-License-Identifier: Apache-2.0
// ReduceSum, ReduceMean and Softmax: values, forms of the axes over the opsets, spreading back.
#include "tests/core/ops/opcase.h"

#include <QtTest>

using namespace retro::tests;
using Ints = std::vector<std::int64_t>;

namespace
{

const Tensor kX = doubles({2, 3}, {1, 2, 3, 4, 5, 6});
const std::int64_t kNo = 0;

} // namespace

class ReductionTest : public QObject
{
    Q_OBJECT
private slots:
    void sums()
    {
        QCOMPARE(q(OpCase("ReduceSum").operand(kX).run()), "[1 × 1] 21");
        QCOMPARE(q(OpCase("ReduceSum").with("keepdims", kNo).operand(kX).run()), "[scalar] 21");
        QCOMPARE(q(OpCase("ReduceSum").with("keepdims", kNo).operand(kX).constant(ints({0})).run()), "[3] 5 7 9");
        QCOMPARE(q(OpCase("ReduceSum").operand(kX).constant(ints({-1})).run()), "[2 × 1] 6 15");
        QCOMPARE(q(OpCase("ReduceSum", 11).with("axes", Ints{1}).operand(kX).run()), "[2 × 1] 6 15");
        QCOMPARE(q(OpCase("ReduceSum").with("noop_with_empty_axes", std::int64_t{1}).operand(kX).run()),
                 "[2 × 3] 1 2 3 4 5 6");
        QCOMPARE(q(OpCase("ReduceSum").operand(ints({3, 4})).run()), "[1] 7");
    }

    /// An axis of no elements is none of one: nothing is read, and what is left has no elements or is 0.
    void sumsOfNothing()
    {
        const auto sum = [](Shape shape, std::int64_t axis) {
            return q(OpCase("ReduceSum")
                         .operand(Tensor::zeros(DType::Float32, std::move(shape)))
                         .constant(ints({axis}))
                         .run());
        };
        QCOMPARE(sum({0, 4, 60000}, 1), "[0 × 1 × 60000]");
        QCOMPARE(sum({4, 0, 60000}, 0), "[1 × 0 × 60000]");
        QCOMPARE(sum({2, 4, 0}, 1), "[2 × 1 × 0]");
        QCOMPARE(sum({0, 2, 3}, 0), "[1 × 2 × 3] 0 0 0 0 0 0");
        QCOMPARE(sum({2, 0, 9}, 1), "[2 × 1 × 9]" + QString(" 0").repeated(18));
    }

    void means()
    {
        QCOMPARE(q(OpCase("ReduceMean").with("axes", Ints{0}).operand(kX).run()), "[1 × 3] 2.5 3.5 4.5");
        QCOMPARE(q(OpCase("ReduceMean", 18).with("keepdims", kNo).operand(kX).constant(ints({1})).run()), "[2] 2 5");
        QCOMPARE(q(OpCase("ReduceMean").operand(ints({3, 4})).run()), "[1] 3");
    }

    void sumsAreAccurate()
    {
        const Tensor x = Tensor::full(DType::Float32, {1, 1'000'000}, 0.1);
        OpCase c("ReduceSum");
        QVERIFY(c.operand(x).bind());
        QVERIFY(std::abs(c.forward()[0].at(0) - 100'000.0) < 0.05);
    }

    void spreadRepeats()
    {
        OpCase c("ReduceMean");
        QVERIFY(c.with("axes", Ints{1}).with("keepdims", kNo).operand(kX).bind());
        const auto& reduction = c.structure<retro::ops::Reduction>();
        QVERIFY(reduction.isMean());
        QCOMPARE(q(textOf(reduction.spread(doubles({2}, {7, 8})))), "[2 × 3] 7 7 7 8 8 8");
        QCOMPARE(c.op().savedForGradient().operands, 0U);
    }

    void softmax()
    {
        const Tensor x = doubles({2, 2}, {0, std::log(3.0), 1000, 1000});
        QCOMPARE(q(OpCase("Softmax").operand(x).run()), "[2 × 2] 0.25 0.75 0.5 0.5");
        QCOMPARE(q(OpCase("Softmax").operand(doubles({1, 2}, {-INFINITY, 3})).run()), "[1 × 2] 0 1");
        QCOMPARE(
            q(OpCase("Softmax").with("axis", std::int64_t{0}).operand(doubles({2, 2}, {0, 5, std::log(4.0), 5})).run()),
            "[2 × 2] 0.2 0.5 0.8 0.5");
    }

    void softmaxOfOldOpsetsTakesTheWholeTail()
    {
        const Tensor x = doubles({1, 2, 2}, {0, 0, 0, std::log(2.0)});
        QCOMPARE(q(OpCase("Softmax", 11).operand(x).run()), "[1 × 2 × 2] 0.2 0.2 0.2 0.4");
        OpCase c("Softmax", 11);
        QVERIFY(c.operand(x).bind());
        const auto& softmax = c.structure<retro::ops::Softmax>();
        QCOMPARE(q(textOf(softmax.sumOverAxis(doubles({1, 2, 2}, {1, 2, 3, 4})))), "[1 × 1 × 1] 10");
        QCOMPARE(c.op().savedForGradient().outputs, 1U);
    }

    void sumOverAxisFollowsTheAxis()
    {
        OpCase c("Softmax");
        QVERIFY(c.with("axis", std::int64_t{0}).operand(kX).bind());
        QCOMPARE(q(textOf(c.structure<retro::ops::Softmax>().sumOverAxis(kX))), "[1 × 3] 5 7 9");
    }
};

QTEST_GUILESS_MAIN(ReductionTest)
#include "reductiontest.moc"
