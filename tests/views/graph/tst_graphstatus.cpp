// SPDX-License-Identifier: Apache-2.0
#include <QTest>

#include "tests/views/graph/graphruns.h"
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/graph/graphstatus.h"
#include "views/graph/promisepath.h"

using namespace retro;
using namespace retro::views;
using layout::Index;
using layout::kNone;

namespace
{

/// A scene with its run at a position.
struct Shot
{
    explicit Shot(RunHandle of, std::vector<bool> closed = {}) : handle(std::move(of))
    {
        const auto book = makeBook(handle.run, handle.run->graph, BoxMetrics::ofFonts());
        closed.resize(book->groupDepths.size(), false);
        scene = tests::made(makeScene(book, closed));
    }
    GraphStatus at(std::uint64_t position)
    {
        handle.timeline->seek(position);
        return makeStatus(*scene, &handle.timeline->state(), position);
    }
    [[nodiscard]] Index boxOf(std::uint32_t node) const { return scene->boxOf(base::NodeId(node)); }

    RunHandle handle;
    std::shared_ptr<const GraphScene> scene;
};

/// "N ◇1 ◆ ▲ 1/2 ✕", what holds of it.
QString textOf(const BoxStatus& s)
{
    QStringList parts{QString::fromUtf8(event::shortName(s.mode).data())};
    if (s.waiting > 0) {
        parts.append(QStringLiteral("◇%1").arg(s.waiting));
    }
    if (s.isFulfilled) {
        parts.append(QStringLiteral("◆"));
    }
    if (s.isInFrontier) {
        parts.append(QStringLiteral("▲"));
    }
    if (s.parts > 0) {
        parts.append(QStringLiteral("%1/%2").arg(s.landed).arg(s.parts));
    }
    if (s.isLeaking) {
        parts.append(QStringLiteral("✕"));
    }
    return parts.join(QLatin1Char(' '));
}

} // namespace

class GraphStatusTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void badgesFollowTheRun_data()
    {
        QTest::addColumn<int>("visits"); // complete visits
        QTest::addColumn<QString>("add");
        QTest::addColumn<QString>("relu");
        QTest::addColumn<QString>("conv2");
        const auto row = [](const char* name, int visits, const char* add, const char* relu, const char* conv2) {
            QTest::newRow(name) << visits << QString::fromUtf8(add) << QString::fromUtf8(relu)
                                << QString::fromUtf8(conv2);
        };
        row("before", 0, "-", "-", "-");
        row("relevance reaches the sum", 3, "- ▲", "-", "-");
        row("the sum has opened a promise", 4, "NTM ◇1", "- 1/2", "-");
        row("one branch has its answer", 5, "NTM ◇1", "- 1/2", "NTM");
        row("the search has reached relu1", 6, "NTM ◆", "PTM ◇1 1/2", "NTM");
        row("conv2 goes on", 7, "NTM ◆", "PTM ◇1 ▲", "PFM ◆");
        row("end", 10, "NTM ◆", "NTM ◆", "PFM ◆");
    }
    void badgesFollowTheRun()
    {
        QFETCH(int, visits);
        Shot shot(tests::makeTinyRun());
        const std::uint64_t position =
            visits == 0 ? 0 : shot.handle.run->endOfVisit(static_cast<std::uint32_t>(visits) - 1);
        const GraphStatus status = shot.at(position);
        const auto text = [&](std::uint32_t node) {
            return textOf(status.boxes[static_cast<std::size_t>(shot.boxOf(node))]);
        };
        QTEST(text(tests::kAdd), "add");
        QTEST(text(tests::kRelu1), "relu");
        QTEST(text(tests::kConv2), "conv2");
        QCOMPARE(status.now, visits == 0 ? kNone : shot.scene->boxOf(shot.handle.timeline->state().current));
    }

    void edgesCarryWhatHasPassed()
    {
        Shot shot(tests::makeTinyRun());
        const Index conv2ToAdd = shot.scene->edgeBetween(shot.boxOf(tests::kConv2), shot.boxOf(tests::kAdd));
        const Index reluToAdd = shot.scene->edgeBetween(shot.boxOf(tests::kRelu1), shot.boxOf(tests::kAdd));
        const Index poolToFlatten = shot.scene->edgeBetween(shot.boxOf(tests::kPool), shot.boxOf(tests::kFlatten));
        const auto sum = [](const GraphStatus& status, Index edge) {
            return static_cast<double>(status.edges[static_cast<std::size_t>(edge)]);
        };
        const GraphStatus start = shot.at(0);
        QVERIFY(std::isnan(sum(start, poolToFlatten)));
        const GraphStatus opened = shot.at(shot.handle.run->endOfVisit(3));
        QVERIFY(std::abs(sum(opened, poolToFlatten) - 8.28) < 1e-3);
        QVERIFY(std::isnan(sum(opened, conv2ToAdd))); // a promise has passed, no relevance yet
        const GraphStatus split = shot.at(shot.handle.run->endOfVisit(5));
        QVERIFY(std::abs(sum(split, conv2ToAdd) - 5.1) < 1e-3);
        QVERIFY(std::abs(sum(split, reluToAdd) - 3.16) < 1e-3);
    }

    void everyEdgeOfARealRunIsPassedOnce()
    {
        Shot shot(tests::makeTransformerRun());
        const GraphStatus end = shot.at(shot.handle.run->eventCount());
        for (std::size_t e = 0; e < end.edges.size(); ++e) {
            QVERIFY2(!std::isnan(end.edges[e]), qPrintable(QStringLiteral("nothing passed edge %1").arg(e)));
        }
        const GraphStatus start = shot.at(0);
        QVERIFY(std::all_of(start.edges.begin(), start.edges.end(), [](float sum) { return std::isnan(sum); }));
        QVERIFY(std::all_of(start.boxes.begin(), start.boxes.end(),
                            [](const BoxStatus& box) { return box == BoxStatus{}; }));
    }

    void parallelEdgesKeepTheirOwnSums()
    {
        Shot shot(tests::makeSquareRun());
        QCOMPARE(shot.scene->visible.edges.size(), std::size_t{2});
        const GraphStatus end = shot.at(shot.handle.run->eventCount());
        const double handedOn = 0.99 * 6.2;
        QVERIFY(std::abs(static_cast<double>(end.edges[0]) - handedOn * 2 / 3) < 1e-3);
        QVERIFY(std::abs(static_cast<double>(end.edges[1]) - handedOn / 3) < 1e-3);
    }

    void rowsOfASmallPictureCountModes()
    {
        Shot shot(tests::makeTinyRun());
        const GraphStatus end = shot.at(shot.handle.run->eventCount());
        const auto rows = classRows(*shot.scene, end, nullptr, shot.scene->layout.bounds, 1);
        QCOMPARE(rows.size(), std::size_t{1});
        QCOMPARE(rows[0].total, Index{8});
        QCOMPARE(rows[0].counts, (ClassCounts{0, 7, 0, 1}));
    }

    void nothingIsKnownWithoutAState()
    {
        Shot shot(tests::makeTinyRun());
        const GraphStatus status = makeStatus(*shot.scene, nullptr, 0);
        QCOMPARE(status.boxes.size(), shot.scene->visible.nodes.size());
        QCOMPARE(status.now, kNone);
    }

    void aClosedGroupShowsItsLatestMember()
    {
        Shot shot(tests::makeTinyRun(), {false, true, true}); // block1 and head
        const Index block = shot.boxOf(tests::kAdd);
        QCOMPARE(block, shot.boxOf(tests::kConv2));
        GraphStatus status = shot.at(shot.handle.run->endOfVisit(3));
        QCOMPARE(textOf(status.boxes[static_cast<std::size_t>(block)]), QStringLiteral("NTM ◇1"));
        QCOMPARE(representative(*shot.scene, status, block), base::NodeId(std::uint32_t{tests::kAdd}));
        status = shot.at(shot.handle.run->endOfVisit(6));
        QCOMPARE(textOf(status.boxes[static_cast<std::size_t>(block)]), QStringLiteral("PFM ◆"));
        QCOMPARE(representative(*shot.scene, status, block), base::NodeId(std::uint32_t{tests::kConv2}));
        status = shot.at(0);
        QCOMPARE(representative(*shot.scene, status, block), base::NodeId(std::uint32_t{tests::kAdd})); // the last one
        // One edge stands for those of both members.
        const Index merged = shot.scene->edgeBetween(shot.boxOf(tests::kRelu1), block);
        status = shot.at(shot.handle.run->eventCount());
        QVERIFY(std::abs(static_cast<double>(status.edges[static_cast<std::size_t>(merged)]) - (5.08 + 3.16)) < 1e-3);
    }

    void rowsThatDoNotAddUpRaiseTheAlarm()
    {
        Shot shot(tests::makeTransformerRun(1, true));
        const Index softmax = shot.scene->boxOf(tests::nodeNamed(shot.handle, "encoder/layer.0/Softmax"));
        const auto leaks = [](const GraphStatus& status) {
            return std::count_if(status.boxes.begin(), status.boxes.end(),
                                 [](const BoxStatus& box) { return box.isLeaking; });
        };
        QCOMPARE(leaks(shot.at(0)), 0);
        const GraphStatus end = shot.at(shot.handle.run->eventCount());
        QCOMPARE(leaks(end), 1);
        QVERIFY(end.boxes[static_cast<std::size_t>(softmax)].isLeaking);
    }

    void thePathOfAPromiseLeadsToItsAnswers()
    {
        Shot shot(tests::makeTinyRun());
        shot.handle.timeline->seek(shot.handle.run->endOfVisit(5));
        const trace::RunState& state = shot.handle.timeline->state();
        const PromisePath path = makePath(*shot.scene, state, base::PromiseId(0U));
        QCOMPARE(path.start, shot.boxOf(tests::kAdd));
        QCOMPARE(static_cast<int>(path.pieces.size()), 2);
        QCOMPARE(path.pieces[0].producer, shot.boxOf(tests::kConv2));
        QCOMPARE(path.pieces[1].producer, shot.boxOf(tests::kRelu1));
        QVERIFY(path.covers(shot.scene->edgeBetween(shot.boxOf(tests::kRelu1), shot.boxOf(tests::kAdd))));
        QVERIFY(!path.held); // it is complete
        QVERIFY(makePath(*shot.scene, state, base::PromiseId(77U)).isEmpty());
        shot.handle.timeline->seek(shot.handle.run->endOfVisit(4));
        const PromisePath waiting = makePath(*shot.scene, shot.handle.timeline->state(), base::PromiseId(0U));
        QVERIFY(waiting.held && std::abs(*waiting.held - 8.26) < 1e-3);
    }

    void pathsCrossPassThroughNodes()
    {
        Shot shot(tests::makeTransformerRun());
        shot.handle.timeline->seek(shot.handle.run->eventCount());
        const trace::RunState& state = shot.handle.timeline->state();
        QStringList crossed;
        for (std::uint32_t id = 0; id < state.promises.size(); ++id) {
            for (const PathPiece& piece : makePath(*shot.scene, state, base::PromiseId(id)).pieces) {
                QVERIFY(piece.edge != kNone); // a search only goes along edges
                if (!piece.isLast) {
                    crossed.append(
                        QString::fromStdString(shot.scene->graph().labelOf(base::NodeId(static_cast<std::uint32_t>(
                            shot.scene->visible.nodes[static_cast<std::size_t>(piece.producer)].node)))));
                }
            }
        }
        QCOMPARE(crossed, QStringList{QStringLiteral("embed/turn")});
    }

    void thePositionOfABareStateIsTheEndOfItsVisit()
    {
        Shot shot(tests::makeTinyRun());
        const trace::Run& run = *shot.handle.run;
        for (const std::uint64_t position : {std::uint64_t{0}, run.endOfVisit(4), run.eventCount()}) {
            shot.handle.timeline->seek(position);
            QCOMPARE(positionOf(run, shot.handle.timeline->state()), position);
        }
    }
};

QTEST_MAIN(GraphStatusTest)
#include "tst_graphstatus.moc"
