// SPDX-License-Identifier: Apache-2.0
#include <QtTest>

#include "core/engine/input/pictureinput.h"

using namespace retro;
using engine::PixelArray;

namespace
{

graph::Value inputOf(const std::vector<std::int64_t>& shape)
{
    graph::Value value;
    value.name = "image";
    std::vector<graph::Dimension> dimensions;
    for (const std::int64_t extent : shape) {
        graph::Dimension dimension;
        if (extent > 0) {
            dimension.extent = extent;
        }
        dimensions.push_back(dimension);
    }
    value.shape = dimensions;
    return value;
}

} // namespace

class PictureInputTest : public QObject
{
    Q_OBJECT
private slots:
    void scalesAndNormalises()
    {
        const PixelArray picture{2, 1, {0, 51, 255, 255, 0, 102}};
        engine::PictureOptions options;
        options.mean = {0.0, 0.2, 0.0};
        options.deviation = {1.0, 2.0, 1.0};
        RETRO_MADE(tensor, engine::pictureToInput(picture, inputOf({0, 3, 1, 2}), options));
        QCOMPARE(tensor->shape(), (tensor::Shape{1, 3, 1, 2}));
        QCOMPARE(tensor->at(0), 0.0);
        QCOMPARE(tensor->at(1), 1.0);
        QVERIFY(std::abs(tensor->at(2)) < 1e-7);
        QVERIFY(std::abs(tensor->at(3) + 0.1) < 1e-7);
        QVERIFY(std::abs(tensor->at(5) - 0.4) < 1e-6);
    }

    void channelsLastAndBgr()
    {
        const PixelArray picture{1, 1, {255, 0, 51}};
        engine::PictureOptions options;
        options.layout = "NHWC";
        options.channels = "BGR";
        RETRO_MADE(tensor, engine::pictureToInput(picture, inputOf({1, 1, 1, 3}), options));
        QVERIFY(std::abs(tensor->at(0) - 0.2) < 1e-6);
        QCOMPARE(tensor->at(2), 1.0);
    }

    void areaAverage()
    {
        const PixelArray picture{2, 2, {0, 0, 0, 100, 100, 100, 100, 100, 100, 200, 200, 200}};
        const PixelArray small = picture.resized(1, 1);
        QCOMPARE(static_cast<int>(small.rgb[0]), 100);
        const PixelArray large = picture.resized(4, 4);
        QCOMPARE(static_cast<int>(large.rgb[0]), 0);
        QCOMPARE(static_cast<int>(large.rgb[(15 * 3)]), 200);
    }

    /// A row of four pixels, 0, 80, 160 and 240, as two columns of one or two rows.
    void framesSayWhatFillsTheInput_data()
    {
        QTest::addColumn<QString>("frame");
        QTest::addColumn<int>("rows");
        QTest::addColumn<QList<int>>("pixels");
        QTest::newRow("stretch") << "stretch" << 2 << QList<int>{40, 200, 40, 200};
        QTest::newRow("crop") << "crop" << 1 << QList<int>{80, 160};
        QTest::newRow("square") << "crop" << 2 << QList<int>{80, 160, 80, 160};
        QTest::newRow("part") << "crop=0.5" << 1 << QList<int>{80, 160};
        QTest::newRow("letterbox") << "letterbox" << 3 << QList<int>{0, 0, 40, 200, 0, 0};
    }
    void framesSayWhatFillsTheInput()
    {
        QFETCH(const QString, frame);
        QFETCH(const int, rows);
        QFETCH(const QList<int>, pixels);
        const PixelArray picture{4, 1, {0, 0, 0, 80, 80, 80, 160, 160, 160, 240, 240, 240}};
        engine::PictureOptions options;
        options.frame = frame.toStdString();
        options.high = 255;
        QVERIFY(formats::isFrame(options.frame));
        RETRO_MADE(made, engine::pictureToInput(picture, inputOf({1, 3, rows, 2}), options));
        for (qsizetype i = 0; i < pixels.size(); ++i) {
            QCOMPARE(static_cast<int>(made->at(i)), pixels[i]);
        }
    }

    void framesThatAreNone()
    {
        for (const char* text : {"", "cut", "crop=", "crop=0", "crop=1.5", "crop=-1", "crop=0.5x", "crop=nan"}) {
            QVERIFY2(!formats::isFrame(text), text);
        }
    }

    void refusesOtherShapes()
    {
        const PixelArray picture{1, 1, {0, 0, 0}};
        QVERIFY(!engine::pictureToInput(picture, inputOf({1, 16}), {}).ok());
        RETRO_REFUSED(engine::pictureToInput(picture, inputOf({1, 5, 8, 8}), {}), "image");
    }
};

QTEST_GUILESS_MAIN(PictureInputTest)
#include "pictureinputtest.moc"
