// SPDX-License-Identifier: Apache-2.0
#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

#include "tests/views/graph/graphruns.h"
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/graph/graphcanvas.h"
#include "views/graph/graphnote.h"
#include "views/graph/graphrefiner.h"
#include "views/graph/graphview.h"

using namespace retro;
using namespace retro::views;
using layout::Index;

namespace
{

constexpr int kPatience = 60'000;

std::shared_ptr<const GraphScene> openScene(const RunHandle& handle)
{
    const auto book = makeBook(handle.run, handle.run->graph, BoxMetrics::ofFonts());
    return tests::made(makeScene(book, std::vector<bool>(book->groupDepths.size(), false)));
}

/// A view of a run, shown, whose note about refining can be read.
struct Stage
{
    explicit Stage(GraphRefiner* refiner) : view(context.model, context.cursor, context.selection)
    {
        view.setRefiner(refiner);
        context.model.setRun(tests::makeTransformerRun());
        tests::showAt(view, 880, 620);
    }
    [[nodiscard]] GraphNote& note() const { return *view.findChildren<GraphNote*>().back(); }
    [[nodiscard]] const GraphScene* scene() const { return view.canvas().scene().get(); }

    tests::ViewContext context;
    GraphView view;
};

} // namespace

class GraphRefinerTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase()
    {
        tests::installLook();
        m_scene = openScene(tests::makeTransformerRun());
        QVERIFY(m_folder.isValid());
    }

    void failuresSayWhy_data()
    {
        QTest::addColumn<QString>("script");
        QTest::addColumn<QString>("reason");
        QTest::newRow("malformed") << QStringLiteral("cat >/dev/null; echo nonsense")
                                   << QStringLiteral("line 1 of the answer is not understood");
        QTest::newRow("cut off") << QStringLiteral("cat >/dev/null; echo retrograde-layout 1")
                                 << QStringLiteral("the answer ends too early");
        QTest::newRow("gives up") << QStringLiteral("echo 'retrograde-layout: no layout' >&2; exit 1")
                                  << QStringLiteral("no layout");
        QTest::newRow("gives up silently") << QStringLiteral("exit 3") << QStringLiteral("Graphviz gave up");
        QTest::newRow("killed") << QStringLiteral("kill -9 $$")
                                << QStringLiteral("Graphviz crashed or ran out of memory");
        QTest::newRow("too long") << QStringLiteral("yes") << QStringLiteral("the answer of Graphviz is too long");
    }
    void failuresSayWhy()
    {
        QFETCH(QString, script);
        QFETCH(QString, reason);
        GraphRefiner refiner(nullptr, write(script));
        QSignalSpy failed(&refiner, &GraphRefiner::failed);
        refiner.start(m_scene);
        QTRY_COMPARE_WITH_TIMEOUT(failed.count(), 1, kPatience);
        QCOMPARE(failed[0][0].toString(), reason);
        QVERIFY(!refiner.isRunning());
    }

    void aMissingProgramIsNamed()
    {
        GraphRefiner refiner(nullptr, m_folder.filePath(QStringLiteral("nothing")));
        QSignalSpy failed(&refiner, &GraphRefiner::failed);
        refiner.start(m_scene);
        QTRY_COMPARE_WITH_TIMEOUT(failed.count(), 1, kPatience);
        QCOMPARE(failed[0][0].toString(), QStringLiteral("the program retrograde-layout cannot be started"));
    }

    void tooManyBoxesAreNotAsked()
    {
        GraphRefiner refiner(nullptr, write(QStringLiteral("exit 0")), {5000, 15000, 20, 1000});
        QSignalSpy failed(&refiner, &GraphRefiner::failed);
        refiner.start(m_scene);
        QCOMPARE(failed.count(), 1);
        QCOMPARE(failed[0][0].toString(),
                 QStringLiteral("46 boxes are shown and Graphviz gets at most 20; close some groups"));
    }

    void aSlowProgramIsAnnouncedAndKilled()
    {
        GraphRefiner refiner(nullptr, write(QStringLiteral("exec sleep 600")), {20, 200, 1500, 1000});
        QSignalSpy slow(&refiner, &GraphRefiner::slow);
        QSignalSpy failed(&refiner, &GraphRefiner::failed);
        refiner.start(m_scene);
        QTRY_COMPARE_WITH_TIMEOUT(failed.count(), 1, kPatience);
        QCOMPARE(slow.count(), 1);
        QVERIFY(failed[0][0].toString().startsWith(QStringLiteral("Graphviz was stopped after")));
        QVERIFY(!refiner.isRunning());
    }

    void stoppingIsSilent()
    {
        GraphRefiner refiner(nullptr, write(QStringLiteral("exec sleep 600")));
        QSignalSpy failed(&refiner, &GraphRefiner::failed);
        refiner.start(m_scene);
        refiner.start(m_scene); // the first one is dropped
        QVERIFY(refiner.isRunning());
        refiner.stop();
        QVERIFY(!refiner.isRunning());
        QCoreApplication::processEvents();
        QCOMPARE(failed.count(), 0);
    }

    void theOwnLayoutStaysWithAReason()
    {
        Stage stage(new GraphRefiner(nullptr, write(QStringLiteral("exit 1"))));
        QSignalSpy failed(&stage.view, &GraphView::refineFailed);
        stage.view.setRefined(true);
        QCOMPARE(stage.note().text(), QStringLiteral("Refining with Graphviz…"));
        (void)tests::grab(stage.view, {880, 620}, ThemeKind::Light, QStringLiteral("graph-refining"));
        const GraphScene* own = stage.scene();
        QTRY_COMPARE_WITH_TIMEOUT(failed.count(), 1, kPatience);
        QCOMPARE(stage.scene(), own);
        QCOMPARE(stage.note().text(), QStringLiteral("Not refined: Graphviz gave up."));
        (void)tests::grab(stage.view, {880, 620}, ThemeKind::Dark, QStringLiteral("graph-refine-failed"));
        QTest::mouseClick(stage.note().findChild<QToolButton*>(), Qt::LeftButton);
        QVERIFY(!stage.note().isVisible());
    }

    void theButtonStopsIt()
    {
        Stage stage(new GraphRefiner(nullptr, write(QStringLiteral("exec sleep 600"))));
        stage.view.setRefined(true);
        QVERIFY(stage.note().isVisible());
        QTest::mouseClick(stage.note().findChild<QToolButton*>(), Qt::LeftButton);
        QVERIFY(!stage.note().isVisible());
        stage.view.setRefined(false);
        stage.view.setRefined(true);
        QVERIFY(stage.note().isVisible());
        stage.view.setRefined(false);
        QVERIFY(!stage.note().isVisible());
    }

    void graphvizDrawsTheSameGraph()
    {
#ifndef RETRO_HAS_GRAPHVIZ
        QSKIP("built without Graphviz: libgraphviz-dev is missing");
#endif
        const QString program = QStringLiteral(RETRO_BINARY_DIR "/bin/retrograde-layout");
        Stage stage(new GraphRefiner(nullptr, program));
        stage.context.selection.selectNode(base::NodeId(8U));
        stage.view.flush();
        const double before = stage.scene()->layout.bounds.width;
        QSignalSpy finished(&stage.view, &GraphView::layoutFinished);
        stage.view.setRefined(true);
        QTRY_VERIFY2_WITH_TIMEOUT(finished.count() > 0, qPrintable(stage.note().text()), kPatience);
        QVERIFY(stage.scene()->layout.bounds.width != before);
        QCOMPARE(stage.scene()->boxCount(), Index{46});
        QCOMPARE(stage.view.canvas().selected(), stage.scene()->boxOf(base::NodeId(8U)));
        QVERIFY(!stage.note().isVisible());
        stage.view.fitAll();
        stage.view.canvas().zoomBy(0.7 / stage.view.canvas().camera().zoom());
        (void)tests::grab(stage.view, {880, 620}, ThemeKind::Light, QStringLiteral("graph-refined"));
        stage.view.collapseAll(); // another drawing is refined as well
        QTRY_VERIFY_WITH_TIMEOUT(finished.count() > 1, kPatience);
        QCOMPARE(stage.scene()->boxCount(), Index{4});
        QVERIFY(stage.view.isRefined());
    }

private:
    /// A program that does what a line of the shell says.
    QString write(const QString& script)
    {
        const QString name = m_folder.filePath(QStringLiteral("program%1").arg(m_count++));
        QFile file(name);
        if (!file.open(QIODevice::WriteOnly)) {
            qFatal("cannot write a program for the test");
        }
        file.write("#!/bin/sh\n" + script.toUtf8() + "\n");
        file.close();
        file.setPermissions(QFileDevice::ReadOwner | QFileDevice::WriteOwner | QFileDevice::ExeOwner);
        return name;
    }

    QTemporaryDir m_folder;
    int m_count = 0;
    std::shared_ptr<const GraphScene> m_scene;
};

QTEST_MAIN(GraphRefinerTest)
#include "tst_graphrefiner.moc"
