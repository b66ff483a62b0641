// SPDX-License-Identifier: Apache-2.0
// Every movement of the cursor, each with its mirror.
#include <QtTest>

#include "app/gui/facts/groupstops.h"
#include "app/gui/facts/runfigures.h"
#include "app/gui/stepping/navigator.h"
#include "app/gui/stepping/player.h"
#include "core/trace/gradientrun.h"
#include "tests/views/support/tinyrun.h"

#include <QAction>
#include <QSignalSpy>

#include <cmath>

using namespace retro;
using app::Granularity;
using app::RunTarget;

namespace
{

/// The movements of a window without the window.
struct Fixture : tests::ViewContext
{
    Fixture()
    {
        showTinyRun();
        cursor.moveTo(0);
    }
    void press(const char* id) { actions.at(QLatin1String(id)).trigger(); }

    views::ActionRegistry actions;
    bool isFilled = (actions.addAll(views::standardActions()), true); // before the navigator asks for them
    views::BreakpointList list{model};
    app::NavigatorContext context{actions, model, cursor, selection, list};
    app::Navigator navigator{context};
    app::Player player{context, navigator};
};

base::NodeId nodeOf(tests::TinyNode node) { return base::NodeId(static_cast<std::uint32_t>(node)); }

} // namespace

class TravelTest : public QObject
{
    Q_OBJECT

private slots:
    void everyMovementHasItsMirror_data()
    {
        QTest::addColumn<QByteArray>("on");
        QTest::addColumn<QByteArray>("back");
        QTest::newRow("step") << QByteArray("go.forward") << QByteArray("go.back");
        QTest::newRow("over") << QByteArray("go.over") << QByteArray("go.overback");
        QTest::newRow("mode") << QByteArray("go.mode") << QByteArray("go.modeback");
        QTest::newRow("fulfilment") << QByteArray("go.fulfilled") << QByteArray("go.fulfilledback");
        QTest::newRow("breakpoint") << QByteArray("go.run") << QByteArray("go.runback");
        QTest::newRow("selection") << QByteArray("go.selection") << QByteArray("go.selectionback");
    }

    void everyMovementHasItsMirror()
    {
        QFETCH(QByteArray, on);
        QFETCH(QByteArray, back);
        Fixture window;
        QVERIFY(window.list.add(QStringLiteral("op Conv")).ok());
        window.selection.selectNode(nodeOf(tests::kRelu1));
        std::vector<std::uint64_t> stops;
        for (std::uint64_t before = window.cursor.end() + 1; window.cursor.position() != before;) {
            before = window.cursor.position();
            window.press(on.constData());
            if (window.cursor.position() != before) {
                stops.push_back(window.cursor.position());
            }
        }
        QVERIFY(stops.size() >= 2);
        for (std::size_t i = stops.size() - 1; i-- > 0;) {
            window.press(back.constData());
            QCOMPARE(window.cursor.position(), stops[i]);
        }
    }

    void overStaysOutsideTheGroup()
    {
        const views::RunHandle handle = tests::makeTinyRun();
        // head (fc, flatten, pool), block1 (add, conv2), stem (relu1), block1 (conv2), stem (relu1, conv1), image
        const trace::Run& run = *handle.run;
        QCOMPARE(app::groupStops(run),
                 (std::vector<std::uint64_t>{run.endOfVisit(0), run.endOfVisit(3), run.endOfVisit(5), run.endOfVisit(6),
                                             run.endOfVisit(7), run.endOfVisit(9)}));
    }

    void outAndBackFindTheSamePromise()
    {
        Fixture window;
        window.cursor.moveTo(tests::endOfVisit(window.model, 3)); // P0 waits
        window.press("go.outback");
        const std::uint64_t opening = window.cursor.position();
        QCOMPARE(window.model.state().promises.size(), std::size_t{1});
        QVERIFY(!window.model.state().promises[0].isComplete);
        window.press("go.out");
        QVERIFY(window.model.state().promises[0].isComplete);
        QCOMPARE(window.model.run().events[window.cursor.position() - 1].kind, event::EventKind::Complete);
        window.press("go.outback");
        QCOMPARE(window.cursor.position(), opening);
        // The innermost of two is finished first.
        window.cursor.moveTo(tests::endOfVisit(window.model, 5));
        window.press("go.out");
        QVERIFY(window.model.state().promises[1].isComplete);
    }

