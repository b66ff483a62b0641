// SPDX-License-Identifier: Apache-2.0
// Windows far larger than what they lie over: the work follows from what they share with the operand, and so does the
// result. Without that, these cases would not end.
#include "core/ops/reference/window.h"
#include "tests/core/ops/opcase.h"

#include <QtTest>

using namespace retro::tests;
namespace algebra = retro::ops::algebra;
namespace ops = retro::ops;
using Ints = std::vector<std::int64_t>;
using ops::reference::WindowAxis;

namespace
{

constexpr std::int64_t kHuge = 100'000;

/// A pooling of an 8 × 8 image by a window of kHuge × kHuge, half of which lies in front of the first element.
OpCase hugePooling(const char* op, DType type)
{
    OpCase c(op, 19);
    c.operand(randomTensor({1, 2, 8, 8}, type)).with("kernel_shape", Ints{kHuge, kHuge});
    return c.with("pads", Ints(4, kHuge / 2));
}

/// A convolution of one axis, whose kernel is far longer than the image.
OpCase longConvolution(const char* op, DType type, bool isConstant)
{
    OpCase c(op, 13);
    c.operand(randomTensor({2, 2, 6}, type, 3));
    const Tensor weight = randomTensor({4, 1, 3001}, type, 4);
    isConstant ? c.constant(weight) : c.operand(weight);
    return c.with("group", std::int64_t{2}).with("pads", Ints{3000, 2990}).with("strides", Ints{2});
}

/// Σ over the taps that lie in the image, one by one.
Tensor convolvedOneByOne(const OpCase& c, const Tensor& x, const Tensor& w)
{
    const Shape& shape = c.op().outputTypes()[0].shape;
    std::vector<double> z;
    for (std::int64_t n = 0; n < shape[0]; ++n) {
        for (std::int64_t f = 0; f < shape[1]; ++f) {
            for (std::int64_t o = 0; o < shape[2]; ++o) {
                double sum = 0;
                for (std::int64_t k = 0; k < w.shape()[2]; ++k) {
                    const std::int64_t at = 2 * o - 3000 + k;
                    const bool isInside = at >= 0 && at < 6;
                    sum += isInside ? x.at((n * 2 + f / 2) * 6 + at) * w.at(f * w.shape()[2] + k) : 0;
                }
                z.push_back(sum);
            }
        }
    }
    return doubles(shape, z);
}

} // namespace

class OverlapTest : public QObject
{
    Q_OBJECT
private slots:
    void tapsAreThoseInside()
    {
        std::mt19937 generator(5);
        const auto whole = [&](std::int64_t low, std::int64_t high) {
            return std::uniform_int_distribution<std::int64_t>(low, high)(generator);
        };
        for (int i = 0; i < 3000; ++i) {
            const WindowAxis axis{whole(1, 7), 1, whole(1, 9), whole(1, 4), whole(1, 5), whole(0, 12), 0};
            const std::int64_t o = whole(0, 9);
            const WindowAxis::Taps taps = axis.tapsInside(o);
            QVERIFY(taps.first <= taps.end);
            for (std::int64_t k = 0; k < axis.kernel; ++k) {
                QCOMPARE(k >= taps.first && k < taps.end, axis.contains(axis.position(o, k)));
            }
        }
    }

    void hugePoolingsSeeTheWholeImage()
    {
        for (const DType type : {DType::Float32, DType::Float64}) {
            OpCase mean = hugePooling("AveragePool", type);
            OpCase padded = hugePooling("AveragePool", type).with("count_include_pad", std::int64_t{1});
            OpCase most = hugePooling("MaxPool", type);
            OpCase norm = hugePooling("LpPool", type).with("p", std::int64_t{1});
            for (OpCase* c : {&mean, &padded, &most, &norm}) {
                QVERIFY2(c->bind(), c->error().c_str());
                QCOMPARE(c->op().outputTypes()[0].shape, (Shape{1, 2, 9, 9}));
            }
            const Tensor& x = mean.operands()[0];
            double sum = 0;
            double largest = -INFINITY;
            double absolute = 0;
            for (std::int64_t i = 0; i < 64; ++i) {
                sum += x.at(i);
                largest = std::max(largest, x.at(i));
                absolute += std::abs(x.at(i));
            }
            const std::int64_t middle = 4 * 9 + 4; // of a window whose overlap is the whole image
            const auto near = [](double a, double b) { return std::abs(a - b) <= 1e-5 * (std::abs(b) + 1e-12); };
            QVERIFY(near(mean.forward()[0].contiguous().at(middle), sum / 64));
            QVERIFY(near(padded.forward()[0].contiguous().at(middle), sum / (1e5 * 1e5)));
            QCOMPARE(most.forward()[0].contiguous().at(middle), largest);
            QVERIFY(near(norm.forward()[0].contiguous().at(middle), absolute));
            const Tensor s = Tensor::full(type, {1, 2, 9, 9}, 1);
            QVERIFY(near(algebra::sum(mean.structure<ops::AveragePool>().pullback(s)), 2 * 81));
            QVERIFY(near(algebra::sum(most.structure<ops::MaxPool>().route(s, most.operands()[0])), 2 * 81));
        }
    }

