// SPDX-License-Identifier: Apache-2.0
#include "views/common/paint/heatmapimage.h"

#include "views/common/paint/fonts.h"

#include <QImageReader>
#include <QTemporaryDir>
#include <QTest>

#include <limits>

using retro::tensor::Tensor;
using namespace retro::views;

namespace
{

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

HeatmapFigure makeFigure()
{
    HeatmapFigure figure;
    figure.plane = {4, 2, {1, -1, 0.5, 0, 0.25, -0.25, 0, 0}};
    figure.bar.scale = symmetricScale(figure.plane.values);
    figure.bar.upperWord = QStringLiteral("for mug");
    figure.bar.lowerWord = QStringLiteral("against");
    figure.picture = QImage(4, 2, QImage::Format_RGB888);
    figure.picture.fill(Qt::black);
    figure.caption = QStringLiteral("tiny, step 3");
    figure.texts = {{"model", "tiny"}, {"step", "3"}};
    return figure;
}

std::filesystem::path pathIn(const QTemporaryDir& folder, const char* name)
{
    return std::filesystem::path(folder.path().toStdString()) / name;
}

} // namespace

class HeatmapImageTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { fonts::install(); }

    void channelsAreSummed()
    {
        const std::vector<float> values{1, 2, 3, 4, 10, 20, 30, 40};
        const Tensor first = Tensor::of<float>({1, 2, 2, 2}, values);
        RETRO_MADE(plane, channelSum(first));
        QCOMPARE(plane->width, 2);
        QCOMPARE(plane->values, (std::vector<double>{11, 22, 33, 44}));
        const auto last = channelSum(Tensor::of<float>({2, 2, 2}, values), 0, true);
        QCOMPARE(last->values, (std::vector<double>{3, 7, 30, 70}));
        const auto second = channelSum(Tensor::of<float>({2, 1, 2, 2}, values), 1);
        QCOMPARE(second->values, (std::vector<double>{10, 20, 30, 40}));
        const auto flat = channelSum(Tensor::of<float>({2, 4}, values));
        QCOMPARE(flat->height, 2);
        QVERIFY(!channelSum(Tensor::of<float>({8}, values)).ok());
        QVERIFY(!channelSum(first, 1).ok());
    }

    void scaleIsSymmetric()
    {
        const std::vector<double> values{-4, 1, 2, 3, kNaN};
        const Scale all = symmetricScale(values);
        QCOMPARE(all.limit, 4.0);
        QCOMPARE(all.clipped, 0);
        QCOMPARE(all.notANumber, 1);
        QCOMPARE(all.toUnit(-2), -0.5);
        const Scale clipped = symmetricScale(values, 60);
        QCOMPARE(clipped.limit, 3.0);
        QCOMPARE(clipped.clipped, 1);
        QCOMPARE(clipped.toUnit(-4), -1.0);
        const std::vector<double> zeros{0, 0};
        QCOMPARE(symmetricScale(zeros).limit, 0.0);
        QCOMPARE(symmetricScale(zeros).toUnit(3), 0.0);
        // Nearly everything zero: the percentile would be zero, the scale still shows the rest.
        std::vector<double> sparse(100, 0.0);
        sparse[7] = 5;
        QCOMPARE(symmetricScale(sparse, 50).limit, 5.0);
    }

    void mapsAreRight()
    {
        const Plane plane{3, 1, {1, 0, kNaN}};
        const Scale scale = symmetricScale(plane.values);
        const ColorMap map;
        const QImage only = heatmapOnly(plane, scale, map);
        QCOMPARE(only.pixel(0, 0), map.at(1));
        QCOMPARE(only.pixel(1, 0), map.at(0));
        QCOMPARE(qAlpha(only.pixel(2, 0)), 0);
        QImage picture(3, 1, QImage::Format_RGB888);
        picture.fill(Qt::black);
        const QImage over = heatmapOver(plane, scale, map, picture);
        QCOMPARE(over.pixel(0, 0), map.at(1)); // opaque
        QCOMPARE(qRed(over.pixel(1, 0)), 150); // black lifted to 59 %
        picture.fill(Qt::white);
        QCOMPARE(qRed(heatmapOver(plane, scale, map, picture).pixel(1, 0)), 255);
        QCOMPARE(heatmapOver(plane, scale, map, {}), only);
    }

    void pixelsAreWholeWhereTheyFit()
    {
        HeatmapFigure figure = makeFigure();
        figure.hasBar = false;
        figure.caption.clear();
        QCOMPARE(fittingPixel(figure, {43, 100}), 10.0);
        QCOMPARE(fittingPixel(figure, {400, 19}), 9.0);
        QCOMPARE(fittingPixel(figure, {2, 100}), 0.5);
        figure.mode = HeatmapMode::SideBySide;
        QCOMPARE(fittingPixel(figure, {43 + 12, 100}), 5.0);
        const HeatmapLayout layout = layoutFigure(figure, 5);
        QCOMPARE(layout.beside, QRectF(0, 0, 20, 10));
        QCOMPARE(layout.picture, QRectF(32, 0, 20, 10));
        QCOMPARE(layout.size, QSizeF(52, 10));
    }

    void barHasItsZeroInTheMiddle()
    {
        const HeatmapFigure figure = makeFigure();
        const ColorBarLayout bar = layoutColorBar(figure.bar, {10, 20, 80, 300});
        QCOMPARE(bar.ticks.size(), std::size_t{5});
        QCOMPARE(bar.ticks.front().y, bar.bar.top());
        QCOMPARE(bar.ticks.back().y, bar.bar.bottom());
        QVERIFY(bar.ticks[2].isZero);
        QCOMPARE(bar.ticks[2].y, bar.bar.center().y());
        QCOMPARE(bar.ticks[0].text, QStringLiteral("+1.0"));
        QCOMPARE(bar.ticks[4].text, QChar(0x2212) + QStringLiteral("1.0"));
        QVERIFY(bar.upperWord.bottom() <= bar.bar.top());
        QVERIFY(bar.lowerWord.top() >= bar.bar.bottom());
        QVERIFY(colorBarWidth(figure.bar) <= 80);
        // A low bar keeps its ends and zero and drops the halves.
        QCOMPARE(layoutColorBar(figure.bar, {0, 0, 80, 70}).ticks.size(), std::size_t{3});
    }

    void clippingIsSaid()
    {
        Scale scale;
        QCOMPARE(clipText(scale), QString());
        scale.clipped = 1234;
        scale.notANumber = 2;
        QCOMPARE(clipText(scale), QStringLiteral("1,234 clipped, 2 NaN"));
    }

    void bareHeatmapIsExact()
    {
        HeatmapFigure figure = makeFigure();
        figure.hasBar = false;
        figure.caption.clear();
        figure.mode = HeatmapMode::Only;
        const QImage image = renderFigure(figure, 3);
        QCOMPARE(image.size(), QSize(12, 6));
        for (const QPoint at : {QPoint(0, 0), QPoint(2, 2)}) {
            QCOMPARE(image.pixel(at), figure.bar.map.at(1));
        }
        QCOMPARE(image.pixel(3, 0), figure.bar.map.at(-1));
        QCOMPARE(renderFigure(figure).width(), 480);
    }

    void filesAreWritten()
    {
        const QTemporaryDir folder;
        const HeatmapFigure figure = makeFigure();
        const auto png = pathIn(folder, "a.png");
        QVERIFY(writeFigure(png, figure, 20).ok());
        QImageReader reader(QString::fromStdString(png.string()));
        QCOMPARE(reader.text(QStringLiteral("model")), QStringLiteral("tiny"));
        QCOMPARE(reader.text(QStringLiteral("step")), QStringLiteral("3"));
        QVERIFY(!reader.read().isNull());
        const auto svg = pathIn(folder, "a.svg");
        QVERIFY(writeFigure(svg, figure, 20).ok());
        const QByteArray content = retro::tests::bytesIn(QString::fromStdString(svg.string()));
        QVERIFY(content.contains("<svg") && content.contains("for mug") && content.contains("model: tiny"));
        const auto pdf = pathIn(folder, "a.pdf");
        QVERIFY(writeFigure(pdf, figure, 20).ok());
        QVERIFY(retro::tests::bytesIn(QString::fromStdString(pdf.string())).startsWith("%PDF-"));
    }

    void unwritablePlacesAreRefused()
    {
        const QTemporaryDir folder;
        const HeatmapFigure figure = makeFigure();
        for (const char* name : {"none/a.png", "none/a.svg", "none/a.pdf"}) {
            RETRO_REFUSED(writeFigure(pathIn(folder, name), figure, 4), retro::base::ErrorCode::Output);
        }
        const auto ending = writeFigure(pathIn(folder, "a.bmp"), figure, 4);
        QCOMPARE(ending.error().code, retro::base::ErrorCode::Usage);
        QVERIFY(QDir(folder.path()).isEmpty());
    }

    void picturesThereAndBack()
    {
        const QTemporaryDir folder;
        QImage image(5, 3, QImage::Format_RGB888);
        image.fill(QColor(200, 10, 60));
        image.setPixelColor(1, 2, Qt::white);
        const auto path = pathIn(folder, "p.png");
        QVERIFY(writePicture(path, image).ok());
        const RgbPicture picture = toPicture(QImage(QString::fromStdString(path.string())));
        QCOMPARE(picture.width, 5);
        QCOMPARE(picture.rgb.size(), std::size_t{45});
        QCOMPARE(toImage(picture), image);
        const RgbPicture small = resized(picture, 2, 2);
        QCOMPARE(small.rgb.size(), std::size_t{12});
        QImage clear(2, 1, QImage::Format_ARGB32);
        clear.fill(Qt::transparent);
        QCOMPARE(toPicture(clear).rgb, (std::vector<std::uint8_t>{255, 255, 255, 255, 255, 255}));
    }

    void tensorsBecomePictures()
    {
        const std::vector<float> values{-1, 1, 0, 0, 1, 5};
        const QImage image = pictureOfTensor(Tensor::of<float>({1, 3, 1, 2}, values), 0, 1, {0.5}, {0.5});
        QCOMPARE(image.size(), QSize(2, 1));
        QCOMPARE(image.pixel(0, 0), qRgb(0, 128, 255));
        QCOMPARE(image.pixel(1, 0), qRgb(255, 128, 255));
        const QImage swapped =
            pictureOfTensor(Tensor::of<float>({1, 3, 1, 2}, values), 0, 1, {0.5}, {0.5}, false, true);
        QCOMPARE(swapped.pixel(0, 0), qRgb(255, 128, 0));
        QVERIFY(pictureOfTensor(Tensor::of<float>({6}, values), 0, 1, {}, {}).isNull());
    }

    void slicesAreLaidOut()
    {
        std::vector<float> values(4 * 2 * 3);
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = static_cast<float>(i);
        }
        const SliceGrid grid = sliceGrid(Tensor::of<float>({1, 4, 2, 3}, values));
        QCOMPARE(grid.allSlices, 4);
        QCOMPARE(grid.columns, 2);
        QCOMPARE(grid.plane.width, 7);
        QCOMPARE(grid.plane.height, 5);
        QCOMPARE(grid.plane.at(0, 0), 0.0);
        QCOMPARE(grid.plane.at(4, 0), 6.0);
        QCOMPARE(grid.plane.at(0, 3), 12.0);
        QVERIFY(std::isnan(grid.plane.at(3, 0)));
        QCOMPARE(sliceGrid(Tensor::of<float>({24}, values)).plane.height, 1);
        QCOMPARE(sliceGrid(Tensor::of<float>({24}, values), 256, 8).plane.height, 5);
        QCOMPARE(sliceGrid(Tensor::of<float>({4, 2, 3}, values), 3).slices, 3);
    }

    void stepsAreCellsInReadingOrder()
    {
        StepStrip strip;
        strip.values = {1, -0.5, 0, 0.25, -1, 0.125};
        strip.scale = symmetricScale(strip.values);
        const std::vector<QRectF> cells = layoutSteps(strip, 130);
        QCOMPARE(cells.size(), strip.values.size());
        for (std::size_t i = 0; i < cells.size(); ++i) {
            QVERIFY(cells[i].left() >= 0 && cells[i].right() <= 130);
            QCOMPARE(stepAt(cells, cells[i].center()), static_cast<int>(i));
            QVERIFY(i == 0 || cells[i].top() > cells[i - 1].top() || cells[i].left() > cells[i - 1].right());
        }
        QVERIFY(cells.back().top() > cells.front().top()); // more than one line
        QCOMPARE(stepAt(cells, QPointF(-1, -1)), -1);
        QCOMPARE(strip.word(2), QStringLiteral("3"));
        strip.words = QStringList{"a", "b", "a much longer word", "d", "e", "f"};
        QVERIFY(layoutSteps(strip, 400)[2].width() > layoutSteps(strip, 400)[0].width());
        QCOMPARE(strip.word(1), QStringLiteral("b"));
    }

    void aStripIsPaintedInTheColoursOfTheMap()
    {
        HeatmapFigure figure;
        figure.plane = {3, 1, {2, -2, 0}};
        figure.bar.scale = symmetricScale(figure.plane.values);
        figure.strip = {{}, figure.plane.values, figure.bar.scale, figure.bar.map};
        figure.caption = QStringLiteral("three steps");
        const HeatmapLayout layout = layoutFigure(figure, 1);
        QCOMPARE(layout.steps.size(), std::size_t{3});
        const QImage image = renderFigure(figure);
        constexpr int kMargin = 12;
        for (std::size_t i = 0; i < 3; ++i) {
            const QPointF nearCorner = layout.steps[i].topLeft() + QPointF(kMargin + 5, kMargin + 2);
            QCOMPARE(image.pixelColor(nearCorner.toPoint()).rgb(),
                     figure.bar.map.at(figure.bar.scale.toUnit(figure.plane.values[i])));
        }
        QTemporaryDir folder;
        for (const char* name : {"steps.png", "steps.svg", "steps.pdf"}) {
            QVERIFY(writeFigure(pathIn(folder, name), figure).ok());
        }
    }

    void stepSumsNeedOneSample()
    {
        const std::vector<double> values{1, 2, 3, 4, 5, 6};
        const auto tensor = [&](const retro::tensor::Shape& shape) {
            return Tensor::of<double>(shape, std::span<const double>(values));
        };
        QCOMPARE(stepSums(tensor({1, 3, 2})), (std::vector<double>{3, 7, 11}));
        QCOMPARE(stepSums(tensor({1, 6})), values);
        QVERIFY(stepSums(tensor({2, 3})).empty());
        QVERIFY(stepSums(tensor({6})).empty());
    }
};

QTEST_MAIN(HeatmapImageTest)
#include "tst_heatmapimage.moc"
