// SPDX-License-Identifier: Apache-2.0
#include <QTest>

#include "tests/views/graph/graphruns.h"
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/graph/emphasis.h"
#include "views/graph/graphscene.h"
#include "views/graph/graphsearch.h"
#include "views/graph/graphwalk.h"
#include "views/graph/groupdepth.h"

using namespace retro;
using namespace retro::views;
using layout::Index;
using layout::kNone;

namespace
{

std::shared_ptr<const GraphBook> bookOf(const RunHandle& handle)
{
    return makeBook(handle.run, handle.run->graph, BoxMetrics::ofFonts());
}

std::shared_ptr<const GraphScene> sceneOf(const std::shared_ptr<const GraphBook>& book, const std::vector<bool>& closed)
{
    return tests::made(makeScene(book, closed));
}

std::shared_ptr<const GraphScene> openScene(const RunHandle& handle)
{
    const auto book = bookOf(handle);
    return sceneOf(book, std::vector<bool>(book->groupDepths.size(), false));
}

/// Names of boxes, for messages that explain themselves.
QString nameOf(const GraphScene& scene, Index box)
{
    if (box == kNone) {
        return QStringLiteral("-");
    }
    const layout::VisibleNode& node = scene.visible.nodes[static_cast<std::size_t>(box)];
    const auto text = [](std::string_view s) { return QString::fromUtf8(s.data(), static_cast<qsizetype>(s.size())); };
    return node.isGroup() ? QStringLiteral("▸") + text(scene.book->drawn.groupName(node.group))
                          : text(shortName(scene.graph(), base::NodeId(static_cast<std::uint32_t>(node.node))));
}

QString namesOf(const GraphScene& scene)
{
    QStringList names;
    for (Index box = 0; box < scene.boxCount(); ++box) {
        names.append(nameOf(scene, box));
    }
    return names.join(QLatin1Char(' '));
}

} // namespace

class GraphSceneTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void inputsAreOnTop()
    {
        const auto scene = openScene(tests::makeTinyRun());
        const auto& nodes = scene->layout.nodes;
        const auto at = [&](std::uint32_t node) {
            return nodes[static_cast<std::size_t>(scene->boxOf(base::NodeId(node)))].y;
        };
        QVERIFY(at(tests::kImage) < at(tests::kConv1));
        QVERIFY(at(tests::kConv1) < at(tests::kRelu1));
        QVERIFY(at(tests::kAdd) < at(tests::kFc));
        QCOMPARE(scene->boxCount(), Index{8});
        QCOMPARE(static_cast<int>(scene->visible.frames.size()), 3);
    }

    void smallGraphsStartOpenLargeOnesClosed()
    {
        const auto small = bookOf(tests::makeTransformerRun(2));
        QCOMPARE(small->drawn.graph.nodeCount, Index{46});
        const std::vector<bool> open = initiallyClosed(*small);
        QVERIFY(std::none_of(open.begin(), open.end(), [](bool isClosed) { return isClosed; }));
        // Four layers: 84 nodes. The outermost groups alone would leave four boxes, so one level more is open; the
        // layers are built alike and are one box.
        const auto large = bookOf(tests::makeTransformerRun(4));
        const auto scene = sceneOf(large, initiallyClosed(*large));
        QCOMPARE(namesOf(*scene), QStringLiteral("Conv turn Concat Add ▸layer.0–3 LN Gather FC image"));
        // No scopes: 24 blocks are found behind the first one, which reads the input.
        const auto plain = bookOf(tests::makeResidualRun(100));
        const auto blocks = sceneOf(plain, initiallyClosed(*plain));
        QCOMPARE(blocks->boxCount(), Index{24 + 4 + 1});
        QCOMPARE(groupDetail(*plain, 0, 96), std::string("×24, 96 nodes"));
        QCOMPARE(groupDetail(*plain, 1, 4), std::string("4 nodes"));
        // Opening thousands of blocks would be no overview.
        const auto endless = bookOf(tests::makeResidualRun(4000));
        QCOMPARE(sceneOf(endless, initiallyClosed(*endless))->boxCount(), Index{1 + 4 + 1});
    }

    void namesAndShapesAreShort()
    {
        const RunHandle handle = tests::makeTransformerRun();
        const graph::Graph& graph = *handle.run->graph;
        const base::NodeId norm = tests::nodeNamed(handle, "encoder/layer.0/LN_1");
        QCOMPARE(std::string(shortName(graph, norm)), std::string("LN_1"));
        QCOMPARE(shortShape(graph, *handle.run, norm), std::string("50×64"));
        QCOMPARE(shortShape(graph, trace::Run{}, norm), std::string());
        QCOMPARE(countOfNodes(1), std::string("1 node"));
        const auto book = bookOf(handle);
        QCOMPARE(std::string(nameInGroup(*book, norm)), std::string("LN_1"));
        const auto lonely = bookOf(tests::makeLonelyScopesRun());
        QCOMPARE(lonely->drawn.groupPaths, std::vector<std::string>{"stem"}); // no frame around a single box
        QCOMPARE(std::string(nameInGroup(*lonely, base::NodeId(0U))), std::string("first/conv"));
        QCOMPARE(std::string(nameInGroup(*lonely, base::NodeId(1U))), std::string("act"));
        QCOMPARE(std::string(nameInGroup(*lonely, base::NodeId(2U))), std::string("x"));
        QCOMPARE(countOfNodes(1538), std::string("1,538 nodes"));
    }

    void hitsBoxesTitlesAndEdges()
    {
        const auto scene = openScene(tests::makeTinyRun());
        const Index relu = scene->boxOf(base::NodeId(std::uint32_t{tests::kRelu1}));
        const layout::Rect& box = scene->layout.nodes[static_cast<std::size_t>(relu)];
        QCOMPARE(hitTest(*scene, box.center(), 4), (Hit{HitKind::Box, relu, false}));
        const layout::Rect title = titleOf(*scene, 0);
        QCOMPARE(hitTest(*scene, {title.right() - 4, title.center().y}, 1), (Hit{HitKind::Frame, 0, false}));
        QCOMPARE(hitTest(*scene, {title.x + 4, title.center().y}, 1), (Hit{HitKind::Frame, 0, true}));
        const Index add = scene->boxOf(base::NodeId(std::uint32_t{tests::kAdd}));
        const Index edge = scene->edgeBetween(relu, add);
        QVERIFY(edge != kNone);
        const auto points = scene->layout.edge(edge);
        const layout::Point middle{(points[1].x + points[2].x) / 2, (points[1].y + points[2].y) / 2};
        QCOMPARE(hitTest(*scene, {middle.x + 1, middle.y}, 4), (Hit{HitKind::Edge, edge, false}));
        QCOMPARE(scene->graph().value(scene->valueOf(edge)).name, std::string("b"));
        QCOMPARE(hitTest(*scene, {-500, -500}, 4).kind, HitKind::Nothing);
    }

    void closedGroupsHaveASign()
    {
        const auto book = bookOf(tests::makeTinyRun());
        const auto scene = sceneOf(book, {true, false, false});
        QCOMPARE(namesOf(*scene), QStringLiteral("▸stem conv2 add pool flatten fc image"));
        const Index stem = scene->boxOf(base::NodeId(std::uint32_t{tests::kRelu1}));
        QCOMPARE(stem, scene->boxOf(base::NodeId(std::uint32_t{tests::kConv1})));
        QVERIFY(hitTest(*scene, signOf(*scene, stem).center(), 4).isOnSign);
        const layout::Rect& box = scene->layout.nodes[static_cast<std::size_t>(stem)];
        QVERIFY(!hitTest(*scene, {box.right() - 4, box.center().y}, 4).isOnSign);
    }

    void arrowsWalkAlongEdges()
    {
        const RunHandle handle = tests::makeTransformerRun();
        const auto scene = openScene(handle);
        const auto box = [&](const char* name) { return scene->boxOf(tests::nodeNamed(handle, name)); };
        const Index q = box("encoder/layer.1/Q");
        QCOMPARE(nameOf(*scene, neighbour(*scene, q, Direction::Up)), QStringLiteral("LN_1"));
        QCOMPARE(nameOf(*scene, neighbour(*scene, q, Direction::Down)), QStringLiteral("heads_q"));
        QCOMPARE(nameOf(*scene, neighbour(*scene, q, Direction::Right)), QStringLiteral("K"));
        QCOMPARE(neighbour(*scene, q, Direction::Left), kNone);
        QCOMPARE(nameOf(*scene, firstProducer(*scene, box("encoder/layer.1/Add_1"))), QStringLiteral("Proj"));
        QCOMPARE(nameOf(*scene, firstConsumer(*scene, box("encoder/layer.1/LN_1"))), QStringLiteral("Q"));
        QCOMPARE(firstConsumer(*scene, box("head/FC")), kNone);
        const Index around = frameAround(*scene, box("encoder/layer.1/mlp/GELU"));
        const Index group = scene->visible.frames[static_cast<std::size_t>(around)];
        QCOMPARE(scene->book->drawn.groupPaths[static_cast<std::size_t>(group)], std::string("encoder/layer.1/mlp"));
        QCOMPARE(frameAround(*scene, scene->boxOf(base::NodeId(handle.run->graph->nodeCount()))), kNone); // the input
    }

    void findLooksAtNameOperatorAndScope()
    {
        const RunHandle handle = tests::makeTransformerRun();
        const auto count = [&](const char* query) {
            return static_cast<int>(findNodes(*handle.run->graph, query).size());
        };
        QCOMPARE(count("SOFTMAX"), 2);
        QCOMPARE(count("layer.1/q"), 2); // Q and QK
        QCOMPARE(count("gemm"), 13);     // no name has it, the operators do
        QCOMPARE(count("name:gemm"), 0);
        QCOMPARE(count("op:Gemm scope:layer.0"), 6);
        QCOMPARE(count("scope:mlp"), 8);
        QCOMPARE(count("op:input"), 1);
        QCOMPARE(count("op:gemm softmax"), 0);
        QCOMPARE(count(""), 0);
        QCOMPARE(count(" op: "), 0);
        QCOMPARE(count("nothing like it"), 0);
    }

    void tracesFollowTheDataflow()
    {
        const RunHandle handle = tests::makeTransformerRun();
        const auto book = bookOf(handle);
        const NodeSet up = traceFrom(*book, tests::nodeNamed(handle, "embed/Concat"), Trace::Upstream);
        QCOMPARE(sizeOf(up), Index{4}); // Concat, turn, Conv, image
        const NodeSet down = traceFrom(*book, tests::nodeNamed(handle, "head/LN"), Trace::Downstream);
        QCOMPARE(sizeOf(down), Index{3});
        const auto scene = openScene(handle);
        const Emphasis emphasis = emphasise(*scene, down);
        const Index norm = scene->boxOf(tests::nodeNamed(handle, "head/LN"));
        const Index gather = scene->boxOf(tests::nodeNamed(handle, "head/Gather"));
        QVERIFY(!emphasis.isFaintBox(norm));
        QVERIFY(!emphasis.isFaintEdge(scene->edgeBetween(norm, gather)));
        QVERIFY(emphasis.isFaintEdge(scene->producersOf[norm].front()));
        QVERIFY(!emphasise(*scene, {}).isFaintBox(norm));
        // A closed group stands out with its first member.
        const auto closed = sceneOf(book, std::vector<bool>(book->groupDepths.size(), true));
        const Emphasis one = emphasise(*closed, setOf(*book, {tests::nodeNamed(handle, "head/FC")}));
        QVERIFY(!one.isFaintBox(closed->boxOf(tests::nodeNamed(handle, "head/LN"))));
        QVERIFY(one.isFaintBox(closed->boxOf(tests::nodeNamed(handle, "embed/Conv"))));
    }

    void depthsOpenAndCloseTogether()
    {
        const RunHandle handle = tests::makeTransformerRun();
        const auto book = bookOf(handle);
        const auto scene = openScene(handle);
        QCOMPARE(depthToClose(*scene, kNone), Index{2}); // the mlp of each layer
        QCOMPARE(depthToClose(*scene, scene->boxOf(tests::nodeNamed(handle, "encoder/layer.0/Q"))), Index{1});
        QCOMPARE(depthToOpen(*scene, kNone), kNone);
        std::vector<bool> closed = scene->closed;
        setDepthClosed(*book, 1, true, closed);
        const auto layers = sceneOf(book, closed);
        QCOMPARE(depthToOpen(*layers, kNone), Index{1});
        QCOMPARE(depthToClose(*layers, kNone), Index{0});
        QCOMPARE(static_cast<int>(std::count(closed.begin(), closed.end(), true)), 2);
        const auto first = static_cast<Index>(std::find(closed.begin(), closed.end(), true) - closed.begin());
        QCOMPARE(static_cast<int>(groupsLike(*book, first).size()), 2);
    }

    void aStoppedLayoutSaysSo()
    {
        std::stop_source stop;
        stop.request_stop();
        const auto scene = makeScene(bookOf(tests::makeTinyRun()), {false, false, false}, stop.get_token());
        RETRO_REFUSED(scene, base::ErrorCode::Cancelled);
    }
};

QTEST_MAIN(GraphSceneTest)
#include "tst_graphscene.moc"
