// SPDX-License-Identifier: Apache-2.0
// What the recorder keeps beside the events.
#include "core/trace/recorder.h"
#include "core/ops/threads.h"

#include <QtTest>

#include <bit>
#include <cmath>

using retro::tensor::DType;
using retro::tensor::Tensor;
using retro::tensor::TensorBuffer;

namespace
{

/// 1/1, −1/2, 1/3 …: every order of addition gives other last bits.
Tensor harmonic(std::int64_t count)
{
    TensorBuffer buffer(DType::Float32, {count});
    for (std::int64_t i = 0; i < count; ++i) {
        buffer.data<float>()[i] = (i % 2 == 0 ? 1.0F : -1.0F) / static_cast<float>(i + 1);
    }
    return std::move(buffer).freeze();
}

} // namespace

class RecorderTest : public QObject
{
    Q_OBJECT

private slots:
    void sumsAreRightAndTheSameForEveryNumberOfThreads()
    {
        const int before = retro::ops::threads();
        for (const std::int64_t count : {1LL, 7LL, 65'535LL, 65'536LL, 65'537LL, 1'000'003LL}) {
            const Tensor tensor = harmonic(count);
            double direct = 0;
            for (std::int64_t i = 0; i < count; ++i) {
                direct += static_cast<double>(tensor.data<float>()[i]);
            }
            retro::ops::setThreads(1);
            const double alone = retro::trace::sumOf(tensor);
            retro::ops::setThreads(5);
            const double shared = retro::trace::sumOf(tensor);
            QCOMPARE(std::bit_cast<std::uint64_t>(shared), std::bit_cast<std::uint64_t>(alone));
            QVERIFY(std::abs(alone - direct) < 1e-12);
        }
        retro::ops::setThreads(before);
        QCOMPARE(retro::trace::sumOf(Tensor()), 0.0);
    }
};

QTEST_APPLESS_MAIN(RecorderTest)
#include "recordertest.moc"
