// SPDX-License-Identifier: Apache-2.0
// Pooling: values by hand, ceil_mode, dilation, padding, first maximum, adjoints.
#include "tests/core/ops/opcase.h"

#include <QtTest>

using namespace retro::tests;
using Ints = std::vector<std::int64_t>;

namespace
{

const Tensor kX = doubles({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});

OpCase pool(const char* op, const Ints& kernel, const Ints& strides, const Ints& pads = {})
{
    OpCase c(op, 22);
    c.with("kernel_shape", kernel).with("strides", strides);
    if (!pads.empty()) {
        c.with("pads", pads);
    }
    return c;
}

const std::int64_t kYes = 1;

/// Calls f(window, begin, end) for every window over a row of `image` elements that lies in `pads` on both sides: what
/// it sees of the row.
template <class F>
void forEachWindowOfRow(std::int64_t image, std::int64_t kernel, std::int64_t pads, const F& f)
{
    for (std::int64_t window = 0; window <= image + 2 * pads - kernel; ++window) {
        const std::int64_t start = window - pads;
        f(window, std::clamp<std::int64_t>(start, 0, image), std::clamp<std::int64_t>(start + kernel, 0, image));
    }
}

} // namespace

class PoolTest : public QObject
{
    Q_OBJECT
private slots:
    void maximum()
    {
        QCOMPARE(q(pool("MaxPool", {2, 2}, {1, 1}).operand(kX).run()), "[1 × 1 × 2 × 2] 5 6 8 9");
        QCOMPARE(q(pool("MaxPool", {2, 2}, {2, 2}).with("ceil_mode", kYes).operand(kX).run()),
                 "[1 × 1 × 2 × 2] 5 6 8 9");
        QCOMPARE(q(pool("MaxPool", {2, 2}, {1, 1}).with("dilations", Ints{2, 2}).operand(kX).run()),
                 "[1 × 1 × 1 × 1] 9");
        QCOMPARE(q(pool("MaxPool", {2, 2}, {2, 2}, {1, 1, 0, 0}).operand(kX).run()), "[1 × 1 × 2 × 2] 1 3 7 9");
        QCOMPARE(q(pool("MaxPool", {2, 2}, {2, 2}).with("auto_pad", std::string("SAME_LOWER")).operand(kX).run()),
                 "[1 × 1 × 2 × 2] 1 3 7 9");
        QCOMPARE(q(pool("MaxPool", {2}, {1}).operand(doubles({1, 1, 3}, {3, 1, 2})).run()), "[1 × 1 × 2] 3 2");
        QCOMPARE(q(OpCase("GlobalMaxPool").operand(kX).run()), "[1 × 1 × 1 × 1] 9");
    }

    void firstMaximumWins()
    {
        OpCase c = pool("MaxPool", {2, 2}, {2, 2});
        QVERIFY(c.operand(doubles({1, 1, 2, 4}, {5, 5, 1, 2, 5, 5, 2, 2})).bind());
        const auto& structure = c.structure<retro::ops::MaxPool>();
        QCOMPARE(q(textOf(structure.route(doubles({1, 1, 1, 2}, {10, 20}), c.operands()[0]))),
                 "[1 × 1 × 2 × 4] 10 0 0 20 0 0 0 0");
    }

    void overlappingWindowsAdd()
    {
        OpCase c = pool("MaxPool", {2, 2}, {1, 1});
        const Tensor x = doubles({1, 1, 3, 3}, {0, 0, 0, 0, 9, 0, 0, 0, 0});
        QVERIFY(c.operand(x).bind());
        const Tensor s = doubles({1, 1, 2, 2}, {1, 2, 3, 4});
        QCOMPARE(q(textOf(c.structure<retro::ops::MaxPool>().route(s, x))), "[1 × 1 × 3 × 3] 0 0 0 0 10 0 0 0 0");
        QCOMPARE(c.op().savedForGradient().operands, 1U);
    }

    void notANumberWins()
    {
        OpCase c = pool("MaxPool", {3}, {1});
        QVERIFY(c.operand(doubles({1, 1, 3}, {1, std::nan(""), 5})).bind());
        QVERIFY(std::isnan(c.forward()[0].at(0)));
        QCOMPARE(q(textOf(c.structure<retro::ops::MaxPool>().route(doubles({1, 1, 1}, {2}), c.operands()[0]))),
                 "[1 × 1 × 3] 0 2 0");
    }

