// SPDX-License-Identifier: Apache-2.0
// What a softmax hands to its logits, against the formula element by element, masks and missing rows included.
#include "core/ops/softmaxshare.h"

#include <QtTest>

#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

using retro::tensor::DType;
using retro::tensor::Tensor;
using retro::tensor::TensorBuffer;
namespace algebra = retro::ops::algebra;

namespace
{

constexpr std::int64_t kRows = 37;
constexpr std::int64_t kColumns = 2003; // more than a block, and no multiple of it

template <class T, class F>
Tensor made(const F& valueAt)
{
    TensorBuffer buffer(retro::tensor::DTypeOf<T>::value, {kRows, kColumns});
    for (std::int64_t i = 0; i < kRows * kColumns; ++i) {
        buffer.data<T>()[i] = static_cast<T>(valueAt(i));
    }
    return std::move(buffer).freeze();
}

/// Masked by −∞ or by a large number, here and there.
double logitAt(std::int64_t i)
{
    if (i % 7 == 0) {
        return i % 2 == 0 ? -std::numeric_limits<double>::infinity() : -3e38;
    }
    return 3 * std::sin(static_cast<double>(i));
}

template <class T>
void check()
{
    const Tensor x = made<T>(logitAt);
    const Tensor p = made<T>([](std::int64_t i) {
        return i / kColumns == 5 ? std::nan("") : std::abs(std::cos(static_cast<double>(i))) / kColumns;
    });
    const Tensor r = made<T>([](std::int64_t i) { return std::sin(0.1 * static_cast<double>(i)); });
    const Tensor total = made<T>([](std::int64_t i) { return 1.0 + static_cast<double>(i / kColumns); });
    const algebra::SoftmaxShare share = algebra::softmaxShare(x, p, r, total, true);
    QCOMPARE(share.part.shape(), x.shape());
    double masked = 0;
    for (std::int64_t i = 0; i < x.size(); ++i) {
        const T weight = p.data<T>()[i] > 0 ? p.data<T>()[i] : T{0};
        const T rest = r.data<T>()[i] - weight * total.data<T>()[i];
        const bool isMasked = i % 7 == 0;
        QCOMPARE(share.part.data<T>()[i], isMasked ? T{0} * rest : x.data<T>()[i] * rest);
        masked += isMasked ? static_cast<double>(rest) : 0;
    }
    QVERIFY(std::abs(share.masked - masked) < 1e-9);
    QVERIFY(std::abs(masked) > 1e-3);
    QCOMPARE(algebra::softmaxShare(x, p, r, total, false).masked, 0.0);
}

} // namespace

class SoftmaxShareTest : public QObject
{
    Q_OBJECT

private slots:
    void isTheFormula()
    {
        check<double>();
        check<float>();
    }

    void oneTotalPerRowIsTheTotalOfEachElement()
    {
        const Tensor x = made<double>(logitAt);
        const Tensor p = made<double>([](std::int64_t) { return 0.5; });
        const Tensor r = made<double>([](std::int64_t i) { return std::cos(static_cast<double>(i)); });
        std::vector<double> totals(kRows);
        std::iota(totals.begin(), totals.end(), 1.0);
        const Tensor perRow = Tensor::of<double>({kRows, 1}, totals);
        const Tensor all = algebra::broadcastTo(perRow, x.shape());
        const algebra::SoftmaxShare few = algebra::softmaxShare(x, p, r, perRow, true);
        const algebra::SoftmaxShare many = algebra::softmaxShare(x, p, r, all, true);
        QVERIFY(few.part.bitEqual(many.part));
        QCOMPARE(few.masked, many.masked);
        totals.resize(kColumns, 2.0);
        const Tensor perColumn = Tensor::of<double>({1, kColumns}, totals);
        const Tensor repeated = algebra::broadcastTo(perColumn, x.shape());
        QVERIFY(algebra::softmaxShare(x, p, r, perColumn, true)
                    .part.bitEqual(algebra::softmaxShare(x, p, r, repeated, true).part));
    }

    void transposedOperandsAreTheSameNumbers()
    {
        constexpr std::array<std::int64_t, 2> kCrossed{1, 0};
        const auto across = [&](const Tensor& t) { return t.permuted(kCrossed).contiguous().permuted(kCrossed); };
        const Tensor x = made<double>(logitAt);
        const Tensor r = made<double>([](std::int64_t i) { return std::cos(static_cast<double>(i)); });
        const Tensor p = made<double>([](std::int64_t) { return 0.5; });
        const algebra::SoftmaxShare straight = algebra::softmaxShare(x, p, r, r, true);
        const algebra::SoftmaxShare crossed = algebra::softmaxShare(across(x), p, across(r), r, true);
        QCOMPARE(crossed.masked, straight.masked);
        for (std::int64_t i = 0; i < x.size(); ++i) {
            QCOMPARE(crossed.part.at(i), straight.part.at(i));
        }
    }
};

QTEST_APPLESS_MAIN(SoftmaxShareTest)
#include "softmaxsharetest.moc"
