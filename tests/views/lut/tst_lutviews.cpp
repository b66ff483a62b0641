// SPDX-License-Identifier: Apache-2.0
// The views of LUT layers on a run of a small sequence model: what they show, where a click leads, and their states.
#include "tests/views/lut/lutcontext.h"
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/paint/theme.h"
#include "views/lut/dataflowpane.h"
#include "views/lut/dataflowview.h"
#include "views/lut/detectorsview.h"
#include "views/lut/pairmapview.h"
#include "views/lut/streamsview.h"

#include <QPushButton>
#include <QSignalSpy>
#include <QtTest>

#include <set>
#include <utility>

using namespace retro;
using namespace retro::views;
using tests::explained;
using tests::kLength;
using tests::kWidth;
using tests::LutContext;
using tests::place;

class LutViewsTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void layersAndLaunchesAreFound()
    {
        RETRO_MADE(run, explained());
        const LutRun lut(*run);
        QCOMPARE(lut.layers().size(), std::size_t{2});
        const LutLayer& first = lut.layers()[0];
        QVERIFY(first.request.shape.isSequence);
        QCOMPARE(first.request.shape.length, kLength);
        QCOMPARE(first.request.shape.codeBits, 1U);
        QCOMPARE(first.request.batch, std::uint64_t{2});
        QCOMPARE(lut.layers()[1].request.batch, std::uint64_t{2 * kLength});
        QVERIFY(first.passes() == (std::vector{lut::Pass::Forward, lut::Pass::Relevance}));
        for (const RunLaunch& launch : first.launches) {
            QVERIFY(first.launchAt(launch.position) == launch);
            QVERIFY(run->events[launch.position - 1].kind == event::EventKind::Launch);
        }
        QVERIFY(!first.launchAt(0).has_value());
    }

    void aClickAndTheKeysGoFromKernelToKernel()
    {
        LutContext context;
        DataFlowView view(context.model, context.cursor, context.selection, context.choice);
        place(view, {1200, 700});
        const std::vector<RunLaunch>& launches = context.choice.layer()->launches;
        QVERIFY(launches.size() >= 5);
        DataFlowPane& pane = view.pane();
        const std::size_t box = pane.picture().kernelBox(0, 1);
        QTest::mouseClick(&pane, Qt::LeftButton, {}, pane.picture().boxes[box].rect.center().toPoint());
        QCOMPARE(context.cursor.position(), launches[1].position);
        view.flush();
        QVERIFY(pane.current() == launches[1]);
        QVERIFY2(pane.sentence().startsWith(QStringLiteral("check_positional_embeddings on stream 1")),
                 qPrintable(pane.sentence()));
        QTest::keyClick(&pane, Qt::Key_Right);
        QCOMPARE(context.cursor.position(), launches[2].position);
        view.flush();
        QTest::keyClick(&pane, Qt::Key_Left);
        view.flush();
        QTest::keyClick(&pane, Qt::Key_Left);
        QCOMPARE(context.cursor.position(), launches[0].position);
        context.cursor.moveTo(0);
        view.flush();
        QTest::keyClick(&pane, Qt::Key_Left); // none before
        QCOMPARE(context.cursor.position(), std::uint64_t{0});
    }

    /// A visit ends behind its last launch; that one is where the kernels stand.
    /// Behind a launch the buffers say what they hold: the rows that were chosen, and nothing of a launch to come.
    void buffersSayWhatTheyHold()
    {
        LutContext context;
        DataFlowView view(context.model, context.cursor, context.selection, context.choice);
        place(view, {1200, 700});
        DataFlowPane& pane = view.pane();
        const RunLaunch first = context.choice.layer()->launches.front();
        const auto content = [&](lut::BufferId id) {
            for (const FlowBox& box : pane.picture().boxes) {
                if (!box.isKernel && box.pass == 0 && pane.picture().buffer(box).id == id) {
                    return pane.contentOf(box);
                }
            }
            return QStringLiteral("no such box");
        };
        QCOMPARE(content(lut::BufferId::LookupIndices), QString());
        context.cursor.moveTo(first.position);
        view.flush();
        QTRY_VERIFY(!content(lut::BufferId::LookupIndices).isEmpty());
        RETRO_MADE(detail, trace::lutDetail(context.model.run(), context.choice.layer()->node));
        std::int64_t chosen = 0;
        for (std::int64_t i = 0; i < detail->choices.rows.size(); ++i) {
            chosen += detail->choices.rows.at(i) != 0 ? 1 : 0;
        }
        const QString expected = QStringLiteral("%1 of %2 not 0,").arg(chosen).arg(detail->choices.rows.size());
        QVERIFY2(content(lut::BufferId::LookupIndices).startsWith(expected),
                 qPrintable(content(lut::BufferId::LookupIndices)));
        // Nothing wrote the output yet: its box keeps to its shape. Behind the last launch of the pass it is all there.
        QCOMPARE(content(lut::BufferId::Output), QString());
        std::uint64_t last = 0;
        for (const RunLaunch& one : context.choice.layer()->launches) {
            last = one.pass == lut::Pass::Forward ? one.position : last;
        }
        context.cursor.moveTo(last);
        view.flush();
        QTRY_VERIFY(!content(lut::BufferId::Output).isEmpty());
        // The layer stands beside its input, and the next one reads the sum.
        const auto next = trace::lutDetail(context.model.run(), context.choice.layers()[1].node);
        QVERIFY(next.ok() && next->input.size() == detail->input.size());
        std::int64_t others = 0;
        for (std::int64_t i = 0; i < next->input.size(); ++i) {
            others += next->input.at(i) != detail->input.at(i) ? 1 : 0;
        }
        const QString written = QStringLiteral("%1 of %2 not 0,").arg(others).arg(next->input.size());
        QVERIFY2(content(lut::BufferId::Output).startsWith(written), qPrintable(content(lut::BufferId::Output)));
        context.cursor.moveTo(0);
        view.flush();
        QCOMPARE(content(lut::BufferId::LookupIndices), QString());
    }

    void theLatestLaunchIsMarkedBetweenLaunches()
    {
        LutContext context;
        DataFlowView view(context.model, context.cursor, context.selection, context.choice);
        place(view, {1200, 700});
        const std::vector<RunLaunch>& launches = context.choice.layer()->launches;
        QVERIFY(!latestLaunch(launches, 0).has_value());
        QVERIFY(latestLaunch(launches, launches[1].position) == launches[1]);
        for (const RunLaunch& launch : launches) { // also of a pass that runs once more
            context.cursor.moveTo(launch.position);
            view.flush();
            QVERIFY2(view.pane().current() == launch && !view.pane().sentence().isEmpty(),
                     qPrintable(QString::number(launch.position)));
        }
        context.cursor.moveTo(context.cursor.end());
        view.flush();
        QVERIFY(view.pane().current() == launches.back());
        QVERIFY(!view.pane().sentence().isEmpty());
    }

    /// In a low pane, too, whichever way the cursor goes.
    void theKernelAtTheCursorIsInSight()
    {
        LutContext context;
        DataFlowView view(context.model, context.cursor, context.selection, context.choice);
        place(view, {900, 300});
        view.show();
        QVERIFY(QTest::qWaitForWindowExposed(&view));
        std::vector<RunLaunch> launches = context.choice.layer()->launches;
        launches.insert(launches.end(), launches.rbegin(), launches.rend());
        QVERIFY(view.pane().height() > view.height());
        for (const RunLaunch& launch : launches) {
            context.cursor.moveTo(launch.position);
            view.flush();
            QVERIFY(!view.pane().currentRect().isNull());
            QVERIFY(view.pane().visibleRegion().boundingRect().contains(view.pane().currentRect().toAlignedRect()));
        }
    }

    void launchNumbersGoOnThroughThePasses()
    {
        LutContext context;
        DataFlowView view(context.model, context.cursor, context.selection, context.choice);
        place(view, {1200, 700});
        const FlowPicture& picture = view.pane().picture();
        QVERIFY(picture.schedules.size() > 1);
        std::set<std::size_t> numbers;
        for (const FlowBox& box : picture.boxes) {
            if (box.isKernel) {
                numbers.insert(picture.numberOf(box));
            }
        }
        QCOMPARE(*numbers.begin(), std::size_t{1});
        QCOMPARE(*numbers.rbegin(), numbers.size());
        QCOMPARE(launchNumber(picture.schedules, 1, 0), picture.schedules[0].launches.size() + 1);
    }

    /// An empty workspace shows the way to something that fills it.
    void withoutALayerASampleIsOffered()
    {
        tests::TinyContext context;
        LutChoice choice(context.model, context.selection);
        DataFlowView view(context.model, context.cursor, context.selection, choice);
        place(view, {900, 500});
        QSignalSpy wanted(&view, &DataFlowView::sampleWanted);
        QPushButton* button = nullptr;
        for (QPushButton* one : view.findChildren<QPushButton*>()) {
            button = one->text() == QStringLiteral("Open a LUT sample") && one->isVisibleTo(&view) ? one : button;
        }
        QVERIFY(button != nullptr);
        button->click();
        QCOMPARE(wanted.size(), 1);
    }

    void theDocumentedPathIsDrawnButDidNotRun()
    {
        LutContext context;
        DataFlowView view(context.model, context.cursor, context.selection, context.choice);
        place(view, {1200, 700});
        const std::size_t fused = view.pane().picture().boxes.size();
        context.choice.choosePath(lut::Path::Documented);
        view.flush();
        QVERIFY(view.pane().picture().boxes.size() > fused);
        QVERIFY(!view.pane().current().has_value());
        QCOMPARE(view.paths().currentIndex(), 1);
        QVERIFY(view.runPath().isVisibleTo(&view) && view.runPath().isEnabled());
        QSignalSpy wanted(&view, &DataFlowView::pathWanted);
        view.runPath().click();
        QCOMPARE(wanted.size(), 1);
        QVERIFY(wanted[0][0].value<lut::Path>() == lut::Path::Documented);
        context.choice.choosePath(lut::Path::Fused);
        view.flush();
        QVERIFY(!view.runPath().isVisibleTo(&view));
    }

    /// As wide as its dock in a window of 1280 pixels: nothing must be scrolled sideways.
    void thePictureFitsItsDock()
    {
        LutContext context;
        DataFlowView view(context.model, context.cursor, context.selection, context.choice);
        place(view, {860, 500});
        view.show();
        QVERIFY(QTest::qWaitForWindowExposed(&view));
        for (const lut::Path path : {lut::Path::Fused, lut::Path::Documented}) {
            context.choice.choosePath(path);
            view.flush();
            const auto& schedules = view.pane().picture().schedules;
            QVERIFY(std::ranges::any_of(schedules, [](const auto& one) { return one.pass == lut::Pass::Relevance; }));
            const int width = view.pane().parentWidget()->width();
            QVERIFY2(view.pane().width() <= width,
                     qPrintable(QStringLiteral("%1 of %2").arg(view.pane().width()).arg(width)));
            QVERIFY(width <= 860);
        }
        // Rows are as wide as there is room.
        context.choice.choosePath(lut::Path::Fused);
        view.flush();
        const int narrow = view.pane().height();
        view.resize(1400, 500);
        QTRY_VERIFY(view.pane().height() < narrow);
    }

    void theSelectedNodeIsTheLayer()
    {
        LutContext context;
        DataFlowView view(context.model, context.cursor, context.selection, context.choice);
        place(view, {1200, 700});
        QCOMPARE(view.layers().count(), 2);
        QCOMPARE(view.layers().currentIndex(), 0);
        context.selection.selectNode(context.choice.layers()[1].node);
        view.flush();
        QCOMPARE(view.layers().currentIndex(), 1);
        context.choice.chooseLayer(0);
        QCOMPARE(context.selection.node(), std::optional(context.choice.layers()[0].node));
    }

    /// What the table shows is what the kernels chose, at every pair.
    void tablesShowWhatWasChosen()
    {
        LutContext context;
        context.waitForDetail();
        const auto detail = context.choice.detail();
        QVERIFY2(detail != nullptr, qPrintable(context.choice.problem()));
        const std::uint32_t tables = detail->shape.tables;
        for (std::uint32_t later = 1; later < kLength; ++later) {
            for (std::uint32_t earlier = 0; earlier < later; ++earlier) {
                for (std::uint32_t table = 0; table < tables; ++table) {
                    const trace::TableChoice shown = trace::tableChoice(*detail, {1, table, later, earlier});
                    const auto row = [&](std::uint32_t position) {
                        return static_cast<std::uint32_t>(
                            detail->choices.rows.at((kLength + position) * tables + table));
                    };
                    const auto code =
                        static_cast<std::uint32_t>(detail->choices.codeRows.at((later - earlier - 1) * tables + table));
                    QCOMPARE(shown.row, row(later) << 3U | row(earlier) << 1U | code);
                    QCOMPARE(shown.comparisons.size(), std::size_t{5});
                    QVERIFY(shown.runnerUp.has_value() && *shown.runnerUp != shown.row);
                    QVERIFY(shown.share >= 0.5 && shown.share < 1);
                    QCOMPARE(shown.chosenWeights.size(), std::size_t{kWidth});
                }
            }
        }
    }

    void fieldsAndMapFollowEachOther()
    {
        LutContext context;
        DetectorsView table(context.model, context.cursor, context.selection, context.choice);
        PairMapView map(context.model, context.cursor, context.selection, context.choice);
        place(table, {460, 400});
        place(map, {400, 400});
        QTRY_VERIFY_WITH_TIMEOUT(context.choice.detail() != nullptr, 30'000);
        const trace::TableSite wanted{context.choice.site().sample, context.choice.site().table, 5, 2};
        map.flush();
        QTest::mouseClick(&map.pane(), Qt::LeftButton, {}, map.pane().rectOf(wanted).center().toPoint());
        QVERIFY(context.choice.site() == wanted);
        table.flush();
        map.flush();
        QVERIFY2(map.message().startsWith(QStringLiteral("5 looks at 2")), qPrintable(map.message()));
        QVERIFY2(map.message().contains(QStringLiteral(" pairs sum to ")), qPrintable(map.message()));
        QCOMPARE(table.message(), QString());
        table.table().setValue(2);
        QCOMPARE(context.choice.site().table, 2U);
        QTest::keyClick(&map.pane(), Qt::Key_Up);
        QCOMPARE(context.choice.site().later, 4U);
        QTest::mouseClick(&map.pane(), Qt::LeftButton, {}, map.pane().rectOf({0, 0, 2, 6}).center().toPoint());
        QCOMPARE(context.choice.site().later, 4U); // no pair: the later one comes first
    }

    void theMapAddsUpToTheTables()
    {
        LutContext context;
        context.waitForDetail();
        QVERIFY(context.choice.detail() != nullptr && context.choice.detail()->relevance.has_value());
        double pairs = 0;
        double tables = 0;
        const auto& relevance = *context.choice.detail()->relevance;
        for (std::int64_t i = 0; i < relevance.pairs.size(); ++i) {
            pairs += relevance.pairs.at(i);
        }
        for (std::int64_t i = 0; i < relevance.tables.size(); ++i) {
            tables += relevance.tables.at(i);
        }
        QVERIFY(std::abs(pairs - tables) <= 1e-4 * std::max(1.0, std::abs(tables)));
    }

    void aRunWithoutValuesSaysSo()
    {
        LutContext context(explained(false));
        context.choice.chooseLayer(1);
        DetectorsView table(context.model, context.cursor, context.selection, context.choice);
        place(table, {460, 400});
        QTRY_VERIFY_WITH_TIMEOUT(!context.choice.problem().isEmpty(), 30'000);
        table.flush();
        QVERIFY2(table.message().contains(QStringLiteral("does not hold the value")), qPrintable(table.message()));
    }

    void aModelWithoutLayersSaysSo()
    {
        tests::ViewContext context;
        LutChoice choice(context.model, context.selection);
        DataFlowView flow(context.model, context.cursor, context.selection, choice);
        DetectorsView table(context.model, context.cursor, context.selection, choice);
        place(flow, {500, 300});
        place(table, {500, 300}); // empty
        context.showTinyRun();
        flow.flush();
        table.flush();
        QVERIFY(choice.layer() == nullptr);
        choice.wantDetail(); // nothing to work out
        QVERIFY(!choice.isLoading());
        choice.chooseSite({4, 4, 4, 4});
        QVERIFY(choice.site() == trace::TableSite{});
        context.model.clear();
        flow.flush();
        QVERIFY(choice.layers().empty());
    }

    /// Nothing is left behind by a run that goes while its numbers are worked out.
    void aRunThatGoesTakesItsNumbersAlong()
    {
        LutContext context;
        context.choice.wantDetail();
        context.model.clear();
        QVERIFY(context.choice.detail() == nullptr && !context.choice.isLoading());
    }

    void bothThemesPaint_data()
    {
        QTest::addColumn<int>("theme");
        QTest::newRow("light") << static_cast<int>(ThemeChoice::Light);
        QTest::newRow("dark") << static_cast<int>(ThemeChoice::Dark);
    }

    void bothThemesPaint()
    {
        QFETCH(int, theme);
        ThemeHub::instance().setChoice(static_cast<ThemeChoice>(theme));
        LutContext context;
        DataFlowView flow(context.model, context.cursor, context.selection, context.choice);
        StreamsView streams(context.model, context.cursor, context.selection, context.choice);
        DetectorsView table(context.model, context.cursor, context.selection, context.choice);
        PairMapView map(context.model, context.cursor, context.selection, context.choice);
        context.waitForDetail();
        context.cursor.moveTo(context.choice.layer()->launches[2].position);
        for (View* view : std::initializer_list<View*>{&flow, &streams, &table, &map}) {
            place(*view, {640, 420});
            const QImage picture = view->grab().toImage();
            QSet<QRgb> colours;
            for (int x = 0; x < picture.width(); x += 3) {
                for (int y = 0; y < picture.height(); y += 3) {
                    colours.insert(picture.pixel(x, y));
                }
            }
            QVERIFY2(colours.size() > 6, qPrintable(view->title()));
        }
        std::size_t inSchedules = 0;
        for (const lut::Schedule& schedule : context.choice.schedules()) {
            inSchedules += schedule.launches.size();
        }
        QCOMPARE(streams.pane().times().size(), inSchedules);
        // A bar as long as it took for each launch of the run. The fused path also has launches that another one does
        // the work of: the run does not tell of them, and they take no time.
        std::set<std::pair<lut::Pass, std::size_t>> kernels; // a pass may have run several times
        for (const RunLaunch& launch : context.choice.layer()->launches) {
            if (launch.seconds) {
                kernels.emplace(launch.pass, launch.place);
            }
        }
        std::size_t recorded = 0;
        for (const LaunchTime& time : streams.pane().times()) {
            QVERIFY(time.isRecorded != time.isIdle && !time.isMeasured);
            QVERIFY(!time.isIdle || time.end == time.start);
            recorded += time.isRecorded ? 1 : 0;
        }
        QCOMPARE(recorded, kernels.size());
        ThemeHub::instance().setChoice(ThemeChoice::Light);
    }
};

QTEST_MAIN(LutViewsTest)
#include "tst_lutviews.moc"