    void whatIsNotThereIsSaid()
    {
        Fixture window;
        const QSignalSpy said(&window.navigator, &app::Navigator::said);
        window.press("go.violation");
        window.press("go.out");
        window.press("go.selection");
        QCOMPARE(window.cursor.position(), std::uint64_t{0});
        QCOMPARE(said.count(), 3);
    }

    void runGoesToTheChosenTargetOrTheEnd()
    {
        Fixture window;
        window.press("go.run"); // no breakpoint
        QCOMPARE(window.cursor.position(), window.cursor.end());
        window.press("go.runback");
        QCOMPARE(window.cursor.position(), std::uint64_t{0});
        window.navigator.setRunTarget(RunTarget::PromiseOpened);
        window.press("go.run");
        QCOMPARE(window.model.state().promises.size(), std::size_t{1});
        window.list.toggle(nodeOf(tests::kConv1));
        window.navigator.setRunTarget(RunTarget::Breakpoint);
        window.press("go.run");
        QCOMPARE(window.model.state().current, nodeOf(tests::kConv1));
        window.list.setEnabled(0, false);
        window.press("go.run");
        QCOMPARE(window.cursor.position(), window.cursor.end());
    }

    void runToAPromiseMeetsBothItsEnds()
    {
        Fixture window;
        window.selection.selectPromise(base::PromiseId(std::uint32_t{1}));
        window.press("go.selection");
        QCOMPARE(window.model.state().promises.size(), std::size_t{2});
        window.press("go.selection");
        QVERIFY(window.model.state().promises[1].isComplete);
    }

    void tenTenthsAreAVisit()
    {
        Fixture window;
        window.cursor.moveTo(tests::endOfVisit(window.model, 2));
        const double start = window.cursor.moment();
        std::vector<double> moments{start};
        for (int i = 0; i < 10; ++i) {
            window.press("go.creep");
            QVERIFY(window.cursor.moment() > moments.back());
            moments.push_back(window.cursor.moment());
        }
        QCOMPARE(window.cursor.moment(), static_cast<double>(tests::endOfVisit(window.model, 3)));
        for (std::size_t i = 10; i-- > 0;) { // and back the same way
            window.press("go.creepback");
            QVERIFY(std::abs(window.cursor.moment() - moments[i]) < 1e-6);
        }
        window.cursor.moveTo(0);
        window.press("go.creepback");
        QCOMPARE(window.cursor.moment(), 0.0);
    }

    void typedPositions()
    {
        Fixture window;
        window.navigator.setGranularity(Granularity::Visit);
        QVERIFY(window.navigator.goToText(QStringLiteral("4")));
        QCOMPARE(window.cursor.position(), tests::endOfVisit(window.model, 3));
        QVERIFY(window.navigator.goToText(QStringLiteral("+2")));
        QCOMPARE(window.cursor.position(), tests::endOfVisit(window.model, 5));
        QVERIFY(window.navigator.goToText(QStringLiteral("50%")));
        QCOMPARE(window.cursor.position(), tests::endOfVisit(window.model, 4));
        QVERIFY(window.navigator.goToText(QStringLiteral("@stem/conv1")));
        const std::uint64_t named = window.cursor.position();
        window.cursor.moveTo(0);
        QVERIFY(window.navigator.goToText(QStringLiteral("@CONV1"))); // a part that no other node has
        QCOMPARE(window.cursor.position(), named);
        QSignalSpy said(&window.navigator, &app::Navigator::said);
        QVERIFY(!window.navigator.goToText(QStringLiteral("@conv"))); // of several
        QVERIFY(said.takeFirst().front().toString().contains(QStringLiteral("nodes have conv in their names")));
        QVERIFY(!window.navigator.goToText(QStringLiteral("@nowhere")));
        QVERIFY(said.takeFirst().front().toString().contains(QStringLiteral("No node has nowhere in its name")));
        QVERIFY(!window.navigator.goToText(QStringLiteral("soon")));
    }

