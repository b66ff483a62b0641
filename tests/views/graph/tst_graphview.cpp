// SPDX-License-Identifier: Apache-2.0
#include <QApplication>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>
#include <QWheelEvent>

#include "tests/views/graph/graphruns.h"
#include "tests/views/graph/graphstage.h"
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/paint/style.h"
#include "views/graph/graphcanvas.h"
#include "views/graph/graphfind.h"
#include "views/graph/graphview.h"
#include "views/graph/graphwords.h"

using namespace retro;
using namespace retro::views;
using layout::Index;

namespace
{

const QSize kSize(880, 620);

struct Stage : tests::GraphStage
{
    using GraphStage::GraphStage;
    [[nodiscard]] Index boxOf(const char* name) const { return scene().boxOf(tests::nodeNamed(handle, name)); }
    [[nodiscard]] QRectF pixels(Index box) const
    {
        return canvas().camera().toScreen(scene().layout.nodes[static_cast<std::size_t>(box)]);
    }
    /// A place in a box that is on no sign.
    [[nodiscard]] QPoint inside(Index box) const
    {
        const QRectF rect = pixels(box);
        return QPointF(rect.right() - rect.width() / 4, rect.center().y()).toPoint();
    }
    void click(Index box) { QTest::mouseClick(&canvas(), Qt::LeftButton, {}, inside(box)); }
    /// All four events, as a window sends them.
    void doubleClick(QPoint at)
    {
        QTest::mouseClick(&canvas(), Qt::LeftButton, {}, at);
        QTest::mouseDClick(&canvas(), Qt::LeftButton, {}, at);
        QTest::mouseRelease(&canvas(), Qt::LeftButton, {}, at);
    }
    void key(Qt::Key key, Qt::KeyboardModifiers modifiers = {})
    {
        QTest::keyClick(&canvas(), key, modifiers);
        view.flush();
    }
    [[nodiscard]] QString selectedName() const
    {
        const base::NodeId node = context.model.nodeOf(context.selection.thing());
        return node.isValid() ? QString::fromStdString(std::string(shortName(context.model.graph(), node))) : QString();
    }
};

} // namespace

class GraphViewTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }
    void cleanup() { ThemeHub::instance().setChoice(ThemeChoice::Light); }

    void both_data()
    {
        QTest::addColumn<bool>("isDark");
        QTest::newRow("light") << false;
        QTest::newRow("dark") << true;
    }

    void modesAreDrawnInBothThemes_data() { both_data(); }
    void modesAreDrawnInBothThemes()
    {
        QFETCH(bool, isDark);
        const ThemeKind kind = isDark ? ThemeKind::Dark : ThemeKind::Light;
        const Theme& colors = Theme::of(kind);
        Stage stage(tests::makeTinyRun());
        stage.context.cursor.moveTo(stage.handle.run->endOfVisit(5));
        const QImage searching = tests::grab(stage.view, kSize, kind, QStringLiteral("graph-tiny-search"));
        QVERIFY(tests::hasColor(searching, colors[Role::NormalTint]));
        QVERIFY(tests::hasColor(searching, colors[Role::SearchTint]));
        QVERIFY(tests::hasColor(searching, colors[Role::Accent]));
        QVERIFY(tests::hasColor(searching, colors[Role::Group]));
        stage.view.setMinimapShown(false);
        stage.view.setLegendShown(false);
        stage.context.cursor.moveTo(0);
        const QImage start = tests::grab(stage.view, kSize, kind, QStringLiteral("graph-tiny-start"));
        QVERIFY(!tests::hasColor(start, colors[Role::SearchTint]));
        QVERIFY(!tests::hasColor(start, colors[Role::Accent]));
        stage.context.cursor.moveTo(stage.handle.run->eventCount());
        const QImage end = tests::grab(stage.view, kSize, kind, QStringLiteral("graph-tiny-end"));
        QVERIFY(tests::hasColor(end, colors[Role::FulfilTint]));
        QVERIFY(tests::hasColor(end, colors[Role::Ink])); // arrow heads
    }

    void groupsPromisesAndAlarms_data() { both_data(); }
    void groupsPromisesAndAlarms()
    {
        QFETCH(bool, isDark);
        const ThemeKind kind = isDark ? ThemeKind::Dark : ThemeKind::Light;
        Stage stage(tests::makeTransformerRun(2, true));
        stage.view.collapseAll();
        stage.context.cursor.moveTo(stage.handle.run->endOfVisit(30));
        (void)tests::grab(stage.view, kSize, kind, QStringLiteral("graph-vit-closed"));
        stage.canvas().setFocus();
        for (const char* group : {"encoder", "encoder/layer.1"}) {
            const auto& paths = stage.scene().book->drawn.groupPaths;
            const auto at = static_cast<int>(std::find(paths.begin(), paths.end(), group) - paths.begin());
            emit stage.canvas().groupToggled(at);
        }
        stage.context.selection.selectPromise(base::PromiseId(2U));
        stage.view.fitAll();
        const QImage image = tests::grab(stage.view, kSize, kind, QStringLiteral("graph-vit-layer"));
        QVERIFY(tests::hasColor(image, Theme::of(kind)[Role::AlarmLine]));
        QVERIFY(tests::hasColor(image, Theme::of(kind)[Role::SearchLine]));
        for (const double zoom : {0.3, 0.12, 0.03}) {
            stage.canvas().zoomBy(zoom / stage.canvas().camera().zoom());
            const QImage small =
                tests::grab(stage.view, kSize, kind, QStringLiteral("graph-vit-%1").arg(qRound(zoom * 100)));
            QVERIFY(tests::hasColor(small, Theme::of(kind)[Role::NormalLine]));
        }
    }

    void largerFontsFit()
    {
        Style::install(*qApp, 1.25);
        {
            Stage stage(tests::makeTransformerRun(1));
            stage.context.cursor.moveTo(stage.handle.run->endOfVisit(12));
            (void)tests::grab(stage.view, {700, 560}, ThemeKind::Light, QStringLiteral("graph-large-font"));
            const double height = stage.scene().layout.nodes.front().height;
            QVERIFY(height > 26 * 1.2);
        }
        tests::installLook();
    }

    void aClickSelectsAndNeverMovesTime()
    {
        Stage stage(tests::makeTransformerRun());
        const std::uint64_t before = stage.context.cursor.position();
        stage.click(stage.boxOf("embed/Concat"));
        QCOMPARE(stage.selectedName(), QStringLiteral("Concat"));
        QCOMPARE(stage.context.cursor.position(), before);
        QCOMPARE(stage.canvas().selected(), stage.boxOf("embed/Concat"));
        QTest::mouseClick(&stage.canvas(), Qt::LeftButton, {}, QPoint(5, kSize.height() / 2));
        QVERIFY(stage.context.selection.isEmpty());
    }

    void aClickOnAnEdgeSelectsItsValue()
    {
        Stage stage(tests::makeTinyRun());
        const Index edge = stage.scene().edgeBetween(stage.boxOf("block1/add"), stage.boxOf("head/pool"));
        const auto points = stage.scene().layout.edge(edge);
        const layout::Point middle{points.front().x, (points.front().y + points.back().y) / 2};
        QTest::mouseClick(&stage.canvas(), Qt::LeftButton, {}, stage.canvas().camera().toScreen(middle).toPoint());
        QVERIFY(stage.context.selection.value());
        QCOMPARE(stage.context.model.label(*stage.context.selection.value()), QStringLiteral("d"));
        QVERIFY(tests::hasColor(stage.view.grab().toImage(), Theme::of(ThemeKind::Light)[Role::Accent]));
    }

    void aDoubleClickGoesToTheRelevance()
    {
        Stage stage(tests::makeTinyRun());
        stage.doubleClick(stage.inside(stage.boxOf("block1/conv2")));
        QCOMPARE(stage.context.cursor.position(),
                 *stage.context.model.relevanceStep(base::NodeId(std::uint32_t{tests::kConv2})));
    }

    void keysWalkAlongTheGraph()
    {
        Stage stage(tests::makeTransformerRun());
        stage.context.selection.selectNode(tests::nodeNamed(stage.handle, "encoder/layer.0/Q"));
        stage.view.flush();
        QStringList walk;
        for (const Qt::Key key :
             {Qt::Key_Right, Qt::Key_Right, Qt::Key_Down, Qt::Key_Down, Qt::Key_Up, Qt::Key_N, Qt::Key_U, Qt::Key_U}) {
            stage.key(key);
            walk.append(stage.selectedName());
            const QRectF view(stage.canvas().rect());
            QVERIFY2(view.contains(stage.pixels(stage.canvas().selected())), qPrintable(stage.selectedName()));
        }
        QCOMPARE(walk.join(QLatin1Char(' ')), QStringLiteral("K V heads_v AV Softmax AV Softmax Scale"));
    }

    void keysZoomAndFit()
    {
        Stage stage(tests::makeTinyRun());
        const double fitted = stage.canvas().camera().zoom();
        QSignalSpy zoomed(&stage.view, &GraphView::zoomChanged);
        stage.key(Qt::Key_Plus);
        QCOMPARE(stage.canvas().camera().zoom(), fitted * 1.25);
        QVERIFY(zoomed.count() > 0);
        stage.key(Qt::Key_Minus);
        stage.key(Qt::Key_Minus);
        QVERIFY(stage.canvas().camera().zoom() < fitted);
        stage.key(Qt::Key_0);
        QCOMPARE(stage.canvas().camera().zoom(), fitted);
        stage.context.selection.selectNode(base::NodeId(std::uint32_t{tests::kFc}));
        stage.view.flush();
        stage.key(Qt::Key_F);
        const QPointF center = stage.pixels(stage.boxOf("head/fc")).center();
        QVERIFY(std::abs(center.y() - stage.canvas().overlays().free.center().y()) < 1);
    }

    void aFittedPictureStaysFitted()
    {
        Stage stage(tests::makeTransformerRun());
        stage.view.fitAll();
        const double fitted = stage.canvas().camera().zoom();
        stage.view.resize(kSize.width(), kSize.height() / 2);
        QCoreApplication::sendPostedEvents();
        QVERIFY(stage.canvas().camera().zoom() < fitted);
        stage.view.resize(kSize);
        QCOMPARE(stage.canvas().camera().zoom(), fitted);
        stage.view.zoomIn();
        const double chosen = stage.canvas().camera().zoom();
        stage.view.resize(kSize.width(), kSize.height() / 2);
        QCOMPARE(stage.canvas().camera().zoom(), chosen);
    }

    void theWheelZoomsAtThePointer()
    {
        Stage stage(tests::makeTinyRun());
        const QPointF pointer(300, 200);
        const layout::Point before = stage.canvas().camera().toScene(pointer);
        const double zoom = stage.canvas().camera().zoom();
        QWheelEvent wheel(pointer, stage.canvas().mapToGlobal(pointer), {}, {0, 240}, Qt::NoButton, Qt::NoModifier,
                          Qt::NoScrollPhase, false);
        QApplication::sendEvent(&stage.canvas(), &wheel);
        QVERIFY(stage.canvas().camera().zoom() > zoom);
        const layout::Point after = stage.canvas().camera().toScene(pointer);
        QVERIFY(std::abs(after.x - before.x) < 1e-6 && std::abs(after.y - before.y) < 1e-6);
    }

    void draggingPansAndSelectsNothing()
    {
        Stage stage(tests::makeTinyRun());
        const Index box = stage.boxOf("stem/conv1");
        const QPointF before = stage.pixels(box).topLeft();
        const QPoint from = stage.inside(box);
        QTest::mousePress(&stage.canvas(), Qt::LeftButton, {}, from);
        QTest::mouseMove(&stage.canvas(), from + QPoint(40, 30));
        QTest::mouseRelease(&stage.canvas(), Qt::LeftButton, {}, from + QPoint(40, 30));
        QCOMPARE(stage.pixels(box).topLeft(), before + QPointF(40, 30));
        QVERIFY(stage.context.selection.isEmpty());
    }

    void theMapMovesThePicture()
    {
        Stage stage(tests::makeTransformerRun());
        const GraphOverlays panels = stage.canvas().overlays();
        QVERIFY(!panels.map.isNull());
        QTest::mousePress(&stage.canvas(), Qt::LeftButton, {},
                          QPointF(panels.ground.center().x(), panels.ground.bottom() - 6).toPoint());
        QTest::mouseRelease(&stage.canvas(), Qt::LeftButton, {}, panels.ground.center().toPoint());
        const layout::Rect shown = stage.canvas().camera().toScene(QRectF(stage.canvas().rect()));
        QVERIFY(shown.bottom() > stage.scene().layout.bounds.bottom() - 60);
        QVERIFY(stage.context.selection.isEmpty());
    }

    void groupsStayUnderThePointer()
    {
        Stage stage(tests::makeTransformerRun());
        const auto& paths = stage.scene().book->drawn.groupPaths;
        const auto group = static_cast<Index>(std::find(paths.begin(), paths.end(), "encoder/layer.1") - paths.begin());
        // The title of the open group, right of its ▾.
        const auto frames = stage.scene().visible.frames;
        const auto frame = static_cast<Index>(std::find(frames.begin(), frames.end(), group) - frames.begin());
        const layout::Rect title = titleOf(stage.scene(), frame);
        stage.canvas().reveal(stage.boxOf("encoder/layer.1/LN_1"));
        const QPoint pointer =
            stage.canvas().camera().toScreen(layout::Point{title.x + 60, title.center().y}).toPoint();
        stage.doubleClick(pointer);
        QVERIFY(stage.scene().closed[static_cast<std::size_t>(group)]);
        const Index box = stage.boxOf("encoder/layer.1/LN_1");
        QVERIFY(stage.scene().visible.nodes[static_cast<std::size_t>(box)].isGroup());
        QVERIFY(stage.pixels(box).contains(pointer));
        stage.doubleClick(pointer + QPoint(20, 0)); // right of the ▸, which is a button of its own
        QVERIFY(!stage.scene().closed[static_cast<std::size_t>(group)]);
        const auto again = stage.scene().visible.frames;
        const auto opened = static_cast<Index>(std::find(again.begin(), again.end(), group) - again.begin());
        QVERIFY(stage.canvas().camera().toScreen(titleOf(stage.scene(), opened)).contains(pointer));
    }

    void signsToggleWithOneClick()
    {
        Stage stage(tests::makeTinyRun());
        const layout::Rect title = titleOf(stage.scene(), 0);
        const QPoint sign = stage.canvas().camera().toScreen(layout::Point{title.x + 12, title.center().y}).toPoint();
        for (const bool isClosed : {true, false, true}) { // the sign stays under the pointer
            QTest::mouseClick(&stage.canvas(), Qt::LeftButton, {}, sign);
            QCOMPARE(static_cast<bool>(stage.scene().closed[0]), isClosed);
        }
        stage.doubleClick(sign); // opens, and does not close again at once
        QVERIFY(!stage.scene().closed[0]);
    }

    void keysOpenAndCloseGroups()
    {
        Stage stage(tests::makeTransformerRun());
        stage.context.selection.selectNode(tests::nodeNamed(stage.handle, "encoder/layer.0/mlp/GELU"));
        stage.view.flush();
        const Index all = stage.scene().boxCount();
        stage.key(Qt::Key_C); // mlp
        QCOMPARE(stage.scene().boxCount(), all - 3);
        QCOMPARE(stage.canvas().selected(), stage.boxOf("encoder/layer.0/mlp/GELU"));
        stage.key(Qt::Key_C); // layer.0
        QCOMPARE(stage.scene().boxCount(), all - 18);
        stage.key(Qt::Key_E);
        QCOMPARE(stage.scene().boxCount(), all - 3);
        stage.key(Qt::Key_C, Qt::ShiftModifier); // the selected box stands in layer.0: both layers
        QCOMPARE(stage.scene().boxCount(), Index{1 + 4 + 2 + 3});
        stage.key(Qt::Key_C, Qt::ShiftModifier); // the selected box stands in encoder: embed and head as well
        QCOMPARE(stage.scene().boxCount(), Index{4});
        for (const Index count : {1 + 4 + 2 + 3, all - 2 * 3, all}) { // … and back, level by level
            stage.key(Qt::Key_E, Qt::ShiftModifier);
            if (stage.scene().boxCount() < count) {
                stage.context.selection.clear();
                stage.view.flush();
                stage.key(Qt::Key_E, Qt::ShiftModifier);
            }
        }
        QCOMPARE(stage.scene().boxCount(), all);
        QVERIFY(std::none_of(stage.scene().closed.begin(), stage.scene().closed.end(), [](bool is) { return is; }));
    }

    void theCursorIsFollowed()
    {
        Stage stage(tests::makeTransformerRun());
        const auto isNowInSight = [&] {
            return QRectF(stage.canvas().rect()).contains(stage.pixels(stage.canvas().status().now));
        };
        for (std::uint32_t visit = 0; visit < stage.handle.run->visitCount(); ++visit) {
            stage.context.cursor.moveTo(stage.handle.run->endOfVisit(visit));
            stage.view.flush();
            QVERIFY2(isNowInSight(), qPrintable(QStringLiteral("visit %1").arg(visit)));
        }
        stage.view.setFollow(false);
        stage.context.cursor.moveTo(stage.handle.run->endOfVisit(0));
        stage.view.flush();
        QVERIFY(!isNowInSight());
        stage.view.setFollow(true);
        stage.context.selection.selectNode(tests::nodeNamed(stage.handle, "head/FC")); // selected by somebody else
        stage.view.flush();
        QVERIFY(QRectF(stage.canvas().rect()).contains(stage.pixels(stage.boxOf("head/FC"))));
    }

    void findGoesFromMatchToMatch()
    {
        Stage stage(tests::makeTransformerRun());
        stage.view.showFind();
        auto* find = stage.view.findChild<GraphFind*>();
        QVERIFY(find->isVisible());
        auto* line = find->findChild<QLineEdit*>();
        QTest::keyClicks(line, QStringLiteral("softmax"));
        QCOMPARE(stage.context.selection.node(), tests::nodeNamed(stage.handle, "encoder/layer.0/Softmax"));
        QTest::keyClick(line, Qt::Key_Return);
        QCOMPARE(stage.context.selection.node(), tests::nodeNamed(stage.handle, "encoder/layer.1/Softmax"));
        stage.view.findNext();
        QCOMPARE(stage.context.selection.node(), tests::nodeNamed(stage.handle, "encoder/layer.0/Softmax"));
        stage.view.findPrevious();
        QCOMPARE(stage.context.selection.node(), tests::nodeNamed(stage.handle, "encoder/layer.1/Softmax"));
        (void)tests::grab(stage.view, kSize, ThemeKind::Light, QStringLiteral("graph-find"));
        QTest::keyClick(line, Qt::Key_Escape);
        QVERIFY(!find->isVisible());
    }

    void toolsShowAndChangeTheScale()
    {
        Stage stage(tests::makeTinyRun());
        QWidget* tools = stage.view.tools();
        QCOMPARE(tools, stage.view.tools());
        QWidget bar;
        (new QHBoxLayout(&bar))->addWidget(tools);
        bar.show();
        QVERIFY(tools->isVisible());
        (void)tests::grab(bar, {340, 44}, ThemeKind::Light, QStringLiteral("graph-tools"));
        const auto buttons = tools->findChildren<QToolButton*>();
        QCOMPARE(buttons.size(), 4);
        for (const QToolButton* button : buttons) {
            QVERIFY(!button->accessibleName().isEmpty());
        }
        const double before = stage.canvas().camera().zoom();
        QTest::mouseClick(buttons[2], Qt::LeftButton);
        QCOMPARE(stage.canvas().camera().zoom(), before * 1.25);
        QTest::mouseClick(buttons[3], Qt::LeftButton);
        QCOMPARE(stage.canvas().camera().zoom(), before);
    }

    void wordsTellWhatIsThere()
    {
        Stage stage(tests::makeTinyRun());
        stage.context.cursor.moveTo(stage.handle.run->endOfVisit(3));
        stage.context.selection.selectNode(base::NodeId(std::uint32_t{tests::kAdd}));
        stage.view.flush();
        const QString text = stage.canvas().accessibleDescription();
        QCOMPARE(text, QStringLiteral("block1/add\nAdd, 1 × 4 × 24 × 24\nrule epsilon 1e-06\nvisited once, last mode "
                                      "normal\na promise from here waits\nrelevance 8.260"));
        QCOMPARE(stage.view.subject(), QStringLiteral("block1"));
        const Index edge = stage.scene().edgeBetween(stage.boxOf("block1/conv2"), stage.boxOf("block1/add"));
        QCOMPARE(describeEdge(stage.context.model, stage.scene(), stage.canvas().status(), edge),
                 QStringLiteral("c, 1 × 4 × 24 × 24\nno relevance has passed yet"));
        auto stopped = std::make_shared<trace::Run>(*stage.handle.run);
        stopped->events.resize(stage.handle.run->endOfVisit(3));
        stage.context.model.setRun(
            {stopped, std::make_shared<trace::Timeline>(trace::Timeline::open(stopped).value())});
        stage.view.flush();
        QCOMPARE(describeEdge(stage.context.model, stage.scene(), stage.canvas().status(), edge),
                 QStringLiteral("c, 1 × 4 × 24 × 24\nno relevance passes in this run"));
        QVERIFY(stage.view.canShow(base::NodeId(0U)));
        QVERIFY(!stage.view.canShow(base::NodeId(900U)));
    }

    void settingsSurviveARestart()
    {
        Stage stage(tests::makeTinyRun());
        stage.view.setFollow(false);
        stage.view.setLegendShown(false);
        Stage other(tests::makeTinyRun());
        other.view.restoreState(stage.view.saveState());
        QVERIFY(!other.view.isFollowing());
        QVERIFY(other.canvas().isMapShown() && !other.canvas().isLegendShown());
        other.view.restoreState(QByteArray("nonsense"));
        QVERIFY(!other.view.isFollowing());
    }

    void anotherRunOfTheGraphKeepsThePlace()
    {
        Stage stage(tests::makeTransformerRun());
        stage.context.selection.selectNode(tests::nodeNamed(stage.handle, "encoder/layer.0/mlp/GELU"));
        stage.view.flush();
        stage.key(Qt::Key_C);
        const GraphCamera camera = stage.canvas().camera();
        stage.context.model.setRun(stage.handle, {}, false);
        stage.view.flush();
        QVERIFY(stage.canvas().camera() == camera);
        const RunHandle other = tests::makeTransformerRun(1);
        stage.context.model.setRun(other);
        stage.view.flush();
        QCOMPARE(stage.scene().book->run, other.run);
    }

    void aRunMayGoAway()
    {
        Stage stage(tests::makeTinyRun());
        stage.context.model.clear();
        stage.view.flush();
        stage.view.collapseAll();
        stage.view.fitAll();
        stage.view.fitSelection();
        QVERIFY(!stage.canvas().isVisible());
        stage.context.showTinyRun();
        stage.view.flush();
        QVERIFY(stage.canvas().isVisible());
    }

    void nothingIsShownWithoutARun()
    {
        tests::ViewContext context;
        GraphView view(context.model, context.cursor, context.selection);
        const QImage empty = tests::grab(view, kSize, ThemeKind::Light, QStringLiteral("graph-empty"));
        QVERIFY(!view.canvas().isVisible());
        QVERIFY(view.subject().isEmpty());
        QCOMPARE(view.exportTo("/tmp/none.svg").ok(), false);
        context.showTinyRun();
        view.flush();
        QVERIFY(view.canvas().isVisible());
        QVERIFY(empty != view.grab().toImage());
    }
};

QTEST_MAIN(GraphViewTest)
#include "tst_graphview.moc"
