// SPDX-License-Identifier: Apache-2.0
// Where relevance came from and where it goes, in the window: a pixel is clicked, a region marked, a channel chosen, a
// change compared with what was before.
#include <QtTest>

#include <QComboBox>

#include "app/gui/controllers/wherecontroller.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/workspaces.h"
#include "tests/app/gui/settles.h"
#include "views/beforeafter/beforeafterview.h"
#include "views/common/paint/style.h"
#include "views/graph/graphview.h"
#include "views/heatmap/heatmapcanvas.h"
#include "views/heatmap/heatmapview.h"
#include "views/history/historyview.h"
#include "views/region/channelstrip.h"
#include "views/region/classshares.h"
#include "views/region/regionview.h"

using namespace retro;
using tests::kPatience;

namespace
{

bool isAnswered(app::MainWindow& window)
{
    return QTest::qWaitFor([&] { return !window.isBusy() && window.where().isIdle(); }, kPatience);
}

QAction& actionOf(app::MainWindow& window, const char* id) { return window.actions().at(QLatin1String(id)); }

template <class View>
View& viewOf(app::MainWindow& window)
{
    return *window.findChild<View*>();
}

void openForQuestions(app::MainWindow& window, const QString& path = {})
{
    window.show();
    window.open(path);
    QVERIFY(isAnswered(window));
    QVERIFY2(window.lastError().isEmpty(), qPrintable(window.lastError()));
    window.showWorkspace(QStringLiteral("explain"));
    window.flush();
}

std::vector<tensor::Tensor> tagMask(app::MainWindow& window)
{
    const base::ValueId input = window.model().graph().inputs().front();
    const tensor::Shape& shape = window.model().run().shapes[input.index()];
    const QRect tag = *window.model().input().tagBox;
    std::vector<double> mask(static_cast<std::size_t>(tensor::elementCount(shape)), 0);
    for (std::int64_t c = 0; c < shape[1]; ++c) {
        for (int y = tag.top(); y <= tag.bottom(); ++y) {
            for (int x = tag.left(); x <= tag.right(); ++x) {
                mask[static_cast<std::size_t>((c * shape[2] + y) * shape[3] + x)] = 1;
            }
        }
    }
    return {tensor::Tensor::of<double>(shape, mask)};
}

} // namespace

class WhereScenarioTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { views::Style::install(*qApp); }

    void aClickedPixelIsFollowedBack()
    {
        app::MainWindow window;
        openForQuestions(window);
        auto& heatmap = window.workspace().findChild<views::HeatmapView*>() != nullptr
                            ? *window.workspace().findChild<views::HeatmapView*>()
                            : viewOf<views::HeatmapView>(window);
        auto* canvas = heatmap.findChild<views::HeatmapCanvas*>();
        QSignalSpy picked(&heatmap, &views::HeatmapView::elementPicked);
        const auto& figure = canvas->figure();
        const auto placement =
            views::placeFigure(figure, canvas->camera(), QRectF(canvas->rect()).adjusted(2, 1, -2, -2));
        const QPointF at = placement.picture.topLeft() + QPointF(86.5, 12.5) * placement.pixel;
        QTest::mouseClick(canvas, Qt::LeftButton, {}, at.toPoint());
        QCOMPARE(picked.count(), 1);
        QVERIFY(isAnswered(window));
        auto& view = *window.workspace().findChild<views::HistoryView*>(); // Engine has one of its own
        const views::HistoryPointer history = view.history();
        QVERIFY2(history, qPrintable(view.detailText()));
        QCOMPARE(history->index, (std::vector<std::int64_t>{0, -1, 12, 86}));
        QCOMPARE(history->run, window.model().sharedRun());
        QVERIFY(history->layers.size() > 8);
        QVERIFY(history->apart < 1e-4);
        QVERIFY(std::abs(history->layers.front().sum - history->relevance) <= 1e-4 * std::abs(history->relevance));
        QVERIFY(!history->last.empty());
        // The pane is in sight, and a row takes the cursor to its event.
        QVERIFY(view.isVisible());
        view.chooseRow(1);
        QCOMPARE(window.cursor().position(), *history->layers[1].position);
        QCOMPARE(window.selection().value(), std::optional(history->layers[1].value));
        // Any element of any tensor can be typed; what is none is said.
        emit view.placeTyped(window.model().label(history->layers[1].value) + QStringLiteral(":0,0"));
        QVERIFY(isAnswered(window));
        QVERIFY(view.history() && view.history()->value == history->layers[1].value);
        emit view.placeTyped(QStringLiteral("nowhere:0"));
        QVERIFY(isAnswered(window));
        QVERIFY(!view.history());
    }

    /// Grad-CAM in place of relevance, computed beside the window, and again for the next question.
    void theInputByAnotherMethod()
    {
        app::MainWindow window;
        openForQuestions(window);
        auto& heatmap = *window.workspace().findChild<views::HeatmapView*>();
        QComboBox* methods = nullptr;
        for (auto* box : heatmap.findChildren<QComboBox*>()) {
            methods = box->findText(QStringLiteral("Grad-CAM")) >= 0 ? box : methods;
        }
        QVERIFY(methods != nullptr);
        methods->setCurrentText(QStringLiteral("Grad-CAM"));
        QTRY_VERIFY_WITH_TIMEOUT(heatmap.title().startsWith(QStringLiteral("Grad-CAM")), kPatience);
        const views::Plane first = heatmap.content().plane;
        QVERIFY(std::ranges::all_of(first.values, [](double v) { return v >= 0 && v < 1.001; }));
        QVERIFY(*std::ranges::max_element(first.values) > 0.9);
        actionOf(window, "cover.tag").trigger();
        QVERIFY(isAnswered(window));
        QTRY_VERIFY_WITH_TIMEOUT(heatmap.content().plane.values != first.values, kPatience);
        QVERIFY(heatmap.title().startsWith(QStringLiteral("Grad-CAM")));
    }

    /// What the first question needs is there before somebody asks.
    void aRunIsMadeReadyForQuestions()
    {
        app::MainWindow window;
        openForQuestions(window);
        QTRY_VERIFY_WITH_TIMEOUT(window.where().isPrepared(), kPatience);
        QVERIFY(!window.where().keptRegion() && !window.region().region()); // and nobody sees it
        actionOf(window, "cover.tag").trigger();
        QVERIFY(isAnswered(window));
        QTRY_VERIFY_WITH_TIMEOUT(window.where().isPrepared(), kPatience); // of the other run
        window.closeModel();
        QVERIFY(!window.where().isPrepared());
    }

    void aRegionRanksAndAConditionDraws()
    {
        app::MainWindow window;
        openForQuestions(window);
        window.where().askRegion(tagMask(window), QStringLiteral("the tag"));
        QVERIFY(isAnswered(window));
        const views::RegionPointer region = window.region().region();
        auto& view = viewOf<views::RegionView>(window);
        QVERIFY2(region, qPrintable(view.sentence()));
        QVERIFY(region->total > 0.5 * region->arrived); // the tag speaks for the answer
        RETRO_MADE(value, window.model().graph().findValue("/block4/out/Relu_output_0"));
        QVERIFY(std::abs(*region->shareOf(*value) - 1) < 1e-4); // all of it passes there
        const std::vector<views::RegionChannel> channels = views::rankedAlong(*region, *value, 1, 64);
        double sum = 0;
        for (const views::RegionChannel& channel : channels) {
            sum += channel.part;
        }
        QVERIFY(std::abs(sum - region->total) <= 1e-4 * std::abs(region->total));
        QCOMPARE(channels.front().index, std::int64_t{47});
        // The weights do not know the target: what another class would put there is what its own explanation puts
        // there.
        const base::ValueId scores = window.model().run().facts.targetValue;
        const std::vector<views::RegionChannel> classes = views::sharesOfClasses(*region, scores, 6);
        QCOMPARE(classes.size(), std::size_t{6});
        QCOMPARE(classes.front().index, window.model().run().facts.targetIndex.front());
        QVERIFY(std::abs(classes.front().part - region->total) <= 1e-4 * std::abs(region->total));
        // The graph can be coloured by it.
        window.showWorkspace(QStringLiteral("engine"));
        auto& graph = viewOf<views::GraphView>(window);
        graph.setColourBy(views::ColourBy::Region);
        window.flush();
        QTRY_VERIFY_WITH_TIMEOUT(!graph.isLayoutRunning(), 60'000);
        QVERIFY(!graph.highlighted().empty());
        // The chosen channel's relevance alone, run again: what it has in the region is what the ranking said.
        window.showWorkspace(QStringLiteral("explain"));
        view.showValue(*value);
        view.strip().choose(47, false);
        QCOMPARE(view.condition(), QStringLiteral("/block4/out/Relu_output_0:axis=1:47"));
        const double expected = channels.front().part;
        emit view.conditionsWanted({view.condition()}, QStringLiteral("only"));
        QVERIFY(isAnswered(window));
        QVERIFY2(window.lastError().isEmpty(), qPrintable(window.lastError()));
        QVERIFY(!window.model().run().facts.conditions.empty());
        const views::RegionPointer passed = window.region().region(); // asked again by itself
        QVERIFY(passed && passed->run == window.model().sharedRun());
        QVERIFY2(std::abs(passed->total - expected) <= 1e-4 * std::abs(expected),
                 qPrintable(QStringLiteral("%1 %2").arg(passed->total).arg(expected)));
        emit view.conditionsWanted({}, QStringLiteral("only"));
        QVERIFY(isAnswered(window));
        QVERIFY(window.model().run().facts.conditions.empty());
        actionOf(window, "region.clear").trigger();
        QVERIFY(!window.region().region());
    }

    void mapsOfChannelsStandSideBySide()
    {
        app::MainWindow window;
        openForQuestions(window);
        actionOf(window, "region.whole").trigger();
        QVERIFY(isAnswered(window));
        QVERIFY(window.region().region());
        auto& view = viewOf<views::RegionView>(window);
        const auto value = window.model().graph().findValue("/block4/out/Relu_output_0");
        view.showValue(*value);
        emit view.mapsWanted(*value, 1, {47, 29});
        QVERIFY(isAnswered(window));
        QVERIFY(view.strip().hasMap(47));
        QVERIFY(view.strip().hasMap(29));
    }

    void aStrokeOverTheHeatmapIsARegion()
    {
        app::MainWindow window;
        openForQuestions(window);
        actionOf(window, "region.mark").setChecked(true);
        auto* heatmap = window.workspace().findChild<views::HeatmapView*>();
        auto* canvas = heatmap->findChild<views::HeatmapCanvas*>();
        window.flush();
        QTest::qWait(50); // the row of tools takes its place
        const auto at = [&](double x, double y) {
            const auto placement =
                views::placeFigure(canvas->figure(), canvas->camera(), QRectF(canvas->rect()).adjusted(2, 1, -2, -2));
            return (placement.picture.topLeft() + QPointF(x + 0.5, y + 0.5) * placement.pixel).toPoint();
        };
        const QRect tag = *window.model().input().tagBox;
        QTest::mousePress(canvas, Qt::LeftButton, {}, at(tag.left(), tag.top()));
        QTest::mouseMove(canvas, at(tag.center().x(), tag.center().y()));
        QTest::mouseMove(canvas, at(tag.right(), tag.bottom()));
        QTest::mouseRelease(canvas, Qt::LeftButton, {}, at(tag.right(), tag.bottom()));
        QVERIFY(isAnswered(window));
        const views::RegionPointer region = window.region().region();
        QVERIFY(region);
        double marked = 0;
        for (const double one : region->mask.values) {
            marked += one;
        }
        QCOMPARE(marked, double(tag.width()) * tag.height()); // the newest stroke, whole
        QVERIFY(region->total > 0.5 * region->arrived);
        actionOf(window, "region.mark").setChecked(false);
    }

    void aChangeKeepsWhatWasBefore()
    {
        app::MainWindow window;
        openForQuestions(window);
        auto& view = viewOf<views::BeforeAfterView>(window);
        QCOMPARE(view.runCount(), std::size_t{1});
        actionOf(window, "cover.tag").trigger();
        QVERIFY(isAnswered(window));
        view.flush();
        QCOMPARE(view.runCount(), std::size_t{2});
        const views::RunPair& pair = view.pair();
        QVERIFY(pair.before.sum > 2 && pair.after.sum < 1);
        QVERIFY(view.sentence().contains(QStringLiteral("turns from mug")));
        QVERIFY(view.sentence().contains(QStringLiteral("numbers differ")));
        QCOMPARE(pair.difference.values.size(), pair.after.plane.values.size());
        QCOMPARE(pair.difference.values[0], pair.after.plane.values[0] - pair.before.plane.values[0]);
        view.choosePair(1, 0);
        view.flush();
        QVERIFY(view.pair().before.sum < view.pair().after.sum);
        window.closeModel();
        QCOMPARE(view.runCount(), std::size_t{0});
    }

    void runsGoToWhereAnElementChanged()
    {
        app::MainWindow window;
        openForQuestions(window);
        window.where().askHistory(QStringLiteral("image:0,0,49,31"));
        QVERIFY(isAnswered(window));
        window.selection().clear();
        window.cursor().moveTo(window.cursor().end());
        QSignalSpy said(&window.where(), &app::WhereController::said);
        actionOf(window, "go.changedback").trigger();
        QVERIFY(window.cursor().position() < window.cursor().end());
        QCOMPARE(said.count(), 1);
        RETRO_SAYS(said.front().front().toString(), QStringLiteral("image[0,0,49,31]"));
        const std::uint64_t here = window.cursor().position();
        actionOf(window, "go.changedback").trigger();
        QCOMPARE(window.cursor().position(), here); // it changes once
        actionOf(window, "go.first").trigger();
        actionOf(window, "go.changed").trigger();
        QCOMPARE(window.cursor().position(), here);
    }

    void wordsAreAskedAsPixelsAre()
    {
        app::MainWindow window;
        openForQuestions(window, QStringLiteral(RETRO_SOURCE_DIR "/samples/planted-word/planted-word.onnx"));
        window.where().askHistory(QStringLiteral("tokens:0,5"));
        QVERIFY(isAnswered(window));
        const auto& view = viewOf<views::HistoryView>(window);
        QVERIFY2(view.history(), qPrintable(view.detailText()));
        QCOMPARE(view.history()->layers.back().value, window.model().graph().inputs().front());
    }
};

QTEST_MAIN(WhereScenarioTest)
#include "wherescenariotest.moc"
