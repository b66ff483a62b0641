// SPDX-License-Identifier: Apache-2.0
// Heatmaps of tables and volumes as files: what is written says what it shows.
#include <QtTest>

#include "app/common/heatmapfile.h"

#include <QTemporaryDir>

#include <limits>

using namespace retro;

namespace
{

/// The texts of a drawing.
QString textsOf(const app::HeatmapJob& job)
{
    const QTemporaryDir folder;
    const QString path = folder.filePath("drawn.svg");
    QFile file(path);
    const bool isWritten =
        app::writeHeatmap(path.toStdString(), job).ok() && file.open(QIODevice::ReadOnly | QIODevice::Text);
    return isWritten ? QString::fromUtf8(file.readAll()) : QString();
}

} // namespace

class HeatmapFileTest : public QObject
{
    Q_OBJECT
private slots:
    void aTableHasTheNamesOfItsFeatures()
    {
        app::HeatmapJob job;
        job.relevance = tensor::Tensor::of<double>({1, 3}, std::vector<double>{0.5, -0.25, 0.125});
        job.features = {41, 0.5, 2};
        job.words = {"age", "income", "children"};
        const QString texts = textsOf(job);
        for (const char* text : {">age<", ">income<", ">children<", ">0.5000<"}) {
            QVERIFY2(texts.contains(QLatin1String(text)), text);
        }
        job.words.clear();
        QVERIFY(textsOf(job).contains(QLatin1String(">0.5000<"))); // counted, with its number
    }

    void linesBetweenSlicesAreNoNumbers()
    {
        std::vector<double> numbers(2 * 3 * 4, 0.5);
        app::HeatmapJob job;
        job.relevance = tensor::Tensor::of<double>({1, 1, 2, 3, 4}, numbers);
        const QString whole = textsOf(job);
        QVERIFY(!whole.isEmpty());
        QVERIFY(!whole.contains(QLatin1String("NaN")));
        numbers[5] = std::numeric_limits<double>::quiet_NaN();
        job.relevance = tensor::Tensor::of<double>({1, 1, 2, 3, 4}, numbers);
        QVERIFY(textsOf(job).contains(QLatin1String("1 NaN")));
    }
};

QTEST_MAIN(HeatmapFileTest)
#include "heatmapfiletest.moc"