    void mean()
    {
        QCOMPARE(q(pool("AveragePool", {2, 2}, {1, 1}).operand(kX).run()), "[1 × 1 × 2 × 2] 3 4 6 7");
        QCOMPARE(q(pool("AveragePool", {2, 2}, {2, 2}, {1, 1, 0, 0}).operand(kX).run()), "[1 × 1 × 2 × 2] 1 2.5 5.5 7");
        QCOMPARE(q(pool("AveragePool", {2, 2}, {2, 2}, {1, 1, 0, 0}).with("count_include_pad", kYes).operand(kX).run()),
                 "[1 × 1 × 2 × 2] 0.25 1.25 2.75 7");
        // The last window sticks out; what lies beyond the padding is not counted.
        QCOMPARE(q(pool("AveragePool", {2, 2}, {2, 2})
                       .with("ceil_mode", kYes)
                       .with("count_include_pad", kYes)
                       .operand(kX)
                       .run()),
                 "[1 × 1 × 2 × 2] 3 4.5 7.5 9");
        QCOMPARE(q(OpCase("GlobalAveragePool").operand(kX).run()), "[1 × 1 × 1 × 1] 5");
    }

    void averagesHaveTheirAdjoints()
    {
        const Tensor x = randomTensor({2, 35, 6, 7});
        for (const bool countsPadding : {false, true}) {
            for (const bool isCeil : {false, true}) {
                OpCase c = pool("AveragePool", {3, 2}, {2, 3}, {1, 0, 2, 1});
                c.with("ceil_mode", std::int64_t{isCeil}).with("count_include_pad", std::int64_t{countsPadding});
                QVERIFY(c.operand(x).bind());
                const Tensor y = c.forward()[0];
                const Tensor s = randomTensor(y.shape(), DType::Float64, 8);
                const Tensor r = c.structure<retro::ops::AveragePool>().pullback(s);
                QVERIFY(std::abs(retro::ops::algebra::dot(y, s) - retro::ops::algebra::dot(x, r)) < 1e-11);
            }
        }
        OpCase global("GlobalAveragePool");
        QVERIFY(global.operand(x).bind());
        const Tensor s = randomTensor({2, 35, 1, 1}, DType::Float64, 8);
        const Tensor r = global.structure<retro::ops::AveragePool>().pullback(s);
        QVERIFY(std::abs(retro::ops::algebra::dot(global.forward()[0], s) - retro::ops::algebra::dot(x, r)) < 1e-12);
    }

    void layoutsAndThreeAxes()
    {
        const Tensor x = randomTensor({1, 40, 4, 5, 3}, DType::Float32);
        for (const char* op : {"MaxPool", "AveragePool"}) {
            OpCase c = pool(op, {2, 3, 2}, {1, 2, 1}, {1, 1, 0, 0, 1, 1});
            QVERIFY(c.operand(x).bind());
            QVERIFY(c.forward()[0].bitEqual(c.forward({inOtherOrder(x)})[0]));
            OpCase wide = pool(op, {2, 3, 2}, {1, 2, 1}, {1, 1, 0, 0, 1, 1});
            QVERIFY(wide.operand(x.to(DType::Float64)).bind());
            QVERIFY(distance(c.forward()[0].to(DType::Float64), wide.forward()[0]) < 1e-6);
        }
    }

