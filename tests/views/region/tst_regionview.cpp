// SPDX-License-Identifier: Apache-2.0
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/region/channelstrip.h"
#include "views/region/regionview.h"

#include <QFile>
#include <QSignalSpy>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>

using namespace retro;
using namespace retro::views;

namespace
{

/// Weights by hand: half of everything that relu1 has ends in the region, all of channel 0.
RegionPointer madeRegion(const RunModel& model)
{
    const base::NodeId relu(std::uint32_t{tests::kRelu1});
    const base::ValueId value = model.graph().outputsOf(relu)[0];
    const tensor::Tensor& relevance = *model.tensor(model.relevanceHandle(value));
    std::vector<double> weights;
    double total = 0;
    double sum = 0;
    const std::int64_t plane = relevance.shape()[2] * relevance.shape()[3];
    for (std::int64_t i = 0; i < relevance.size(); ++i) {
        weights.push_back(i < plane ? 1 : 0);
        total += weights.back() * relevance.at(i);
        sum += relevance.at(i);
    }
    auto facts = std::make_shared<RegionFacts>();
    facts->run = model.sharedRun();
    facts->text = QStringLiteral("box 0:4,0:4");
    facts->total = total;
    facts->arrived = sum;
    facts->weights.resize(model.graph().valueCount());
    facts->relevance.resize(model.graph().valueCount());
    facts->weights[value.index()] = tensor::Tensor::of<double>(relevance.shape(), weights).to(relevance.dtype());
    facts->relevance[value.index()] = relevance;
    facts->parts = {{value, total, sum, sum, std::size_t{1}, {total}}};
    return facts;
}

} // namespace

class RegionViewTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void channelsAddUpToTheirValue()
    {
        tests::TinyContext context;
        const RegionPointer region = madeRegion(context.model);
        const RegionPart& part = region->parts.front();
        for (const std::size_t axis : {1U, 2U, 3U}) {
            const auto channels = rankedAlong(*region, part.value, axis, 1000);
            double sum = 0;
            double all = 0;
            for (std::size_t i = 0; i < channels.size(); ++i) {
                sum += channels[i].part;
                all += channels[i].relevance;
                QVERIFY(i == 0 || std::abs(channels[i].part) <= std::abs(channels[i - 1].part));
                QCOMPARE(channels[i].map.isEmpty(), axis != 1);
            }
            QVERIFY(std::abs(sum - part.total) <= 1e-5 * std::abs(part.total));
            QVERIFY(std::abs(all - part.relevance) <= 1e-5 * std::abs(part.relevance));
        }
        QCOMPARE(rankedAlong(*region, part.value, 1, 1).front().index, std::int64_t{0});
        QVERIFY(rankedAlong(*region, part.value, 4, 10).empty());
        QVERIFY(rankedAlong(*region, context.model.graph().inputs().front(), 1, 10).empty());
        QCOMPARE(*region->shareOf(part.value), 1.0);
        QCOMPARE(*region->shareOf(context.model.graph().inputs().front()), 0.0);
    }

    void chosenChannelsAreACondition()
    {
        tests::TinyContext context;
        RegionOverlay overlay;
        RegionView view(context.model, context.cursor, context.selection, overlay);
        tests::showAt(view, 1000, 220);
        QVERIFY(view.condition().isEmpty());
        overlay.set(madeRegion(context.model));
        QVERIFY(view.sentence().contains(QStringLiteral("box 0:4,0:4")));
        const base::ValueId value = overlay.region()->parts.front().value;
        QCOMPARE(view.shownValue(), value); // the layer with channels
        QCOMPARE(view.shownAxis(), std::size_t{1});
        QVERIFY(!view.strip().channels().empty());
        view.strip().choose(0, false);
        QCOMPARE(view.condition(), context.model.label(value) + QStringLiteral(":axis=1:0"));
        view.strip().choose(1, true);
        QCOMPARE(view.condition(), context.model.label(value) + QStringLiteral(":axis=1:0,1"));
        view.strip().choose(0, true); // no longer
        QCOMPARE(view.condition(), context.model.label(value) + QStringLiteral(":axis=1:1"));
        // A map of another value, or along another axis, is not taken.
        view.setMap(value, 2, 0, {1, 1, {1}});
        QVERIFY(!view.strip().hasMap(0));
        view.setMap(value, 1, 0, {1, 1, {1}});
        QVERIFY(view.strip().hasMap(0));
        // A region of another run is none.
        context.model.clear();
        context.showTinyRun();
        view.flush();
        QVERIFY(view.condition().isEmpty());
        QVERIFY(view.strip().channels().empty());
    }

    /// Strokes follow each other many times a second: only texts change, not the rows.
    void aStrokeChangesTextsAlone()
    {
        tests::TinyContext context;
        RegionOverlay overlay;
        RegionView view(context.model, context.cursor, context.selection, overlay);
        tests::showAt(view, 1000, 220);
        overlay.set(madeRegion(context.model));
        auto* table = view.findChild<QTableView*>();
        QVERIFY(table != nullptr && table->model()->rowCount() == 1);
        QCOMPARE(table->currentIndex().row(), 0);
        const QString before = table->model()->index(0, 1).data().toString();
        const QSignalSpy resets(table->model(), &QAbstractItemModel::modelReset);
        const QSignalSpy changes(table->model(), &QAbstractItemModel::dataChanged);
        auto stroke = std::make_shared<RegionFacts>(*overlay.region());
        stroke->parts.front().total *= 2;
        overlay.set(stroke);
        QCOMPARE(resets.size(), 0);
        QCOMPARE(changes.size(), 1);
        QVERIFY(table->model()->index(0, 1).data().toString() != before);
        QCOMPARE(view.shownValue(), stroke->parts.front().value);
        overlay.set(nullptr);
        QCOMPARE(table->model()->rowCount(), 0);
    }

    void whatIsShownIsWritten()
    {
        tests::TinyContext context;
        RegionOverlay overlay;
        RegionView view(context.model, context.cursor, context.selection, overlay);
        const QTemporaryDir folder;
        QFile file(folder.filePath(QStringLiteral("r.csv")));
        QVERIFY(!view.exportTo(file.fileName().toStdString()).ok());
        view.flush();
        overlay.set(madeRegion(context.model));
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            QVERIFY(tests::colorCount(tests::grab(view, {1000, 220}, kind, QStringLiteral("region"))) > 10);
        }
        QVERIFY(view.exportTo(file.fileName().toStdString()).ok());
        QVERIFY(file.open(QIODevice::ReadOnly));
        QVERIFY(file.readAll().startsWith("value,axis,channel,part,relevance\n"));
        QVERIFY(view.exportTo(folder.filePath(QStringLiteral("r.png")).toStdString()).ok());
    }
};

QTEST_MAIN(RegionViewTest)
#include "tst_regionview.moc"
