// SPDX-License-Identifier: Apache-2.0
#include <QMenu>
#include <QSignalSpy>
#include <QTest>

#include "tests/views/graph/graphruns.h"
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/graph/graphcanvas.h"
#include "views/graph/graphnote.h"
#include "views/graph/graphview.h"

#include <memory>

using namespace retro;
using namespace retro::views;
using layout::Index;

namespace
{

/// The tiny run, all of it in sight.
struct Stage
{
    Stage() : view(context.model, context.cursor, context.selection)
    {
        context.model.setRun(tests::makeTinyRun());
        tests::showAt(view, 900, 900);
        view.expandAll();
        view.fitAll();
    }
    void click(std::uint32_t node, Qt::KeyboardModifiers keys)
    {
        const GraphCanvas& canvas = view.canvas();
        const Index box = canvas.scene()->boxOf(base::NodeId(node));
        const QPointF at =
            canvas.camera().toScreen(canvas.scene()->layout.nodes[static_cast<std::size_t>(box)].center());
        QTest::mouseClick(&view.canvas(), Qt::LeftButton, keys, at.toPoint());
        view.flush();
    }
    [[nodiscard]] std::vector<base::NodeId> nodes(std::initializer_list<std::uint32_t> ids) const
    {
        return {ids.begin(), ids.end()};
    }
    [[nodiscard]] QString note() const { return view.findChildren<GraphNote*>().front()->text(); }
    [[nodiscard]] std::size_t rings() const { return view.canvas().picture().alsoSelected->size(); }

    tests::ViewContext context;
    GraphView view;
};

bool operator==(const std::vector<base::NodeId>& nodes, std::initializer_list<std::uint32_t> ids)
{
    return std::equal(nodes.begin(), nodes.end(), ids.begin(), ids.end(),
                      [](base::NodeId node, std::uint32_t id) { return node.value == id; });
}

} // namespace

class GraphSelectionTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void ctrlClickSelectsSeveral()
    {
        Stage stage;
        stage.click(tests::kConv1, Qt::ControlModifier);
        QVERIFY(stage.view.selectedNodes() == std::initializer_list<std::uint32_t>{tests::kConv1});
        stage.click(tests::kPool, Qt::ControlModifier);
        stage.click(tests::kFc, Qt::ControlModifier);
        QVERIFY((stage.view.selectedNodes() ==
                 std::initializer_list<std::uint32_t>{tests::kConv1, tests::kPool, tests::kFc}));
        QCOMPARE(stage.context.selection.node(), base::NodeId(std::uint32_t{tests::kFc})); // the window knows the last
        QCOMPARE(stage.rings(), std::size_t{2});
        stage.click(tests::kFc, Qt::ControlModifier); // no longer
        QVERIFY((stage.view.selectedNodes() == std::initializer_list<std::uint32_t>{tests::kConv1, tests::kPool}));
        QCOMPARE(stage.context.selection.node(), base::NodeId(std::uint32_t{tests::kPool}));
        stage.click(tests::kRelu1, Qt::NoModifier); // a plain click selects one
        QVERIFY(stage.view.selectedNodes() == std::initializer_list<std::uint32_t>{tests::kRelu1});
        QCOMPARE(stage.rings(), std::size_t{0});
        QVERIFY(stage.view.highlighted().empty());
        stage.click(tests::kRelu1, Qt::ControlModifier);
        QVERIFY(stage.context.selection.isEmpty());
    }

    void waysBetweenTheSelectedStandOut()
    {
        Stage stage;
        stage.click(tests::kRelu1, Qt::NoModifier);
        stage.click(tests::kPool, Qt::ControlModifier);
        // relu1 → conv2 → add → pool, and relu1 → add
        QCOMPARE(stage.note(), QStringLiteral("2 nodes between stem/relu1 and head/pool"));
        const NodeSet& set = stage.view.highlighted();
        QCOMPARE(sizeOf(set), Index{4});
        for (const std::uint32_t node : {tests::kRelu1, tests::kConv2, tests::kAdd, tests::kPool}) {
            QVERIFY(set[node]);
        }
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            (void)tests::grab(stage.view, {880, 620}, kind, QStringLiteral("graph-between"));
        }
        ThemeHub::instance().setChoice(ThemeChoice::Light);
        stage.view.clearTrace();
        QVERIFY(stage.view.highlighted().empty());
        QCOMPARE(stage.rings(), std::size_t{0});
        QVERIFY(stage.note().isEmpty());
    }

    void neighboursHaveNothingBetween()
    {
        Stage stage;
        stage.click(tests::kPool, Qt::NoModifier);
        stage.click(tests::kFlatten, Qt::ControlModifier);
        QCOMPARE(stage.note(), QStringLiteral("No node between head/pool and head/flatten"));
        QCOMPARE(sizeOf(stage.view.highlighted()), Index{2});
    }

    void whatIsSelectedElsewhereIsAlone()
    {
        Stage stage;
        stage.click(tests::kConv1, Qt::NoModifier);
        stage.click(tests::kPool, Qt::ControlModifier);
        stage.context.selection.selectNode(base::NodeId(std::uint32_t{tests::kFc}));
        stage.view.flush();
        QVERIFY(stage.view.selectedNodes() == std::initializer_list<std::uint32_t>{tests::kFc});
        QVERIFY(stage.view.highlighted().empty());
    }

    void severalFitTogetherAndBreakTogether()
    {
        Stage stage;
        stage.click(tests::kConv1, Qt::NoModifier);
        stage.click(tests::kAdd, Qt::ControlModifier);
        stage.view.fitSelection();
        const GraphCanvas& canvas = stage.view.canvas();
        const QRectF sight = canvas.overlays().free.adjusted(-1, -1, 1, 1);
        for (const std::uint32_t node : {tests::kConv1, tests::kAdd}) {
            const Index box = canvas.scene()->boxOf(base::NodeId(node));
            QVERIFY(
                sight.contains(canvas.camera().toScreen(canvas.scene()->layout.nodes[static_cast<std::size_t>(box)])));
        }
        QSignalSpy asked(&stage.view, &GraphView::breakRequested);
        const Index box = canvas.scene()->boxOf(base::NodeId(std::uint32_t{tests::kAdd}));
        const auto give = [&] {
            const std::unique_ptr<QMenu> menu(stage.view.makeMenu({HitKind::Box, box, false}));
            auto* action = menu->findChild<QAction*>(QStringLiteral("graph.break"));
            const QString text = action->text();
            action->trigger();
            return text;
        };
        QCOMPARE(give(), QStringLiteral("Break when one of 2 is visited"));
        QCOMPARE(asked.count(), 2);
        stage.view.setBreakpoints({base::NodeId(std::uint32_t{tests::kConv1})});
        QCOMPARE(give(), QStringLiteral("Break when visited")); // the other one
        QCOMPARE(asked.count(), 3);
        stage.view.setBreakpoints(stage.nodes({tests::kConv1, tests::kAdd}));
        QCOMPARE(give(), QStringLiteral("Remove 2 breakpoints"));
        QCOMPARE(asked.count(), 5);
    }

    void altClickAsksForATarget()
    {
        Stage stage;
        stage.click(tests::kPool, Qt::AltModifier); // nobody listens: it only selects
        QCOMPARE(stage.context.selection.node(), base::NodeId(std::uint32_t{tests::kPool}));
        QSignalSpy asked(&stage.view, &GraphView::targetRequested);
        stage.click(tests::kAdd, Qt::AltModifier);
        QCOMPARE(asked.count(), 1);
        const auto value = asked[0][0].value<base::ValueId>();
        QCOMPARE(stage.context.model.graph().nodeOf(value), base::NodeId(std::uint32_t{tests::kAdd}));
        stage.click(tests::kImage, Qt::AltModifier); // an input cannot be explained
        QCOMPARE(asked.count(), 1);
        const Index box = stage.view.canvas().scene()->boxOf(base::NodeId(std::uint32_t{tests::kFc}));
        const std::unique_ptr<QMenu> menu(stage.view.makeMenu({HitKind::Box, box, false}));
        menu->findChild<QAction*>(QStringLiteral("graph.target"))->trigger();
        QCOMPARE(asked.count(), 2);
    }
};

QTEST_MAIN(GraphSelectionTest)
#include "tst_graphselection.moc"
