// SPDX-License-Identifier: Apache-2.0
// The living graph: cards, what moves, and that a picture depends on the moment alone.
#include <QImage>
#include <QPainter>
#include <QSignalSpy>
#include <QTest>

#include "tests/views/graph/graphruns.h"
#include "tests/views/graph/graphstage.h"
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/paint/motion.h"
#include "views/graph/graphcanvas.h"
#include "views/graph/graphmotion.h"
#include "views/graph/graphview.h"
#include "views/graph/shownpulses.h"
#include "views/graph/smallpictures.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

using namespace retro;
using namespace retro::views;
using layout::Index;

namespace
{

const QSize kWide(1000, 420);
const QSize kTall(520, 700);

struct Living : tests::GraphStage
{
    explicit Living(RunHandle of, QSize size = kWide) : GraphStage(std::move(of))
    {
        canvas().pictures().setImmediate(true);
        view.resize(size);
        view.setInMotion(true);
        view.flush();
    }
    [[nodiscard]] QImage at(double moment)
    {
        context.cursor.glideTo(moment);
        view.flush();
        QImage image(canvas().size(), QImage::Format_RGB32);
        canvas().render(&image);
        return image;
    }
    [[nodiscard]] double end() const { return static_cast<double>(handle.run->eventCount()); }
};

} // namespace

class GraphLivingTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }
    void cleanup()
    {
        setMotionReduced(false);
        ThemeHub::instance().setChoice(ThemeChoice::Light);
    }

    void pictureDependsOnTheMomentAlone_data()
    {
        QTest::addColumn<QSize>("size");
        QTest::addColumn<double>("speed");
        QTest::newRow("wide") << kWide << 0.0;
        QTest::newRow("tall") << kTall << 0.0;
        QTest::newRow("brief") << kWide << 16.0;
        QTest::newRow("visit") << kWide << 60.0;
        QTest::newRow("sum") << kWide << 1000.0;
    }

    /// Reached forward, backward, by seek, and after a resize and back.
    void pictureDependsOnTheMomentAlone()
    {
        QFETCH(QSize, size);
        QFETCH(double, speed);
        Living stage(tests::makeTransformerRun(1), size);
        stage.context.cursor.setSpeed(speed);
        std::vector<double> moments;
        for (int i = 0; i <= 24; ++i) {
            moments.push_back(stage.end() * i / 24.0 + (i % 3) * 0.37);
        }
        std::vector<QImage> forward;
        for (const double moment : moments) {
            forward.push_back(stage.at(moment));
        }
        QVERIFY(forward.front() != forward[12]);
        for (std::size_t i = moments.size(); i-- > 0;) {
            QVERIFY2(stage.at(moments[i]) == forward[i], qPrintable(QString::number(moments[i])));
        }
        std::mt19937 random(4);
        for (int i = 0; i < 12; ++i) {
            const std::size_t at = random() % moments.size();
            QVERIFY(stage.at(moments[at]) == forward[at]);
        }
        stage.view.resize(size.width() - 60, size.height() - 20);
        static_cast<void>(stage.at(moments[5]));
        stage.view.resize(size);
        QVERIFY(stage.at(moments[7]) == forward[7]);
    }

    /// Scores of classes: bars from the left, the largest the longest, blue where it speaks against.
    void fewNumbersAreBars()
    {
        const std::vector<float> scores{0, 3, -1.5F, 0};
        const QImage image = smallPicture(tensor::Tensor::of<float>({1, 4}, scores), 96);
        QCOMPARE(image.size(), QSize(96, 96));
        const auto lengthOf = [&](int row) {
            int length = 0;
            for (int x = 0; x < image.width(); ++x) {
                length += image.pixelColor(x, row * 24 + 12).saturation() > 100 ? 1 : 0;
            }
            return length;
        };
        QCOMPARE(lengthOf(0), 0);
        QVERIFY(lengthOf(1) > 75);
        QVERIFY(std::abs(lengthOf(2) - lengthOf(1) / 2) <= 2);
        QVERIFY(image.pixelColor(12, 36).red() > image.pixelColor(12, 36).blue());
        QVERIFY(image.pixelColor(12, 60).blue() > image.pixelColor(12, 60).red());
    }

    /// Its band lies over the ground of open groups, and under the cards.
    void theFrontierIsSeenInsideGroups()
    {
        Living stage(tests::makeTransformerRun(1));
        const QImage image = stage.at(std::floor(stage.end() / 2));
        const auto& scene = *stage.canvas().scene();
        int tinted = 0;
        for (const layout::Rect& group : scene.layout.groups) {
            const QRectF frame = stage.canvas().camera().toScreen(group);
            const int y = static_cast<int>(frame.bottom()) - 4;
            for (int x = static_cast<int>(frame.left()) + 4; x < static_cast<int>(frame.right()) - 4; ++x) {
                if (group.width > 0 && image.rect().contains(x, y)) {
                    const QColor color = image.pixelColor(x, y);
                    tinted += color.green() - color.red() > 12 && color.red() > 120 ? 1 : 0; // accent over the ground
                }
            }
        }
        QVERIFY2(tinted > 20, qPrintable(QString::number(tinted)));
    }

    void landingMovesInEveryPicture()
    {
        Living stage(tests::makeResidualRun(12));
        const trace::Motion motion(*stage.handle.run);
        int seen = 0;
        for (const trace::Motion::Landing& landing : motion.landings()) {
            if (!landing.handle.isValid() || !landing.from.isValid()) {
                continue;
            }
            const auto step = static_cast<double>(landing.step);
            const QImage a = stage.at(step + 0.3);
            const QImage b = stage.at(step + 0.5);
            const QImage c = stage.at(step + 0.7);
            QVERIFY(a != b && b != c && a != c);
            ++seen;
        }
        QVERIFY(seen > 5);
    }

    void reducedMotionGoesInSteps()
    {
        Living stage(tests::makeTransformerRun(1));
        setMotionReduced(true);
        for (int i = 0; i < 10; ++i) {
            const double step = std::floor(stage.end() * i / 10);
            const QImage still = stage.at(step);
            QVERIFY(stage.at(step + 0.4) == still);
            QVERIFY(stage.at(step + 0.9) == still);
        }
    }

    void layoutFollowsThePane()
    {
        Living stage(tests::makeTransformerRun(1));
        QVERIFY(stage.scene().style.isSideways);
        const auto lies = [&](Index from, Index to) {
            const QRectF a =
                stage.canvas().camera().toScreen(stage.scene().layout.nodes[static_cast<std::size_t>(from)]);
            const QRectF b = stage.canvas().camera().toScreen(stage.scene().layout.nodes[static_cast<std::size_t>(to)]);
            return stage.scene().style.isSideways ? a.right() < b.left() : a.bottom() < b.top();
        };
        for (const layout::LayoutEdge& edge : stage.scene().visible.edges) {
            QVERIFY(lies(edge.from, edge.to));
        }
        stage.view.resize(kTall);
        stage.view.flush();
        QVERIFY(!stage.scene().style.isSideways && stage.scene().style.hasCards);
        for (const layout::LayoutEdge& edge : stage.scene().visible.edges) {
            QVERIFY(lies(edge.from, edge.to));
        }
        stage.view.setRunning(GraphView::Run::Sideways);
        QVERIFY(stage.scene().style.isSideways);
        stage.view.setRunning(GraphView::Run::Auto);
        QVERIFY(!stage.scene().style.isSideways);
    }

    /// −46 % and +46 % of the score do not look alike.
    void sharesBelowZeroHangDown()
    {
        const auto ink = [](double sign) {
            auto run = std::make_shared<trace::Run>(*tests::makeTransformerRun(1).run);
            const auto start = std::ranges::find_if(run->events, [](const event::Event& e) {
                return e.kind == event::EventKind::Land && e.other == base::NodeId::kInvalid &&
                       e.promise == base::PromiseId::kInvalid;
            });
            for (std::size_t i = 0; i < run->handles.size(); ++i) {
                run->handles[i].sum *= i == start->handle ? 1 : sign;
            }
            for (event::LedgerEntry& entry : run->ledger) {
                entry.arrived *= sign;
            }
            Living stage(RunHandle{run, std::make_shared<trace::Timeline>(trace::Timeline::open(run).value())});
            static_cast<void>(stage.at(stage.end()));
            const Theme& theme = Theme::of(ThemeKind::Light);
            QImage image(stage.canvas().width(), 120, QImage::Format_RGB32);
            image.fill(theme[Role::Base]);
            QPainter painter(&image);
            paintShares(painter, stage.canvas().picture(), stage.canvas().camera(), theme, QRectF(image.rect()));
            const int middle = image.height() / 2;
            const auto inkIn = [&](int from, int to) {
                int ink = 0;
                for (int y = from; y < to; ++y) {
                    for (int x = 0; x < image.width(); ++x) {
                        ink += image.pixelColor(x, y) == theme[Role::Keep] ? 1 : 0;
                    }
                }
                return ink;
            };
            // A column that stands reaches over the middle; one that hangs begins there.
            return std::pair{inkIn(0, middle - 10), inkIn(middle, image.height())};
        };
        const auto [above, ground] = ink(1);
        const auto [none, below] = ink(-1);
        QVERIFY(above > 0 && ground > 0);
        QVERIFY(below > 0);
        QVERIFY2(none * 4 < above, qPrintable(QStringLiteral("%1 beside %2").arg(none).arg(above)));
    }

    /// A click where a card is painted hits it, whichever way the drawing runs.
    void cardsAreHitWhereTheyAre()
    {
        Living stage(tests::makeTransformerRun(1));
        stage.canvas().fitAll();
        for (Index box = 0; box < stage.scene().boxCount(); box += 3) {
            const QRectF rect =
                stage.canvas().camera().toScreen(stage.scene().layout.nodes[static_cast<std::size_t>(box)]);
            QSignalSpy clicked(&stage.canvas(), &GraphCanvas::boxClicked);
            QTest::mouseClick(&stage.canvas(), Qt::LeftButton, {},
                              QPointF(rect.right() - rect.width() / 5, rect.center().y()).toPoint());
            QCOMPARE(clicked.size(), 1);
            QCOMPARE(clicked.front().front().toInt(), box);
        }
    }

    void cameraFollowsUntilItIsMoved()
    {
        Living stage(tests::makeTransformerRun(4));
        QVERIFY(stage.canvas().isFollowing());
        static_cast<void>(stage.at(1));
        const GraphCamera start = stage.canvas().camera();
        static_cast<void>(stage.at(stage.end() - 1));
        QVERIFY(!(stage.canvas().camera() == start));
        QTest::keyClick(&stage.canvas(), Qt::Key_A);
        QVERIFY(!stage.canvas().isFollowing());
        const GraphCamera moved = stage.canvas().camera();
        static_cast<void>(stage.at(1));
        QVERIFY(stage.canvas().camera() == moved);
        stage.view.resumeFollowing();
        QVERIFY(stage.canvas().camera() == start);
    }

    /// Whatever part of the drawing fits into the pane: the node that is visited is in sight.
    void theCameraShowsWhatIsVisited_data()
    {
        QTest::addColumn<int>("width");
        for (const int width : {700, 820, 1000, 1224, 1400}) {
            QTest::addRow("%d", width) << width;
        }
    }
    void theCameraShowsWhatIsVisited()
    {
        QFETCH(const int, width);
        Living stage(tests::makeResidualRun(40), QSize(width, 420));
        for (const VisitMark& visit : stage.scene().book->flow.visits()) {
            static_cast<void>(stage.at(static_cast<double>(visit.step) + 1));
            const Index box = stage.scene().boxOf(visit.node);
            const QRectF card =
                stage.canvas().camera().toScreen(stage.scene().layout.nodes[static_cast<std::size_t>(box)]);
            QVERIFY2(stage.canvas().overlays().free.contains(card.center()), qPrintable(QString::number(visit.step)));
        }
    }

    /// Figures beside pulses and names beside heads of searches stand in the gaps between cards, over all else.
    void wordsStandBetweenCards_data()
    {
        QTest::addColumn<QSize>("size");
        QTest::newRow("wide") << kWide;
        QTest::newRow("tall") << kTall;
    }
    void wordsStandBetweenCards()
    {
        QFETCH(const QSize, size);
        Living stage(tests::makeTransformerRun(1), size);
        GraphCanvas& canvas = stage.canvas();
        canvas.zoomBy(1.5 / canvas.camera().zoom()); // where a gap has room for them
        int seen = 0;
        for (double moment = 0; moment < stage.end(); moment += 0.83) {
            static_cast<void>(stage.at(moment));
            const GraphPicture shown = canvas.picture();
            QImage image(canvas.size(), QImage::Format_RGB32);
            QPainter painter(&image);
            MotionPainter living(painter, shown, canvas.camera(), theme(&canvas), MotionLook());
            living.paintAbove(QRectF(canvas.rect()));
            for (const MotionPainter::Words& words : living.words()) {
                if (words.text.contains(QLatin1String("held"))) {
                    continue; // it stands above its card
                }
                ++seen;
                for (const layout::Rect& node : stage.scene().layout.nodes) {
                    const QRectF both = canvas.camera().toScreen(node) & words.box;
                    QVERIFY2(both.width() < 1 || both.height() < 1,
                             qPrintable(QStringLiteral("%1 at %2").arg(words.text).arg(moment)));
                }
            }
        }
        QVERIFY(seen > 20);
    }

    /// From the moment on at which a promise takes it until the promise is fulfilled.
    void relevanceIsHeldWhileItsPromiseWaits()
    {
        Living stage(tests::makeResidualRun(12));
        const auto held = [&](base::NodeId node, std::uint64_t position) {
            static_cast<void>(stage.at(static_cast<double>(position)));
            const auto box = static_cast<std::size_t>(stage.scene().boxOf(node));
            return (*stage.canvas().picture().cards)[box].isHeld;
        };
        const auto& events = stage.handle.run->events;
        int seen = 0;
        for (std::size_t i = 0; i < events.size(); ++i) {
            if (events[i].kind != event::EventKind::Complete) {
                continue;
            }
            const auto opened = std::ranges::find_if(events, [&](const event::Event& e) {
                return e.kind == event::EventKind::NewPromise && e.promise == events[i].promise;
            });
            const base::NodeId start(opened->node);
            QVERIFY(!held(start, static_cast<std::uint64_t>(opened - events.begin())));
            QVERIFY(held(start, i));
            QVERIFY(!held(start, i + 1));
            ++seen;
        }
        QVERIFY(seen > 1);
    }

    /// More nodes than a pane can show: all of them stand in a stripe, which says what is in sight and goes there.
    void aLongDrawingHasAStripeOfAllNodes()
    {
        Living few(tests::makeTransformerRun(2));
        few.view.setRunning(GraphView::Run::Sideways);
        few.view.resize(1000, 460);
        few.view.flush();
        QVERIFY(!few.canvas().hasStripe());
        QVERIFY(few.canvas().overlays().map.isNull());
        Living stage(tests::makeTransformerRun(8));
        stage.view.setRunning(GraphView::Run::Sideways);
        stage.view.resize(1000, 460);
        stage.view.flush();
        GraphCanvas& canvas = stage.canvas();
        QVERIFY(canvas.hasStripe());
        const std::size_t nodes = stage.context.model.graph().nodeCount();
        for (const double position : {0.0, std::floor(stage.end() / 2), stage.end()}) {
            static_cast<void>(stage.at(position));
            QCOMPARE(canvas.stripe().modes.size(), nodes);
            std::array<std::uint32_t, 4> counts{};
            for (const StripeColumn& column : stripeColumns(canvas.stripe(), 50)) {
                QVERIFY(column.height >= 0 && column.height <= 1);
                for (std::size_t mode = 0; mode < counts.size(); ++mode) {
                    counts[mode] += column.counts[mode];
                }
            }
            std::array<std::uint32_t, 4> wanted{}; // every node once
            for (std::size_t i = 0; i < nodes; ++i) {
                ++wanted[static_cast<std::size_t>(stage.context.model.state().nodes[i].lastMode)];
            }
            QCOMPARE(counts, wanted);
        }
        const GraphCamera before = canvas.camera();
        const QRectF panel = canvas.overlays().map;
        QVERIFY(panel.bottom() <= canvas.overlays().free.top() + 1);
        QTest::mouseClick(&canvas, Qt::LeftButton, {}, QPoint(static_cast<int>(panel.right()) - 3, 40));
        const GraphCamera right = canvas.camera();
        QVERIFY(!(before == right));
        QVERIFY(!canvas.isFollowing());
        QTest::mouseClick(&canvas, Qt::LeftButton, {}, QPoint(static_cast<int>(panel.center().x()), 40));
        QVERIFY(!(canvas.camera() == right));
        stage.view.resize(1000, 260); // the cards come first
        stage.view.flush();
        QVERIFY(!canvas.hasStripe());
    }

    /// Between all nodes and the cards: a tile for each layer, with its nodes as the state has them.
    void likeGroupsHaveAStripe()
    {
        Living stage(tests::makeTransformerRun(8));
        stage.view.setRunning(GraphView::Run::Sideways);
        stage.view.resize(1000, 560);
        stage.view.flush();
        GraphCanvas& canvas = stage.canvas();
        QVERIFY(canvas.hasGroupStripe());
        const std::vector<LikeGroup>& groups = stage.scene().book->likeGroups;
        QCOMPARE(groups.size(), std::size_t{8});
        std::set<std::uint32_t> members;
        std::size_t count = 0;
        for (const LikeGroup& group : groups) {
            QVERIFY(std::is_sorted(group.nodes.begin(), group.nodes.end()));
            members.insert(group.nodes.begin(), group.nodes.end());
            count += group.nodes.size();
        }
        QCOMPARE(members.size(), count); // no node is in two
        for (const double position : {0.0, std::floor(stage.end() / 3), std::floor(stage.end() / 2), stage.end()}) {
            static_cast<void>(stage.at(position));
            const trace::RunState& state = stage.context.model.state();
            for (const LikeGroup& group : groups) {
                GroupFill wanted;
                for (const std::uint32_t node : group.nodes) {
                    const event::Mode mode = state.nodes[node].lastMode;
                    ++wanted.nodes;
                    wanted.done += mode == event::Mode::Normal || mode == event::Mode::Fulfilment ? 1 : 0;
                    wanted.asked += mode == event::Mode::Search ? 1 : 0;
                }
                QCOMPARE(fillOf(group, canvas.stripe()), wanted);
            }
            QCOMPARE(canvas.stripe().now, state.isFinished ? base::NodeId() : state.current);
        }
        const GroupTiles tiles = canvas.groupTiles();
        QVERIFY(tiles.count >= 6);
        QVERIFY(tiles.panel.bottom() <= canvas.overlays().free.top() + 1);
        for (std::size_t at = tiles.first; at < tiles.first + tiles.count; ++at) {
            QVERIFY(tiles.panel.contains(tiles.tile(at)));
            QCOMPARE(tiles.groupAt(tiles.tile(at).center().x()), std::optional(at));
        }
        const GraphCamera before = canvas.camera();
        for (const std::size_t at : {tiles.first + tiles.count - 1, tiles.first}) { // a click goes where the group is
            QTest::mouseClick(&canvas, Qt::LeftButton, {}, tiles.tile(at).center().toPoint());
            const std::vector<std::uint32_t>& nodes = groups[at].nodes;
            const std::int32_t box = stage.scene().boxOf(base::NodeId(nodes[nodes.size() / 2]));
            const auto middle = stage.scene().layout.nodes[static_cast<std::size_t>(box)].center();
            const QPointF away = canvas.camera().toScreen(middle) - canvas.overlays().free.center();
            QVERIFY(away.manhattanLength() < 1);
            QVERIFY(!(canvas.camera() == before));
        }
        // In a closed stack, too: it is opened, the other groups stay as they are.
        const auto& paths = stage.scene().book->drawn.groupPaths;
        const auto stack = static_cast<Index>(std::ranges::find(paths, "encoder") - paths.begin());
        emit canvas.groupToggled(stack);
        stage.view.flush();
        const base::NodeId inside(groups[5].nodes[groups[5].nodes.size() / 2]);
        const auto groupOf = [&](base::NodeId node) {
            return stage.scene().visible.nodes[static_cast<std::size_t>(stage.scene().boxOf(node))].group;
        };
        QCOMPARE(groupOf(inside), stack);
        QTest::mouseClick(&canvas, Qt::LeftButton, {}, canvas.groupTiles().tile(5).center().toPoint());
        stage.view.flush();
        QVERIFY(groupOf(inside) != stack);
        const auto middle = stage.scene().layout.nodes[static_cast<std::size_t>(stage.scene().boxOf(inside))].center();
        const QPointF away = canvas.camera().toScreen(middle) - canvas.overlays().free.center();
        QVERIFY(away.manhattanLength() < 1);
        stage.view.resize(1000, 360); // the cards come first
        stage.view.flush();
        QVERIFY(!canvas.hasGroupStripe());
        Living few(tests::makeTransformerRun(4));
        few.view.setRunning(GraphView::Run::Sideways);
        few.view.resize(1000, 560);
        few.view.flush();
        QVERIFY(!few.canvas().hasGroupStripe());
    }

    void picturesAreMadeAsideAndGoWithTheRun()
    {
        auto run = std::make_shared<trace::Run>();
        std::vector<base::HandleId> shown;
        for (std::uint32_t i = 0; i < 9; ++i) {
            run->tensors.push_back(tensor::Tensor::full(tensor::DType::Float32, {1, 3, 20 + 40 * i, 30}, 0.5 - i));
            shown.emplace_back(i);
        }
        run->tensors.emplace_back(); // one that was not kept
        SmallPictures pictures;
        QVERIFY(!pictures.canShow(shown.front()));
        pictures.setRun(run);
        QVERIFY(pictures.canShow(shown.front()) && !pictures.canShow(base::HandleId(9U)));
        QSignalSpy arrived(&pictures, &SmallPictures::arrived);
        pictures.beginRound();
        for (const base::HandleId handle_ : shown) {
            QVERIFY(pictures.picture(handle_, 48) == nullptr);
        }
        pictures.endRound();
        QTRY_VERIFY(!pictures.isBusy());
        QVERIFY(arrived.size() >= 2); // not all at once
        for (const base::HandleId handle_ : shown) {
            const QImage* image = pictures.picture(handle_, 48);
            QVERIFY(image != nullptr);
            QVERIFY(image->width() <= 48 && image->height() <= 48);
            QVERIFY(*image == smallPicture(run->tensors[handle_.index()], 48));
        }
        pictures.beginRound();
        static_cast<void>(pictures.picture(shown.front(), 96));
        pictures.endRound();
        pictures.setRun(nullptr);
        QTest::qWait(50);
        QCOMPARE(pictures.count(), std::size_t{0});
        QVERIFY(!pictures.isBusy());
    }

    void heatAddsUpWhatPassed()
    {
        Living stage(tests::makeResidualRun(12));
        const trace::Motion motion(*stage.handle.run);
        const std::uint64_t end = stage.handle.run->eventCount();
        const GraphHeat whole = heatOf(stage.scene(), motion, 0, end);
        const GraphHeat first = heatOf(stage.scene(), motion, 0, end / 2);
        const GraphHeat second = heatOf(stage.scene(), motion, end / 2, end);
        QVERIFY(whole.most > 0);
        for (std::size_t edge = 0; edge < whole.edges.size(); ++edge) {
            QVERIFY(std::abs(whole.edges[edge] - first.edges[edge] - second.edges[edge]) <
                    1e-4F * (1 + whole.edges[edge]));
        }
        QCOMPARE(whole.visits, std::uint64_t{stage.handle.run->visitCount()});
        QCOMPARE(heatOf(stage.scene(), motion, 5, 5).most, 0.0);
    }

    /// What moves in and around closed groups is added up, nothing is lost, and it is seen to move.
    void closedGroupsShowWhatMovesInThem()
    {
        Living stage(tests::makeTransformerRun(2));
        stage.view.collapseAll();
        stage.view.flush();
        const trace::Motion motion(*stage.handle.run);
        trace::MotionFrame frame;
        int inside = 0;
        int merged = 0;
        int searches = 0;
        int moved = 0;
        for (std::uint64_t step = 0; step < stage.handle.run->eventCount(); ++step) {
            const double moment = static_cast<double>(step) + 0.4;
            motion.frame(moment, trace::SpeedClass::Each, false, frame);
            const ShownPulses shown = shownPulses(stage.scene(), frame.pulses);
            double all = 0;
            std::size_t count = 0;
            for (const trace::Pulse& pulse : frame.pulses) {
                all += pulse.sum;
            }
            double seen = 0;
            for (std::size_t i = 0; i < shown.between.size(); ++i) {
                const trace::Pulse& pulse = shown.between[i];
                seen += pulse.sum;
                count += static_cast<std::size_t>(shown.counts[i]);
                merged += shown.counts[i] > 1 ? 1 : 0;
                QVERIFY(stage.scene().boxOf(pulse.way.front()) != stage.scene().boxOf(pulse.way.back()));
            }
            for (const InsidePulse& each : shown.inside) {
                seen += each.pulse.sum;
                count += static_cast<std::size_t>(each.count);
                QVERIFY(stage.scene().visible.nodes[static_cast<std::size_t>(each.box)].isGroup());
            }
            QCOMPARE(count, frame.pulses.size());
            QVERIFY(std::abs(all - seen) <= 1e-9 * (1 + std::abs(all)));
            for (const InsideSearch& each : searchesInside(stage.scene(), frame.searchLines)) {
                searches += each.count;
            }
            const bool isOnItsWay =
                std::ranges::any_of(shown.inside, [](const auto& each) { return each.pulse.travelled < 1; });
            inside += isOnItsWay ? 1 : 0;
            if (isOnItsWay && moved < 5) { // a picture of every half of the way
                ++moved;
                QVERIFY(stage.at(moment) != stage.at(static_cast<double>(step) + 0.7));
            }
        }
        QVERIFY2(inside > 10 && searches > 0, qPrintable(QStringLiteral("%1 %2").arg(inside).arg(searches)));
        QVERIFY(merged > 0);
        QCOMPARE(moved, 5);
    }

    /// With very many cards pulses are added up per pair of groups; nothing is lost.
    void aCrowdMergesPerPairOfGroups()
    {
        Living stage(tests::makeTransformerRun(2));
        const trace::Motion motion(*stage.handle.run);
        trace::MotionFrame frame;
        bool isFewer = false;
        for (std::uint64_t step = 0; step < stage.handle.run->eventCount(); ++step) {
            motion.frame(static_cast<double>(step) + 0.4, trace::SpeedClass::Each, false, frame);
            const ShownPulses apart = shownPulses(stage.scene(), frame.pulses);
            const ShownPulses crowd = shownPulses(stage.scene(), frame.pulses, true);
            double one = 0;
            double other = 0;
            for (const trace::Pulse& pulse : apart.between) {
                one += pulse.sum;
            }
            for (const trace::Pulse& pulse : crowd.between) {
                other += pulse.sum;
            }
            QVERIFY(std::abs(one - other) <= 1e-9 * (1 + std::abs(one)));
            QVERIFY(crowd.between.size() <= apart.between.size());
            isFewer = isFewer || crowd.between.size() < apart.between.size();
        }
        QVERIFY(isFewer);
    }

    void bothThemesAndNoRun()
    {
        Living stage(tests::makeNamedRun("alone"));
        static_cast<void>(stage.at(0));
        ThemeHub::instance().setChoice(ThemeChoice::Dark);
        Living other(tests::makeTransformerRun(1));
        const QImage dark = other.at(20.5);
        QVERIFY(QColor(dark.pixel(2, 2)).lightness() < 80);
    }
};

QTEST_MAIN(GraphLivingTest)
#include "tst_graphliving.moc"
