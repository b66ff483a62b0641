// SPDX-License-Identifier: Apache-2.0
#include <QElapsedTimer>
#include <QSignalSpy>
#include <QTest>

#include "tests/views/graph/graphruns.h"
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/paint/background.h"
#include "views/graph/graphcanvas.h"
#include "views/graph/graphview.h"

#include <algorithm>

using namespace retro;
using namespace retro::views;

namespace
{

const QSize kSize(880, 620);
const int kNodes = qEnvironmentVariableIsSet("RETRO_TIMES") ? 100'000 : 20'000; // figures are for the larger size

/// Figures for people: printed when RETRO_TIMES is set, never asserted.
void report(const char* what, qint64 nanoseconds)
{
    if (qEnvironmentVariableIsSet("RETRO_TIMES")) {
        qInfo("%s: %.2f ms", what, static_cast<double>(nanoseconds) / 1e6);
    }
}

} // namespace

class GraphLargeTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase()
    {
        tests::installLook();
        m_large = tests::makeResidualRun(kNodes);
    }

    void opensAsideAndPaintsAtEveryScale()
    {
        tests::ViewContext context;
        GraphView view(context.model, context.cursor, context.selection);
        view.resize(kSize);
        view.show();
        QSignalSpy finished(&view, &GraphView::layoutFinished);
        QElapsedTimer clock;
        clock.start();
        context.model.setRun(m_large);
        view.flush();
        report("GUI thread until the layout is under way", clock.nsecsElapsed());
        QVERIFY(view.isLayoutRunning());
        QTRY_COMPARE_WITH_TIMEOUT(finished.count(), 1, 60'000);
        view.grab();
        report("open to first paint", clock.nsecsElapsed());
        QVERIFY(!view.isLayoutRunning());
        QCOMPARE(view.canvas().scene()->boxCount(), layout::Index{1 + 4 + 1}); // 4999 blocks as one box
        clock.restart();
        view.expandAll();
        QTRY_COMPARE_WITH_TIMEOUT(finished.count(), 2, 60'000);
        report("every block open", clock.nsecsElapsed());
        QCOMPARE(view.canvas().scene()->boxCount(), static_cast<layout::Index>(kNodes + 1));
        view.fitAll();
        QVERIFY(view.canvas().camera().zoom() < layout::kLinesZoom);
        QImage image(kSize, QImage::Format_ARGB32_Premultiplied);
        for (const double zoom : {0.0, 0.01, 0.06, 0.2, 0.3, 0.45, 0.8, 1.5}) {
            if (zoom > 0) {
                view.canvas().zoomBy(zoom / view.canvas().camera().zoom());
            }
            view.render(&image); // once for the caches of glyphs
            clock.restart();
            view.render(&image);
            report(qPrintable(QStringLiteral("frame at %1").arg(view.canvas().camera().zoom())), clock.nsecsElapsed());
            QVERIFY(tests::colorCount(image) > 8);
            (void)tests::grab(view, kSize, ThemeKind::Light,
                              QStringLiteral("graph-large-%1").arg(qRound(view.canvas().camera().zoom() * 100)));
        }
        reportFrames(view, image);
        clock.restart();
        context.cursor.moveTo(context.cursor.end() / 2);
        const qint64 sought = clock.nsecsElapsed();
        view.flush();
        report("state of every box and edge after a step", clock.nsecsElapsed() - sought);
    }

    void theNewestGraphWins()
    {
        tests::ViewContext context;
        GraphView view(context.model, context.cursor, context.selection);
        view.resize(kSize);
        view.show();
        QSignalSpy finished(&view, &GraphView::layoutFinished);
        context.model.setRun(m_large);
        view.flush();
        const RunHandle other = tests::makeResidualRun(4000);
        context.model.setRun(other);
        view.flush();
        QTRY_COMPARE_WITH_TIMEOUT(finished.count(), 1, 60'000);
        QCOMPARE(view.canvas().scene()->book->run, other.run);
        context.model.setRun(m_large);
        view.flush();
        QCOMPARE(view.canvas().scene()->book->run, other.run); // the old picture stays …
        context.cursor.moveTo(3);                              // … and survives what happens meanwhile
        context.selection.selectNode(base::NodeId(19'000U));
        view.flush();
        view.grab();
        QTRY_COMPARE_WITH_TIMEOUT(finished.count(), 2, 60'000);
        QCOMPARE(view.canvas().scene()->book->run, m_large.run);
        QCOMPARE(view.canvas().selected(), view.canvas().scene()->boxOf(base::NodeId(19'000U)));
    }

    void aViewMayGoWhileItsLayoutRuns()
    {
        tests::ViewContext context;
        {
            GraphView view(context.model, context.cursor, context.selection);
            view.show();
            context.model.setRun(m_large);
            view.flush();
            QVERIFY(view.isLayoutRunning());
        }
        QCoreApplication::processEvents();
        QVERIFY(backgroundPool().waitForDone(20'000));
        QCoreApplication::processEvents();
    }

private:
    /// Frames of panning and zooming from the whole graph to single boxes and back, by mode and by operator.
    static void reportFrames(GraphView& view, QImage& image)
    {
        for (const ColourBy by : {ColourBy::Mode, ColourBy::Operator}) {
            view.setColourBy(by);
            view.fitAll();
            std::vector<qint64> frames;
            QElapsedTimer clock;
            for (int i = 0; i < kFrames; ++i) {
                view.canvas().zoomBy(i < kFrames / 2 ? 1.06 : 1 / 1.06);
                QTest::keyClick(&view.canvas(), i % 2 == 0 ? Qt::Key_S : Qt::Key_D);
                clock.restart();
                view.render(&image);
                frames.push_back(clock.nsecsElapsed());
            }
            std::sort(frames.begin(), frames.end());
            report(qPrintable(QStringLiteral("median frame by %1").arg(wordOf(by))), frames[kFrames / 2]);
            report(qPrintable(QStringLiteral("99th of 100 frames by %1").arg(wordOf(by))), frames[kFrames * 99 / 100]);
        }
    }

    static constexpr int kFrames = 300;
    RunHandle m_large;
};

QTEST_MAIN(GraphLargeTest)
#include "tst_graphlarge.moc"
