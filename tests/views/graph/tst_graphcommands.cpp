// SPDX-License-Identifier: Apache-2.0
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QContextMenuEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>

#include "tests/views/graph/graphruns.h"
#include "tests/views/graph/graphstage.h"
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/run/timerange.h"
#include "views/common/widgets/rangechip.h"
#include "views/graph/graphcanvas.h"
#include "views/graph/graphfind.h"
#include "views/graph/graphnote.h"
#include "views/graph/graphtools.h"
#include "views/graph/graphview.h"

#include <memory>

using namespace retro;
using namespace retro::views;
using layout::Index;
using layout::kNone;

namespace
{

const QSize kSize(880, 620);

struct Stage : tests::GraphStage
{
    using GraphStage::GraphStage;
    [[nodiscard]] Hit hitOf(const char* name) const
    {
        return {HitKind::Box, scene().boxOf(tests::nodeNamed(handle, name)), false};
    }
    /// Gives a command of the menu of a place; false when there is none that can be given.
    bool give(const Hit& hit, const char* id)
    {
        const std::unique_ptr<QMenu> menu(view.makeMenu(hit));
        auto* action = menu->findChild<QAction*>(QLatin1String(id));
        if (action == nullptr || !action->isEnabled()) {
            return false;
        }
        action->trigger();
        view.flush();
        return true;
    }
};

} // namespace

class GraphCommandsTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }
    void cleanup() { ThemeHub::instance().setChoice(ThemeChoice::Light); }

    void runsToAVisitAndBack()
    {
        Stage stage(tests::makeTinyRun());
        stage.context.cursor.moveTo(0);
        stage.view.flush();
        const Hit add = stage.hitOf("block1/add");
        QVERIFY(!stage.give(add, "graph.runback"));
        QVERIFY(stage.give(add, "graph.runto"));
        QCOMPARE(stage.context.model.state().current, base::NodeId(std::uint32_t{tests::kAdd}));
        const std::uint64_t first = stage.context.cursor.position();
        while (stage.give(add, "graph.runto")) {
        }
        QVERIFY(stage.context.cursor.position() >= first);
        stage.context.cursor.moveTo(stage.handle.run->eventCount());
        stage.view.flush();
        QVERIFY(stage.give(add, "graph.runback"));
        QCOMPARE(stage.context.model.state().current, base::NodeId(std::uint32_t{tests::kAdd}));
        QVERIFY(stage.give(add, "graph.relevance"));
        QCOMPARE(stage.context.cursor.position(),
                 *stage.context.model.relevanceStep(base::NodeId(std::uint32_t{tests::kAdd})));
    }

    void breaksOnlyWhereSomebodyListens()
    {
        Stage stage(tests::makeTinyRun());
        QVERIFY(!stage.give(stage.hitOf("block1/add"), "graph.break"));
        QSignalSpy asked(&stage.view, &GraphView::breakRequested);
        QVERIFY(stage.give(stage.hitOf("block1/add"), "graph.break"));
        QCOMPARE(asked.count(), 1);
        stage.view.fitAll();
        const QImage before = stage.view.grab().toImage();
        stage.view.setBreakpoints({base::NodeId(std::uint32_t{tests::kAdd})});
        QVERIFY(stage.view.grab().toImage() != before);
        (void)tests::grab(stage.view, kSize, ThemeKind::Dark, QStringLiteral("graph-break"));
        const std::unique_ptr<QMenu> menu(stage.view.makeMenu(stage.hitOf("block1/add")));
        QCOMPARE(menu->findChild<QAction*>(QStringLiteral("graph.break"))->text(), QStringLiteral("Remove breakpoint"));
        stage.view.collapseAll(); // the group of the node has the dot now
        QVERIFY(stage.canvas().picture().breaks != nullptr);
        stage.view.setBreakpoints({});
        QVERIFY(stage.canvas().picture().breaks == nullptr);
    }

    void checkpointsAreSetWhereSomebodyListens()
    {
        Stage stage(tests::makeTinyRun());
        QVERIFY(!stage.give(stage.hitOf("block1/add"), "graph.checkpoint"));
        QSignalSpy asked(&stage.view, &GraphView::checkpointRequested);
        QVERIFY(stage.give(stage.hitOf("block1/add"), "graph.checkpoint"));
        QCOMPARE(asked.count(), 1);
        const QString value = asked.first().at(0).toString();
        QVERIFY(!value.isEmpty());
        QCOMPARE(asked.first().at(1).toBool(), true);
        stage.view.fitAll();
        const QImage before = stage.view.grab().toImage();
        stage.view.setCheckpoints({value, QStringLiteral("of another graph")});
        QVERIFY(stage.view.grab().toImage() != before);
        (void)tests::grab(stage.view, kSize, ThemeKind::Light, QStringLiteral("graph-checkpoint"));
        (void)tests::grab(stage.view, kSize, ThemeKind::Dark, QStringLiteral("graph-checkpoint"));
        QVERIFY(stage.give(stage.hitOf("block1/add"), "graph.checkpoint"));
        QCOMPARE(asked.last().at(1).toBool(), false); // it is there: removed
        stage.view.setCheckpoints({});
        QVERIFY(stage.canvas().picture().checkpoints == nullptr);
    }

    void aTraceLeavesTheRestFaint_data()
    {
        QTest::addColumn<bool>("isDark");
        QTest::newRow("light") << false;
        QTest::newRow("dark") << true;
    }
    void whatIsNotVisitedInARangeIsFaint()
    {
        TimeRange range;
        Stage stage(tests::makeTinyRun());
        stage.view.followRange(range);
        auto* chip = stage.view.findChild<RangeChip*>();
        QVERIFY(!chip->isVisible());
        QVERIFY(stage.view.highlighted().empty());
        range.set(4, 6); // conv2, relu1, conv2
        QVERIFY(chip->isVisible());
        QCOMPARE(sizeOf(stage.view.highlighted()), Index{2});
        QVERIFY(stage.view.highlighted()[tests::kConv2] && stage.view.highlighted()[tests::kRelu1]);
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            (void)tests::grab(stage.view, {560, 420}, kind, QStringLiteral("graph-range"));
        }
        ThemeHub::instance().setChoice(ThemeChoice::Light);
        stage.view.traceUpstream(base::NodeId(std::uint32_t{tests::kPool})); // is asked for later and goes first
        QVERIFY(stage.view.highlighted()[tests::kPool]);
        stage.view.clearTrace();
        QVERIFY(!stage.view.highlighted()[tests::kPool]);
        QTest::mouseClick(chip, Qt::LeftButton);
        QVERIFY(stage.view.highlighted().empty());
    }

    void aTraceLeavesTheRestFaint()
    {
        QFETCH(bool, isDark);
        Stage stage(tests::makeTransformerRun());
        auto* note = stage.view.findChild<GraphNote*>();
        QVERIFY(!note->isVisible());
        QVERIFY(stage.give(stage.hitOf("encoder/layer.0/QK"), "graph.upstream"));
        QCOMPARE(note->text(), QStringLiteral("Relevance of layer.0/QK goes on to 10 nodes"));
        QCOMPARE(sizeOf(stage.view.highlighted()), Index{11});
        (void)tests::grab(stage.view, kSize, isDark ? ThemeKind::Dark : ThemeKind::Light,
                          QStringLiteral("graph-trace"));
        QVERIFY(stage.give(stage.hitOf("encoder/layer.0/QK"), "graph.downstream"));
        QVERIFY(note->text().startsWith(QStringLiteral("Relevance of layer.0/QK comes from")));
        QTest::mouseClick(note->findChild<QToolButton*>(), Qt::LeftButton);
        QVERIFY(!note->isVisible());
        QVERIFY(stage.view.highlighted().empty());
        QVERIFY(!stage.give(stage.hitOf("encoder/layer.0/QK"), "graph.cleartrace"));
    }

    void findHighlightsWhatItFinds()
    {
        Stage stage(tests::makeTransformerRun());
        stage.view.showFind();
        auto* find = stage.view.findChild<GraphFind*>();
        QTest::keyClicks(find->findChild<QLineEdit*>(), QStringLiteral("op:gemm"));
        QCOMPARE(sizeOf(stage.view.highlighted()), Index{13});
        (void)tests::grab(stage.view, kSize, ThemeKind::Light, QStringLiteral("graph-found"));
        stage.canvas().zoomBy(0.03 / stage.canvas().camera().zoom());
        (void)tests::grab(stage.view, kSize, ThemeKind::Dark, QStringLiteral("graph-found-small"));
        QTest::keyClick(find->findChild<QLineEdit*>(), Qt::Key_Escape);
        QVERIFY(stage.view.highlighted().empty());
    }

    void coloursAreChosenAndKept_data()
    {
        QTest::addColumn<int>("by");
        QTest::addColumn<bool>("isDark");
        for (const bool isDark : {false, true}) {
            for (const ColourBy by : {ColourBy::Rule, ColourBy::Ledger, ColourBy::Operator}) {
                QTest::addRow("%s %s", qPrintable(wordOf(by)), isDark ? "dark" : "light") << int(by) << isDark;
            }
        }
    }
    void coloursAreChosenAndKept()
    {
        QFETCH(int, by);
        QFETCH(bool, isDark);
        Stage stage(tests::makeTransformerRun(2, true));
        stage.view.fitAll();
        stage.canvas().zoomBy(0.9 / stage.canvas().camera().zoom());
        const ThemeKind kind = isDark ? ThemeKind::Dark : ThemeKind::Light;
        const QImage byMode = tests::grab(stage.view, kSize, kind, QStringLiteral("graph-by-mode"));
        const std::unique_ptr<QWidget> tools(stage.view.tools());
        auto* combo = tools->findChild<QComboBox*>();
        combo->setCurrentIndex(by);
        emit combo->activated(by);
        QCOMPARE(static_cast<int>(stage.view.colourBy()), by);
        const QImage image = tests::grab(stage.view, kSize, kind,
                                         QStringLiteral("graph-by-%1").arg(wordOf(kColourings[std::size_t(by)])));
        QVERIFY(image != byMode);
        for (const double zoom : {0.5, 0.3, 0.1, 0.03}) {
            stage.canvas().zoomBy(zoom / stage.canvas().camera().zoom());
            QVERIFY(tests::colorCount(stage.view.grab().toImage()) > 4);
        }
        GraphView other(stage.context.model, stage.context.cursor, stage.context.selection);
        other.restoreState(stage.view.saveState());
        QCOMPARE(static_cast<int>(other.colourBy()), by);
    }

    void toolsLeaveANarrowTitleInOrder()
    {
        QWidget title;
        auto* row = new QHBoxLayout(&title);
        row->addWidget(new QLabel(QStringLiteral("Graph"), &title), 1);
        auto* tools = new GraphTools; // follows the row that it is put into
        row->addWidget(tools);
        const auto* words = tools->findChildren<QLabel*>().front();
        const auto* box = tools->findChild<QComboBox*>();
        const auto* percentage = tools->findChildren<QLabel*>().back();
        const auto shown = [&] { return box->isVisible() + words->isVisible() + percentage->isVisible(); };
        title.resize(900, 40);
        title.show();
        QTRY_COMPARE_WITH_TIMEOUT(shown(), 3, 30'000);
        int before = 3;
        for (int width = 900; width > title.minimumSizeHint().width(); width -= 5) {
            title.resize(width, 40);
            QTest::qWait(0);
            QVERIFY(shown() <= before);
            QVERIFY(box->isVisible() || !words->isVisible());
            QVERIFY(percentage->isVisible() || !box->isVisible());
            QTRY_VERIFY_WITH_TIMEOUT(tools->width() >= tools->sizeHint().width(), 30'000);
            before = shown();
        }
        QCOMPARE(before, 0);
        for (const QToolButton* button : tools->findChildren<QToolButton*>()) {
            QVERIFY(button->isVisible());
        }
        title.resize(900, 40);
        QTRY_COMPARE_WITH_TIMEOUT(shown(), 3, 30'000);
    }

    void likeGroupsOpenTogether()
    {
        Stage stage(tests::makeTransformerRun(4));
        QCOMPARE(stage.scene().boxCount(), Index{9});
        QVERIFY(stage.give(stage.hitOf("encoder/layer.2/Q"), "graph.open")); // layer.0–3
        QCOMPARE(stage.scene().boxCount(), Index{12});
        (void)tests::grab(stage.view, kSize, ThemeKind::Light, QStringLiteral("graph-repeats"));
        QVERIFY(stage.give(stage.hitOf("encoder/layer.2/Q"), "graph.openlike"));
        QCOMPARE(stage.scene().boxCount(), Index{8 + 4 * 16});
        QVERIFY(stage.give(stage.hitOf("encoder/layer.2/mlp/FC1"), "graph.openlike"));
        QCOMPARE(stage.scene().boxCount(), Index{8 + 4 * 19});
        (void)tests::grab(stage.view, kSize, ThemeKind::Dark, QStringLiteral("graph-repeats"));
        QVERIFY(stage.give({}, "graph.closedepth"));
        QCOMPARE(stage.scene().boxCount(), Index{8 + 4 * 16});
        QVERIFY(stage.give({}, "graph.opendepth"));
        QCOMPARE(stage.scene().boxCount(), Index{8 + 4 * 19});
    }

    void theSelectedNodeStaysWhereItIs()
    {
        Stage stage(tests::makeTransformerRun(4));
        stage.context.selection.selectNode(tests::nodeNamed(stage.handle, "encoder/layer.2/Q"));
        stage.view.flush();
        const auto place = [&] {
            const Index box = stage.canvas().selected();
            return stage.canvas().camera().toScreen(stage.scene().layout.nodes[static_cast<std::size_t>(box)].center());
        };
        const QPointF before = place();
        stage.view.expandAll();
        QCOMPARE(stage.scene().boxCount(), Index{84});
        QVERIFY((place() - before).manhattanLength() < 2);
    }

    void constantsCanBeHidden()
    {
        Stage without(tests::makeTransformerRun());
        QVERIFY(!without.give({}, "graph.hideconstants")); // there are none
        Stage stage(tests::makeConstantRun());
        QCOMPARE(stage.scene().boxCount(), Index{5});
        QVERIFY(stage.give({}, "graph.hideconstants"));
        QCOMPARE(stage.scene().boxCount(), Index{3});
        QCOMPARE(stage.scene().boxOf(tests::nodeNamed(stage.handle, "shape")), kNone);
        stage.context.cursor.moveTo(1);
        stage.context.selection.selectNode(tests::nodeNamed(stage.handle, "shape")); // not drawn: nothing is marked
        stage.view.flush();
        QCOMPARE(stage.canvas().selected(), kNone);
        stage.view.grab();
        stage.view.setConstantsHidden(false);
        QCOMPARE(stage.scene().boxCount(), Index{5});
    }

    void theMenuComesByMouseAndKey()
    {
        Stage stage(tests::makeTinyRun());
        QSignalSpy wanted(&stage.canvas(), &GraphCanvas::menuWanted);
        const Index box = stage.scene().boxOf(base::NodeId(std::uint32_t{tests::kAdd}));
        const QPoint at = stage.canvas()
                              .camera()
                              .toScreen(stage.scene().layout.nodes[static_cast<std::size_t>(box)].center())
                              .toPoint();
        QContextMenuEvent byMouse(QContextMenuEvent::Mouse, at, stage.canvas().mapToGlobal(at));
        QApplication::sendEvent(&stage.canvas(), &byMouse);
        QCOMPARE(stage.canvas().selected(), box);
        QContextMenuEvent byKey(QContextMenuEvent::Keyboard, at, stage.canvas().mapToGlobal(at));
        QApplication::sendEvent(&stage.canvas(), &byKey);
        QCOMPARE(wanted.count(), 2);
        QCOMPARE(wanted[1][0].value<Hit>().index, box);
        for (QMenu* menu : stage.view.findChildren<QMenu*>()) {
            for (const QAction* action : menu->actions()) {
                QVERIFY(action->isSeparator() || action->menu() != nullptr || !action->toolTip().isEmpty());
            }
            menu->close();
        }
    }

    void namesCanBeCopied()
    {
        Stage stage(tests::makeTinyRun());
        QVERIFY(stage.give(stage.hitOf("block1/add"), "graph.copyname"));
        QCOMPARE(QApplication::clipboard()->text(), QStringLiteral("block1/add"));
    }
};

QTEST_MAIN(GraphCommandsTest)
#include "tst_graphcommands.moc"
