// SPDX-License-Identifier: Apache-2.0
#include <QtTest>

#include "core/engine/explain/cover.h"

using namespace retro;
using engine::Cover;
using engine::CoverFill;

namespace
{

/// 1 × 2 × side × side: channel 0 is a ramp over columns, channel 1 is 4 everywhere; one pixel in the middle is wild.
tensor::Tensor ramp(int side, bool isLast = false)
{
    const tensor::Shape shape = isLast ? tensor::Shape{1, side, side, 2} : tensor::Shape{1, 2, side, side};
    tensor::TensorBuffer buffer(tensor::DType::Float32, shape);
    for (int y = 0; y < side; ++y) {
        for (int x = 0; x < side; ++x) {
            const bool isWild = x == side / 2 && y == side / 2;
            const int pixel = y * side + x;
            buffer.data<float>()[isLast ? pixel * 2 : pixel] = isWild ? 99.0F : static_cast<float>(x);
            buffer.data<float>()[isLast ? pixel * 2 + 1 : side * side + pixel] = isWild ? -99.0F : 4.0F;
        }
    }
    return std::move(buffer).freeze();
}

Cover coverOf(int side, int from, int to, CoverFill fill)
{
    Cover cover{side, side, std::vector<std::uint8_t>(static_cast<std::size_t>(side * side), 0), fill};
    for (int y = from; y < to; ++y) {
        for (int x = from; x < to; ++x) {
            cover.pixels[static_cast<std::size_t>(y * side + x)] = 1;
        }
    }
    return cover;
}

} // namespace

class CoverTest : public QObject
{
    Q_OBJECT
private slots:
    void takesTheColourOfTheSurroundings()
    {
        RETRO_MADE(covered, engine::coverInput(ramp(9), coverOf(9, 3, 6, CoverFill::Surroundings), {}));
        QCOMPARE(covered->dtype(), tensor::DType::Float32);
        for (int y = 0; y < 9; ++y) {
            for (int x = 0; x < 9; ++x) {
                QVERIFY2(std::abs(covered->at(y * 9 + x) - x) < 0.02,
                         qPrintable(QString::number(covered->at(y * 9 + x))));
                QVERIFY(std::abs(covered->at(81 + y * 9 + x) - 4) < 1e-6);
            }
        }
    }

    void channelsLastGivesTheSame()
    {
        const Cover cover = coverOf(9, 2, 7, CoverFill::Surroundings);
        const auto first = engine::coverInput(ramp(9), cover, {});
        engine::PictureOptions options;
        options.layout = "NHWC";
        const auto last = engine::coverInput(ramp(9, true), cover, options);
        QVERIFY(first.ok() && last.ok());
        for (int pixel = 0; pixel < 81; ++pixel) {
            QCOMPARE(last->at(pixel * 2), first->at(pixel));
            QCOMPARE(last->at(pixel * 2 + 1), first->at(81 + pixel));
        }
    }

    void greyIsHalfWayAfterNormalisation()
    {
        engine::PictureOptions options;
        options.high = 255;
        options.mean = {100, 127.5};
        options.deviation = {10};
        RETRO_MADE(covered, engine::coverInput(ramp(9), coverOf(9, 4, 5, CoverFill::Grey), options));
        QCOMPARE(covered->at(40), 2.75);
        QCOMPARE(covered->at(81 + 40), 0.0);
        QCOMPARE(covered->at(39), 3.0);
    }

    void aWholePictureBecomesGrey()
    {
        RETRO_MADE(covered, engine::coverInput(ramp(4), coverOf(4, 0, 4, CoverFill::Surroundings), {}));
        for (int i = 0; i < 32; ++i) {
            QCOMPARE(covered->at(i), 0.5);
        }
    }

    void nothingCoveredIsTheSameTensor()
    {
        const tensor::Tensor input = ramp(5);
        RETRO_MADE(same, engine::coverInput(input, coverOf(5, 0, 0, CoverFill::Grey), {}));
        QCOMPARE(same->at(12), 99.0);
    }

    void refusesWhatIsNoPictureOfThatSize()
    {
        const Cover cover = coverOf(5, 1, 2, CoverFill::Grey);
        QVERIFY(!engine::coverInput(ramp(6), cover, {}).ok());
        QVERIFY(!engine::coverInput(tensor::Tensor::zeros(tensor::DType::Float32, {5, 5}), cover, {}).ok());
        QVERIFY(!engine::coverInput(tensor::Tensor::zeros(tensor::DType::Int64, {1, 1, 5, 5}), cover, {}).ok());
    }
};

QTEST_GUILESS_MAIN(CoverTest)
#include "covertest.moc"