    // Neighbours read the same elements there, and take each other's results.
    void windowsOverWidePads()
    {
        constexpr std::int64_t kImage = 5;
        constexpr std::int64_t kKernel = 20;
        constexpr std::int64_t kPads = 19;
        const Tensor x = randomTensor({1, 1, kImage});
        OpCase largest = pool("MaxPool", {kKernel}, {1}, {kPads, kPads});
        OpCase mean = pool("AveragePool", {kKernel}, {1}, {kPads, kPads});
        OpCase norm = pool("LpPool", {kKernel}, {1}, {kPads, kPads});
        norm.with("p", std::int64_t{3});
        for (OpCase* c : {&largest, &mean, &norm}) {
            QVERIFY2(c->operand(x).bind(), c->error().c_str());
        }
        const Tensor maxima = largest.forward()[0];
        const Tensor means = mean.forward()[0];
        const Tensor norms = norm.forward()[0];
        const Tensor s = randomTensor(maxima.shape(), DType::Float64, 8);
        std::vector<double> routed(kImage, 0.0);
        std::vector<double> spread(kImage, 0.0);
        std::vector<double> carried(kImage, 0.0);
        forEachWindowOfRow(kImage, kKernel, kPads, [&](std::int64_t window, std::int64_t begin, std::int64_t end) {
            std::int64_t best = begin;
            double sum = 0;
            double powers = 0;
            for (std::int64_t i = begin; i < end; ++i) {
                best = x.at(i) > x.at(best) ? i : best;
                sum += x.at(i);
                powers += std::pow(std::abs(x.at(i)), 3);
            }
            const double factor = 1 / static_cast<double>(end - begin);
            const double length = std::pow(powers, 1.0 / 3);
            QCOMPARE(maxima.at(window), x.at(best));
            QCOMPARE(means.at(window), sum * factor);
            QCOMPARE(norms.at(window), length);
            routed[static_cast<std::size_t>(best)] += s.at(window);
            for (std::int64_t i = begin; i < end; ++i) {
                const auto at = static_cast<std::size_t>(i);
                spread[at] += s.at(window) * factor;
                carried[at] += s.at(window) * std::copysign(std::pow(std::abs(x.at(i)) / length, 2), x.at(i));
            }
        });
        const Tensor route = largest.structure<retro::ops::MaxPool>().route(s, x);
        QVERIFY(route.bitEqual(doubles(x.shape(), routed)));
        QVERIFY(mean.structure<retro::ops::AveragePool>().pullback(s).bitEqual(doubles(x.shape(), spread)));
        const auto& slopes = norm.structure<retro::ops::Differentiable>();
        const std::array operands{x};
        const std::array results{norms};
        QVERIFY(distance(slopes.pullback(std::array{s}, operands, results, 0), doubles(x.shape(), carried)) < 1e-12);
    }

    void windowsThatReadWithoutEndAreRefused() // LRN has windows as well
    {
        const auto bound = [](const Shape& shape, const Ints& kernel, std::int64_t pads) {
            OpCase c = pool("AveragePool", kernel, Ints(kernel.size(), 1), Ints(2 * kernel.size(), pads));
            return c.operand(Tensor::zeros(DType::Float32, shape)).bind();
        };
        QVERIFY(bound({1, 1, 8, 8}, {100, 100}, 99));
        QVERIFY(bound({1, 1, 1000, 1000}, {1000, 1000}, 0));
        QVERIFY(!bound({1, 1, 1000, 1000}, {3000, 3000}, 2999)); // 16,000,000 windows, up to 1,000,000 elements each
        QVERIFY(!bound({1, 1, 1, 1}, {30000, 30000}, 29999));    // 900,000,000 windows over one element
        QVERIFY(!bound({1, 1, 1, 1}, {40000, 40000}, 39999));
        OpCase c = pool("MaxPool", {600, 600}, {1, 1}, {599, 599, 599, 599});
        QVERIFY(!c.operand(Tensor::zeros(DType::Float32, {1, 1, 300, 300})).bind());
        QVERIFY2(c.error().find("make the kernel or the pads smaller") != std::string::npos, c.error().c_str());
        const Tensor wide = Tensor::zeros(DType::Float32, {1, 100000, 4});
        QVERIFY(OpCase("LRN").with("size", std::int64_t{5}).operand(wide).bind());
        QVERIFY(!OpCase("LRN").with("size", std::int64_t{99999}).operand(wide).bind());
    }

    void globalMaximumOfManyAxes()
    {
        OpCase c("GlobalMaxPool");
        const Tensor x = randomTensor({2, 3, 2, 2, 2, 2});
        QVERIFY(c.operand(x).bind());
        const Tensor y = c.forward()[0];
        QVERIFY((y.shape() == Shape{2, 3, 1, 1, 1, 1}));
        const Tensor r = c.structure<retro::ops::MaxPool>().route(y, x);
        QVERIFY(r.shape() == x.shape());
        QCOMPARE(retro::ops::algebra::dot(r, x), retro::ops::algebra::dot(y, y));
    }
};

QTEST_GUILESS_MAIN(PoolTest)
#include "pooltest.moc"