    void playingStopsAtBreakpointsAndAtTheEnd()
    {
        Fixture window;
        window.list.toggle(nodeOf(tests::kRelu1));
        window.player.play();
        for (int i = 0; i < 100 && window.player.isPlaying(); ++i) {
            window.player.advance();
        }
        QCOMPARE(window.model.state().current, nodeOf(tests::kRelu1));
        window.list.clear();
        window.player.play();
        for (int i = 0; i < 100 && window.player.isPlaying(); ++i) {
            window.player.advance();
        }
        QCOMPARE(window.cursor.position(), window.cursor.end());
        window.press("go.play"); // from the start again
        QVERIFY(window.player.isPlaying());
        QCOMPARE(window.cursor.position(), std::uint64_t{0});
        window.press("go.forward"); // somebody else moves
        QVERIFY(!window.player.isPlaying());
    }

    /// By F5, by playing fast and by gliding: where it stops, the condition is said as it was typed.
    void aStopSaysWhy()
    {
        for (const int way : {0, 1, 2}) {
            Fixture window;
            QVERIFY(window.list.add(QStringLiteral("op Conv")).ok());
            QVERIFY(window.list.add(QStringLiteral("promise opened")).ok());
            QSignalSpy said(&window.navigator, &app::Navigator::said);
            if (way == 0) {
                window.press("go.run");
            } else {
                window.player.play();
                for (int i = 0; i < 1000 && window.player.isPlaying(); ++i) {
                    way == 1 ? window.player.advance() : window.player.glide(0.05);
                }
            }
            QCOMPARE(said.count(), 1);
            const QString why = said.front().front().toString();
            QVERIFY2(why == QStringLiteral("Stopped: op Conv") || why == QStringLiteral("Stopped: promise opened"),
                     qPrintable(why));
        }
    }

    /// Playing goes through moments between events, forwards all the way, and stops at breakpoints as before.
    void playingGlides()
    {
        Fixture window;
        window.player.setSpeed(2); // one visit per second
        window.player.play();
        double before = window.cursor.moment();
        int between = 0;
        for (int i = 0; i < 40; ++i) {
            window.player.glide(0.02);
            QVERIFY(window.cursor.moment() > before);
            before = window.cursor.moment();
            between += before != std::floor(before) ? 1 : 0;
            QCOMPARE(window.model.position(), static_cast<std::uint64_t>(before));
        }
        QVERIFY(between > 30);
        QVERIFY(window.cursor.position() <= tests::endOfVisit(window.model, 1)); // 0.8 s
        window.list.toggle(nodeOf(tests::kRelu1));
        for (int i = 0; i < 5000 && window.player.isPlaying(); ++i) {
            window.player.glide(0.1);
        }
        QCOMPARE(window.model.state().current, nodeOf(tests::kRelu1));
        QCOMPARE(window.cursor.speed(), 0.0);
        window.list.clear();
        window.player.play();
        for (int i = 0; i < 5000 && window.player.isPlaying(); ++i) {
            window.player.glide(0.3);
        }
        QCOMPARE(window.cursor.moment(), static_cast<double>(window.cursor.end()));
    }

    void speedHasEnds()
    {
        Fixture window;
        for (int i = 0; i < 20; ++i) {
            window.press("go.slower");
        }
        QCOMPARE(window.player.speed(), 0);
        for (int i = 0; i < 20; ++i) {
            window.press("go.faster");
        }
        QCOMPARE(window.player.speed(), static_cast<int>(app::Player::speeds().size()) - 1);
    }

    void figuresFollowTheBooks()
    {
        Fixture window;
        const app::RunFigures figures(window.model.run());
        QVERIFY(std::abs(figures.at(window.model.state()).sum - 8.42) < 1e-5);
        window.cursor.moveTo(window.cursor.end());
        const app::RelevanceNow now = figures.at(window.model.state());
        QVERIFY(now.isAudited && now.isExplained);
        // bias 0.14, stabiliser 0.02, stabiliser 0.02, bias 0.1
        QVERIFY(std::abs(now.sum - 8.14) < 1e-5);
    }

    void aGradientHasNoBooks()
    {
        Fixture window;
        trace::Run run = window.model.run();
        for (trace::NodeRule& rule : run.rules) {
            rule.rule = "gradient";
            rule.structure = "linear map";
        }
        QVERIFY(trace::carriesGradient(run.rules));
        QVERIFY(!app::RunFigures(run).at(window.model.state()).isAudited); // it is not conserved
    }

    void actionsAreCompleteAndKeysUnique()
    {
        views::ActionRegistry actions;
        actions.addAll(views::standardActions());
        QCOMPARE(actions.problems(), QStringList());
    }
};

QTEST_MAIN(TravelTest)
#include "traveltest.moc"