    void farDilationsAndStrides()
    {
        OpCase c("MaxPool", 12);
        c.operand(doubles({1, 1, 4}, {1, 4, 2, 3})).with("kernel_shape", Ints{3}).with("dilations", Ints{1 << 29});
        c.with("pads", Ints{1 << 29, 1 << 29});
        QCOMPARE(QString::fromStdString(c.run()), "[1 × 1 × 4] 1 4 2 3");
        OpCase conv("Conv", 12);
        conv.operand(doubles({1, 1, 4}, {1, 4, 2, 3}).to(DType::Float32));
        conv.constant(doubles({1, 1, 3}, {5, 10, 7}).to(DType::Float32)).with("dilations", Ints{1 << 29});
        conv.with("pads", Ints{1 << 29, 1 << 29});
        QCOMPARE(QString::fromStdString(conv.run()), "[1 × 1 × 4] 10 40 20 30");
    }

    /// Where there is no channel, the number of windows counts all the same.
    void windowsOfNothing()
    {
        const Ints wide(6, 1 << 29);
        for (const char* op : {"MaxPool", "AveragePool", "LpPool"}) {
            OpCase c(op, 19);
            c.operand(Tensor::zeros(DType::Float32, {0, 2, 4, 4, 4})).with("kernel_shape", Ints(3, 1 << 30));
            QVERIFY2(c.with("pads", wide).bind(), c.error().c_str());
        }
        OpCase conv("Conv", 13);
        conv.operand(Tensor::zeros(DType::Float32, {0, 1, 4, 4})).constant(Tensor::zeros(DType::Float32, {1, 1, 2, 2}));
        QVERIFY(conv.with("pads", Ints(4, 1 << 29)).refusal().find("more than") != std::string::npos);
        OpCase columns("Col2Im", 18);
        columns.operand(Tensor::zeros(DType::Float32, {1, 8, 1})).constant(ints({1 << 22, 1 << 22, 1 << 20}));
        const std::string text = columns.constant(ints({1 << 22, 1 << 22, 1 << 20})).refusal();
        QVERIFY2(text.find("more than") != std::string::npos, text.c_str());
    }

    void longConvolutions()
    {
        for (const DType type : {DType::Float32, DType::Float64}) {
            const double tolerance = type == DType::Float32 ? 1e-5 : 1e-13;
            OpCase fixed = longConvolution("Conv", type, true);
            OpCase computed = longConvolution("Conv", type, false);
            QVERIFY2(fixed.bind(), fixed.error().c_str());
            QVERIFY2(computed.bind(), computed.error().c_str());
            const Tensor& x = fixed.operands()[0];
            const Tensor& w = fixed.operands()[1];
            const Tensor wanted = convolvedOneByOne(fixed, x, w).to(type);
            QVERIFY(distance(fixed.forward()[0].contiguous(), wanted) < tolerance);
            QVERIFY(distance(computed.forward()[0].contiguous(), wanted) < tolerance);

            const auto& map = fixed.structure<ops::LinearMap>();
            const Tensor s = randomTensor(wanted.shape(), type, 9);
            QVERIFY(adjointGap(map, x, s) < tolerance);
            for (const ops::WeightVariant variant : allVariants()) {
                QVERIFY(adjointGap(map, x, s, variant) < tolerance);
            }
            const auto& function = computed.structure<ops::Differentiable>();
            const Tensor byWeight = function.pullback({&s, 1}, computed.operands(), {}, 1);
            QVERIFY(std::abs(algebra::dot(byWeight, w) - algebra::dot(wanted, s)) <
                    tolerance * algebra::sumAbsolute(algebra::multiply(wanted, s)));
        }
    }
};

QTEST_GUILESS_MAIN(OverlapTest)
#include "overlaptest.moc"
