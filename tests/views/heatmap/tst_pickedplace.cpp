// SPDX-License-Identifier: Apache-2.0
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/heatmap/featurerows.h"
#include "views/heatmap/pickedplace.h"
#include "views/heatmap/stepschart.h"
#include "views/heatmap/volume.h"

#include <QPainter>
#include <QTest>

#include <cmath>

using namespace retro;
using namespace retro::views;

namespace
{

using Place = std::vector<std::int64_t>;

HeatmapContent gridOf(const tensor::Tensor& tensor)
{
    HeatmapContent content;
    content.relevance = tensor;
    content.grid = sliceGrid(tensor);
    content.plane = content.grid.plane;
    return content;
}

} // namespace

class PickedPlaceTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void pixelsOfPicturesAndLayers()
    {
        tests::TinyContext context;
        const HeatmapContent content = heatmapContent(context.model, context.model.graph().inputs().front());
        QVERIFY(content.isPicture);
        const QSize size(content.plane.width, content.plane.height);
        QCOMPARE(*pickedPlace(context.model, content, size, {7, 3}), (Place{0, -1, 3, 7}));
        QVERIFY(!pickedPlace(context.model, content, size, {size.width(), 0}));
        // A layer of half the size lies under twice as many pixels.
        HeatmapContent layer = content;
        layer.plane = {size.width() / 2, size.height() / 2,
                       std::vector<double>(static_cast<std::size_t>(size.width() / 2 * size.height() / 2), 0)};
        QCOMPARE(*pickedPlace(context.model, layer, size, {7, 3}), (Place{0, -1, 1, 3}));
    }

    /// A volume is drawn slice beside slice, summed over its channels; every voxel is found under its pixel.
    void voxelsOfVolumes()
    {
        for (const bool isLast : {false, true}) {
            const tensor::Shape shape = isLast ? tensor::Shape{1, 3, 2, 4, 2} : tensor::Shape{1, 2, 3, 2, 4};
            QVERIFY(isVolumeShape(shape, isLast));
            std::vector<double> values;
            for (std::int64_t i = 0; i < tensor::elementCount(shape); ++i) {
                values.push_back(static_cast<double>(i) + 1);
            }
            const tensor::Tensor volume = tensor::Tensor::of<double>(shape, values);
            for (const std::optional<int> slice : {std::optional<int>(), std::optional<int>(2)}) {
                const SliceGrid grid = volumeSlices(volume, isLast, slice);
                int found = 0;
                for (int y = 0; y < grid.plane.height; ++y) {
                    for (int x = 0; x < grid.plane.width; ++x) {
                        const auto voxel = voxelAt(shape, grid, slice, {x, y}, isLast);
                        if (!voxel) {
                            QVERIFY(std::isnan(grid.plane.at(x, y)));
                            continue;
                        }
                        double sum = 0;
                        for (std::int64_t channel = 0; channel < 2; ++channel) {
                            Place place = *voxel;
                            place[isLast ? 4 : 1] = channel;
                            std::int64_t flat = 0;
                            for (std::size_t axis = 0; axis < shape.size(); ++axis) {
                                flat = flat * shape[axis] + place[axis];
                            }
                            sum += volume.at(flat);
                        }
                        QCOMPARE(grid.plane.at(x, y), sum);
                        ++found;
                    }
                }
                QCOMPARE(found, slice ? 8 : 24);
            }
        }
        QVERIFY(!isVolumeShape({1, 2, 1, 4, 4}, false));
        QVERIFY(!isVolumeShape({2, 2, 3, 4, 4}, false));
    }

    /// Features stand one below the other, the largest magnitude first, and each is found where it is drawn.
    void featuresAreRows()
    {
        const StepStrip strip{{QStringLiteral("age"), QStringLiteral("height"), QStringLiteral("weight")},
                              {0.5, -3, 1},
                              scaleWithLimit(std::vector<double>{3}, 3),
                              {}};
        const std::vector<QRectF> rows = layoutFeatures(strip, 400);
        QVERIFY(rows[1].top() < rows[2].top() && rows[2].top() < rows[0].top());
        for (int step = 0; step < 3; ++step) {
            QCOMPARE(stepAt(rows, rows[static_cast<std::size_t>(step)].center()), step);
        }
        QImage image(420, 100, QImage::Format_RGB32);
        image.fill(Qt::white);
        QPainter painter(&image);
        paintFeatures(painter, strip, {39, 180, 75}, rows, Theme::of(ThemeKind::Light));
        painter.end();
        QVERIFY(tests::hasColor(image, QColor::fromRgb(strip.map.at(-0.75))));
        QVERIFY(tests::hasColor(image, QColor::fromRgb(strip.map.at(0.75))));
    }

    /// Every element of a tensor is found under some point of its grid, and its value stands there.
    void slicesOfAnyTensor()
    {
        tests::TinyContext context;
        for (const tensor::Shape& shape :
             {tensor::Shape{5}, tensor::Shape{1, 9}, tensor::Shape{3, 4}, tensor::Shape{1, 2, 3, 4},
              tensor::Shape{2, 3, 2, 2}, tensor::Shape{1, 100}}) {
            std::vector<double> values;
            for (std::int64_t i = 0; i < tensor::elementCount(shape); ++i) {
                values.push_back(static_cast<double>(i) + 1);
            }
            const tensor::Tensor tensor = tensor::Tensor::of<double>(shape, values);
            const HeatmapContent content = gridOf(tensor);
            const QSize size(content.plane.width, content.plane.height);
            std::size_t found = 0;
            for (int y = 0; y < size.height(); ++y) {
                for (int x = 0; x < size.width(); ++x) {
                    const auto place = pickedPlace(context.model, content, size, {x, y});
                    if (!place) {
                        continue;
                    }
                    std::int64_t flat = 0;
                    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
                        QVERIFY((*place)[axis] >= 0 && (*place)[axis] < shape[axis]);
                        flat = flat * shape[axis] + (*place)[axis];
                    }
                    QCOMPARE(content.plane.at(x, y), tensor.at(flat));
                    ++found;
                }
            }
            QCOMPARE(found, values.size());
        }
    }

    void marksAreAMaskOfTheInput()
    {
        tests::TinyContext context;
        const base::ValueId input = context.model.graph().inputs().front();
        const HeatmapContent content = heatmapContent(context.model, input);
        const QSize size(content.plane.width, content.plane.height);
        Marks marks(content.plane.values.size(), 0);
        marks[static_cast<std::size_t>(2 * size.width() + 5)] = 1;
        marks[static_cast<std::size_t>(2 * size.width() + 6)] = 1;
        QCOMPARE(markedInput(context.model, content, size), input);
        const tensor::Tensor mask = markedMask(context.model, content, size, marks);
        const tensor::Shape& shape = context.model.run().shapes[input.index()];
        QCOMPARE(mask.shape(), shape);
        double sum = 0;
        for (std::int64_t i = 0; i < mask.size(); ++i) {
            sum += mask.at(i);
        }
        QCOMPARE(sum, 2.0 * static_cast<double>(shape[1])); // every channel of two pixels
        QCOMPARE(markedText(content, size, marks), QStringLiteral("box 2:3,5:7"));
        QVERIFY(markedText(content, size, Marks(marks.size(), 0)).isEmpty());
    }

    void aChartFillsItsRoom()
    {
        StepsChart chart;
        chart.relevance = {0.1, -0.2, 0.4};
        chart.scale = symmetricScale(chart.relevance);
        chart.signal = {{QStringLiteral("channel 0"), {1, 2, 3}}};
        for (int i = 0; i < 5; ++i) {
            chart.rows.push_back({QString::number(i), {0.1, 0, 0.2}, i == 4});
        }
        const QRectF area(10, 20, 700, 500);
        const StepsChartLayout layout = layoutChart(chart, area);
        QVERIFY(!layout.isEmpty());
        QCOMPARE(layout.rows.size(), std::size_t{5});
        QVERIFY(layout.axis.bottom() <= area.bottom() + 0.5);
        QVERIFY(layout.rows.back().bottom() >= area.bottom() - 60); // it is used
        QVERIFY(layout.rows.back().bottom() <= layout.axis.top() + 0.5);
        for (int step = 0; step < 3; ++step) {
            QCOMPARE(layout.stepAt(layout.column(static_cast<std::size_t>(step), layout.bars).center()), step);
        }
        QCOMPARE(layout.stepAt({0, 0}), -1);
        QVERIFY(layoutChart(chart, QRectF(0, 0, 700, 20)).isEmpty());
        QVERIFY(layoutChart({}, area).isEmpty());
    }
};

QTEST_MAIN(PickedPlaceTest)
#include "tst_pickedplace.moc"
