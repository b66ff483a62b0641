// SPDX-License-Identifier: Apache-2.0
#include <QtTest>

#include "core/trace/pace.h"
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/paint/fonts.h"
#include "views/common/widgets/rangechip.h"
#include "views/timeline/frontiermodes.h"
#include "views/timeline/frontierview.h"
#include "views/timeline/frontierwords.h"
#include "views/timeline/promisebars.h"
#include "views/timeline/timelinepane.h"
#include "views/timeline/timelineview.h"

#include <QMenu>
#include <QPainter>
#include <QSignalSpy>
#include <QTemporaryDir>

#include <memory>

using namespace retro;
using tests::TinyContext;
using tests::ViewContext;

class TimelineViewTest : public QObject
{
    Q_OBJECT
private slots:
    void initTestCase() { tests::installLook(); }

    void emptyWithoutARun()
    {
        ViewContext context;
        views::TimelineView view(context.model, context.cursor, context.selection);
        tests::showAt(view, 700, 240);
        QVERIFY(!view.pane().isVisibleTo(&view));
        QTemporaryDir folder;
        QVERIFY(!view.exportTo(folder.filePath("t.svg").toStdString()).ok());
    }

    /// A row for every promise that is open at once, and no two of a row at the same time.
    void promisesAreBarsFromOpeningToFulfilment()
    {
        TinyContext context;
        const views::PromiseBars bars = views::promiseBars(context.model.run(), context.model.series());
        QCOMPARE(bars.bars.size(), context.model.series().promisesOpened.size());
        QVERIFY(bars.bars.size() >= 2);
        std::size_t most = 0;
        for (std::uint64_t position = 0; position <= context.cursor.end(); ++position) {
            context.cursor.moveTo(position);
            std::size_t open = 0;
            for (const trace::PromiseState& promise : context.model.state().promises) {
                open += promise.isComplete ? 0 : 1;
            }
            const auto shown = std::ranges::count_if(bars.bars, [position](const views::PromiseBar& bar) {
                return bar.openedAt < position && position <= bar.fulfilledAt;
            });
            QCOMPARE(static_cast<std::size_t>(shown), open);
            most = std::max(most, open);
        }
        QVERIFY(bars.rows >= most && bars.rows <= views::kMostBarRows);
        for (std::size_t i = 0; i < bars.bars.size(); ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                const views::PromiseBar& a = bars.bars[i];
                const views::PromiseBar& b = bars.bars[j];
                QVERIFY(a.row != b.row || a.from > b.to || b.from > a.to);
            }
        }
    }

    void aBarSaysWhatItIs()
    {
        TinyContext context;
        views::TimelineView view(context.model, context.cursor, context.selection);
        tests::showAt(view, 700, 420);
        view.pane().resize(700, 400);
        const views::TimelinePane& pane = view.pane();
        const views::TimelineTracks tracks = pane.tracks();
        QVERIFY2(!tracks.promises.isEmpty(), qPrintable(QStringLiteral("%1 rows in %2 pixels, scale %3")
                                                            .arg(pane.promises().rows)
                                                            .arg(pane.height())
                                                            .arg(views::fonts::scale())));
        QVERIFY(tracks.promises.bottom() <= tracks.frontier.top());
        QVERIFY(tracks.promises.top() >= tracks.markers.bottom());
        const views::PromiseBar& bar = pane.promises().bars.front();
        const double pixels = tracks.modes.width() / tests::kTinyVisits;
        const QPointF at(tracks.modes.left() + (bar.from + 0.7) * pixels,
                         tracks.promises.top() + (bar.row + 0.5) * views::fonts::px(views::kPromiseRow));
        const QString tip = pane.tipAt(at);
        QVERIFY2(tip.startsWith(QStringLiteral("P%1 at ").arg(bar.promise)) &&
                     tip.contains(QStringLiteral("fulfilled at visit %1").arg(bar.to + 1)),
                 qPrintable(tip));
        view.pane().resize(700, 150); // the charts come first
        QVERIFY(pane.tracks().promises.isEmpty());
    }

    void whatComesLaterIsPale()
    {
        TinyContext context;
        views::TimelineView view(context.model, context.cursor, context.selection);
        view.resize(700, 420);
        view.show();
        context.cursor.moveTo(context.cursor.end());
        view.flush();
        view.pane().resize(700, 400);
        const QImage all = view.pane().grab().toImage();
        context.cursor.moveTo(0);
        view.flush();
        const QImage none = view.pane().grab().toImage();
        const auto meanDarkness = [&](const QImage& image) {
            const QRect box = view.pane().tracks().frontier.toRect();
            double sum = 0;
            for (int y = box.top(); y < box.bottom(); ++y) {
                for (int x = box.left(); x < box.right(); ++x) {
                    sum += 255 - qGray(image.pixel(x, y));
                }
            }
            return sum;
        };
        QVERIFY(meanDarkness(none) < 0.6 * meanDarkness(all));
    }

    /// Adding up single visits gives what the whole stretch has.
    void stretchAddsUp()
    {
        TinyContext context;
        const trace::Run& run = context.model.run();
        const trace::VisitSeries& series = context.model.series();
        const auto whole = views::stretchFigures(run, series, 0, tests::kTinyVisits - 1);
        std::uint64_t opened = 0;
        std::uint64_t fulfilled = 0;
        std::uint32_t visits = 0;
        std::uint32_t most = 0;
        for (std::uint32_t visit = 0; visit < tests::kTinyVisits; ++visit) {
            const auto one = views::stretchFigures(run, series, visit, visit);
            opened += one.opened;
            fulfilled += one.fulfilled;
            most = std::max(most, one.mostFrontier);
            QCOMPARE(one.leastFrontier, one.mostFrontier);
            visits += one.visits[1] + one.visits[2] + one.visits[3];
        }
        QCOMPARE(visits, std::uint32_t{tests::kTinyVisits});
        QCOMPARE(whole.visits[1] + whole.visits[2] + whole.visits[3], visits);
        QCOMPARE(whole.opened, opened);
        QCOMPARE(whole.fulfilled, fulfilled);
        QCOMPARE(whole.mostFrontier, most);
        QVERIFY(opened > 0 && whole.meanFrontier > 0 && whole.meanFrontier <= most);
    }

    /// The line goes on between two visits and is where it stands at rest when one ends.
    void lineGlides()
    {
        TinyContext context;
        const trace::Run& run = context.model.run();
        const trace::Pace pace(run);
        double before = 0;
        for (double moment = static_cast<double>(run.visitStart.front()) + 0.5;
             moment < static_cast<double>(run.eventCount()); moment += 1) {
            const double place = views::cursorVisit(run, pace, moment);
            QVERIFY(place >= before);
            before = place;
        }
        const auto end = static_cast<double>(run.endOfVisit(3));
        QVERIFY(std::abs(views::cursorVisit(run, pace, end - 1e-9) - views::cursorVisit(run, run.endOfVisit(3))) <
                1e-6);
    }

    void frontierListHasWhoTheStateHas()
    {
        TinyContext context;
        views::FrontierView view(context.model, context.cursor, context.selection);
        view.show();
        for (std::uint64_t position = 0; position <= context.model.run().eventCount(); position += 3) {
            context.cursor.moveTo(position);
            view.flush();
            QVERIFY(view.table().records() == context.model.state().frontier());
            QCOMPARE(view.table().rowCount(), static_cast<int>(context.model.state().frontier().size()));
        }
        QVERIFY(std::holds_alternative<std::monostate>(context.selection.thing())); // listing chooses nothing
        int operands = 0; // values of the forward pass: they have no relevance to add up
        for (std::uint64_t position = 0; position <= context.model.run().eventCount(); ++position) {
            context.cursor.moveTo(position);
            view.flush();
            for (int row = 0; row < view.table().rowCount(); ++row) {
                const auto text = [&](int column) { return view.table().index(row, column).data().toString(); };
                const bool isOperand = text(views::FrontierTable::StateColumn) == QStringLiteral("operand");
                QCOMPARE(text(views::FrontierTable::SumColumn) == QStringLiteral("–"), isOperand);
                operands += isOperand ? 1 : 0;
            }
        }
        QVERIFY(operands > 0);
    }

    void scrubbingMovesTheCursorToTheEndOfTheVisit()
    {
        TinyContext context;
        views::TimelineView view(context.model, context.cursor, context.selection);
        tests::showAt(view, 700, 240);
        const auto tracks = view.pane().tracks();
        for (const std::uint32_t visit : {0U, 4U, 9U}) {
            const double x = tracks.modes.left() + tracks.modes.width() * (visit + 0.5) / tests::kTinyVisits;
            QTest::mousePress(&view.pane(), Qt::LeftButton, {}, QPoint(static_cast<int>(x), 30));
            QTest::mouseRelease(&view.pane(), Qt::LeftButton, {}, QPoint(static_cast<int>(x), 30));
            QCOMPARE(context.cursor.position(), tests::endOfVisit(context.model, visit));
        }
    }

    void arrowsStepAndStepBackIsTheMirror()
    {
        TinyContext context;
        views::TimelineView view(context.model, context.cursor, context.selection);
        tests::showAt(view, 700, 240);
        context.cursor.moveTo(0);
        std::vector<std::uint64_t> there{0};
        for (std::uint32_t i = 0; i < tests::kTinyVisits; ++i) {
            QTest::keyClick(&view.pane(), Qt::Key_Right);
            there.push_back(context.cursor.position());
        }
        QCOMPARE(there.back(), context.cursor.end());
        for (std::size_t i = there.size() - 1; i-- > 0;) {
            QTest::keyClick(&view.pane(), Qt::Key_Left);
            QCOMPARE(context.cursor.position(), there[i]);
        }
    }

    void draggingSeeksOncePerFrameAndEndsAtTheNewest()
    {
        TinyContext context;
        views::TimelineView view(context.model, context.cursor, context.selection);
        tests::showAt(view, 700, 240);
        const auto tracks = view.pane().tracks();
        const auto at = [&](double visit) {
            return QPoint(static_cast<int>(tracks.modes.left() + tracks.modes.width() * visit / tests::kTinyVisits),
                          30);
        };
        const QSignalSpy seeks(&context.cursor, &views::Cursor::moved);
        QTest::mousePress(&view.pane(), Qt::LeftButton, {}, at(0.5));
        for (int i = 5; i <= 75; ++i) {
            QMouseEvent move(QEvent::MouseMove, at(i / 10.0), view.pane().mapToGlobal(at(i / 10.0)), Qt::NoButton,
                             Qt::LeftButton, {});
            QCoreApplication::sendEvent(&view.pane(), &move);
        }
        QVERIFY(seeks.count() <= 2);
        QTest::mouseRelease(&view.pane(), Qt::LeftButton, {}, at(7.5));
        QCOMPARE(context.cursor.position(), tests::endOfVisit(context.model, 7));
    }

    void aDragOnTheRulerChoosesARange()
    {
        TinyContext context;
        views::TimeRange range;
        views::TimelineView view(context.model, context.cursor, context.selection);
        view.followRange(range);
        view.resize(700, 260);
        view.show();
        QVERIFY(QTest::qWaitForWindowExposed(&view)); // the pane has its size
        view.flush();
        views::TimelinePane& pane = view.pane();
        const auto tracks = pane.tracks();
        const auto at = [&](double visit) {
            return QPoint(static_cast<int>(tracks.ruler.left() + tracks.ruler.width() * visit / tests::kTinyVisits),
                          static_cast<int>(tracks.ruler.center().y()));
        };
        const auto drag = [&](double from, double to) {
            QTest::mousePress(&pane, Qt::LeftButton, {}, at(from));
            QMouseEvent move(QEvent::MouseMove, at(to), pane.mapToGlobal(at(to)), Qt::NoButton, Qt::LeftButton, {});
            QCoreApplication::sendEvent(&pane, &move);
            QTest::mouseRelease(&pane, Qt::LeftButton, {}, at(to));
        };
        const std::uint64_t before = context.cursor.position();
        const QImage plain = pane.grab().toImage();
        drag(6.5, 2.5);
        QVERIFY(range.visits() == (views::VisitRange{2, 6}));
        QCOMPARE(context.cursor.position(), before); // time stays
        QCOMPARE(range.text(), QStringLiteral("visits 3 – 7"));
        QVERIFY(view.subject().contains(range.text()));
        QVERIFY(pane.grab().toImage() != plain);
        for (const auto kind : {views::ThemeKind::Light, views::ThemeKind::Dark}) {
            (void)tests::grab(view, {900, 260}, kind, QStringLiteral("timeline-range"));
        }
        views::ThemeHub::instance().setChoice(views::ThemeChoice::Light);
        view.resize(700, 260);
        QTest::mouseClick(&pane, Qt::LeftButton, {}, at(4.5)); // a click seeks
        QCOMPARE(context.cursor.position(), tests::endOfVisit(context.model, 4));
        QVERIFY(range.visits().has_value());
        views::RangeChip chip;
        chip.follow(range);
        QCOMPARE(chip.text(), range.text());
        QTest::mouseClick(&chip, Qt::LeftButton);
        QVERIFY(!range.visits().has_value());
        QVERIFY(chip.isHidden());
    }

    void theRangeCanBeChosenByCommands()
    {
        TinyContext context;
        views::TimeRange range;
        views::TimelineView view(context.model, context.cursor, context.selection);
        view.followRange(range);
        view.resize(700, 260);
        view.show();
        QVERIFY(QTest::qWaitForWindowExposed(&view)); // the pane has its size
        view.flush();
        const auto give = [&](const char* id) {
            const std::unique_ptr<QMenu> menu(view.pane().makeMenu());
            auto* action = menu->findChild<QAction*>(QLatin1String(id));
            const bool canBe = action->isEnabled();
            action->trigger();
            return canBe;
        };
        QVERIFY(!give("timeline.rangeclear"));
        QVERIFY(!give("timeline.zoomrange"));
        context.cursor.moveTo(tests::endOfVisit(context.model, 3));
        QVERIFY(give("timeline.rangefrom"));
        QVERIFY(range.visits() == (views::VisitRange{3, tests::kTinyVisits - 1}));
        context.cursor.moveTo(tests::endOfVisit(context.model, 8));
        QVERIFY(give("timeline.rangeto"));
        QVERIFY(range.visits() == (views::VisitRange{3, 8}));
        const auto tracks = view.pane().tracks();
        QVERIFY(give("timeline.zoomrange"));
        QCOMPARE(view.pane().positionAt(tracks.modes.left() + 2), tests::endOfVisit(context.model, 3));
        QCOMPARE(view.pane().positionAt(tracks.modes.right() - 2), tests::endOfVisit(context.model, 8));
        QVERIFY(give("timeline.fit"));
        QCOMPARE(view.pane().positionAt(tracks.modes.left() + 2), tests::endOfVisit(context.model, 0));
        QVERIFY(give("timeline.rangeclear"));
        QVERIFY(!range.visits().has_value());
    }

    void positionsOfARangeStayInTheRun()
    {
        TinyContext context;
        const trace::Run& run = context.model.run();
        views::TimeRange range;
        QCOMPARE(range.positionsIn(run).end, run.eventCount());
        range.set(2, 2);
        QCOMPARE(range.text(), QStringLiteral("visit 3"));
        QCOMPARE(range.positionsIn(run).begin, run.visitStart[2]);
        QCOMPARE(range.positionsIn(run).end, run.endOfVisit(2));
        range.set(8, 4000);
        QCOMPARE(range.positionsIn(run).end, run.eventCount());
    }

    void markersAreThereAndTakeTheCursor()
    {
        TinyContext context;
        views::BreakpointList list(context.model);
        views::TimelineView view(context.model, context.cursor, context.selection);
        view.followBreakpoints(list);
        tests::showAt(view, 700, 240);
        const auto count = [&](views::MarkKind kind) {
            const auto& marks = view.pane().marks();
            return std::count_if(marks.begin(), marks.end(), [&](const auto& mark) { return mark.kind == kind; });
        };
        QCOMPARE(count(views::MarkKind::Opened), 2);
        QCOMPARE(count(views::MarkKind::Fulfilled), 2);
        QCOMPARE(count(views::MarkKind::Violation), 0);
        QVERIFY(list.add(QStringLiteral("op Gemm")).ok());
        QTRY_COMPARE_WITH_TIMEOUT(count(views::MarkKind::Breakpoint), 1, 30'000);
        view.setBookmarks({tests::endOfVisit(context.model, 8)});
        QCOMPARE(count(views::MarkKind::Bookmark), 1);
        const auto tracks = view.pane().tracks();
        const QPointF at(tracks.markers.left() + tracks.markers.width() * 0.5 / tests::kTinyVisits,
                         tracks.markers.center().y());
        QVERIFY(view.pane().tipAt(at).contains(QStringLiteral("breakpoint")));
        QTest::mouseClick(&view.pane(), Qt::LeftButton, {}, at.toPoint());
        QCOMPARE(context.cursor.position(), list.stops().front());
        list.clear();
        QTRY_COMPARE_WITH_TIMEOUT(count(views::MarkKind::Breakpoint), 0, 30'000);
    }

    void frontierNamesItsMembers()
    {
        TinyContext context;
        context.cursor.moveTo(tests::endOfVisit(context.model, 4));
        const trace::RunState& state = context.model.state();
        const QStringList all = views::frontierWords(context.model.run(), state);
        QCOMPARE(static_cast<std::size_t>(all.size()), state.frontier().size());
        QVERIFY(all.join(QLatin1Char(' ')).contains(QStringLiteral("held by a promise")));
        QVERIFY(views::frontierWords(context.model.run(), state, 1).last().startsWith(QStringLiteral("and ")));
    }

    void theFrontierIsSplitByTheModeInWhichItsMembersCame()
    {
        TinyContext context;
        const views::FrontierModes modes(context.model.run());
        const trace::VisitSeries& series = context.model.series();
        QCOMPARE(modes.visitCount(), static_cast<std::size_t>(tests::kTinyVisits));
        for (std::size_t visit = 0; visit < modes.visitCount(); ++visit) {
            const std::uint32_t sum = modes.width(visit, event::Mode::Normal) +
                                      modes.width(visit, event::Mode::Search) +
                                      modes.width(visit, event::Mode::Fulfilment);
            QCOMPARE(sum, series.frontierLanded[visit] + series.frontierHeld[visit]);
        }
        // The fulfilment of conv2 lands its part at relu1; the search before it brought the relevance of both branches.
        std::uint32_t bySearch = 0;
        std::uint32_t byFulfilment = 0;
        for (std::size_t visit = 0; visit < modes.visitCount(); ++visit) {
            bySearch = std::max(bySearch, modes.width(visit, event::Mode::Search));
            byFulfilment = std::max(byFulfilment, modes.width(visit, event::Mode::Fulfilment));
        }
        QVERIFY(bySearch > 0);
        QCOMPARE(byFulfilment, 1U);
        QCOMPARE(modes.width(modes.visitCount(), event::Mode::Normal), 0U); // beyond the end
    }

    void aLowPaneSaysWhatIsHidden()
    {
        TinyContext context;
        views::TimelineView view(context.model, context.cursor, context.selection);
        tests::showAt(view, 700, 260);
        const QPointF name(5, 60);
        QTRY_VERIFY_WITH_TIMEOUT(view.pane().hiddenTracks().isEmpty(), 30'000);
        QVERIFY(view.pane().tipAt(name).isEmpty());
        const QString usual = view.subject();
        const QSignalSpy told(&view, &views::View::captionChanged);
        view.resize(700, 160);
        QCOMPARE(told.count(), 1);
        QCOMPARE(view.subject(), view.pane().hiddenTracks());
        QVERIFY(view.subject() != usual);
        QVERIFY(view.pane().tipAt(name).contains(QStringLiteral("Waiting")));
        view.resize(700, 260);
        QCOMPARE(view.subject(), usual);
    }

    void theCursorLineStaysBehindTheLegends()
    {
        TinyContext context;
        context.cursor.moveTo(context.cursor.end());
        views::TimelineView view(context.model, context.cursor, context.selection);
        view.flush();
        const QImage image = tests::grab(view, {700, 260}, views::ThemeKind::Light, QStringLiteral("timeline-end"));
        const auto tracks = view.pane().tracksOf({700, 260});
        const QColor line = views::Theme::of(views::ThemeKind::Light)[views::Role::Accent];
        const double ratio = image.width() / 700.0;
        const auto hasLine = [&](double y) {
            const QRect row(0, static_cast<int>(y * ratio), image.width(), 1);
            return tests::hasColor(image.copy(row), line);
        };
        QVERIFY(hasLine(tracks.markers.center().y() - 6)); // between marks
        QVERIFY(!hasLine(tracks.frontier.top() - views::fonts::px(9)));
        QVERIFY(!hasLine(tracks.depth.top() - views::fonts::px(9)));
        QVERIFY(hasLine(tracks.depth.center().y()));
    }

    void showsModesInBothThemes()
    {
        TinyContext context;
        views::TimelineView view(context.model, context.cursor, context.selection);
        context.cursor.moveTo(tests::endOfVisit(context.model, 5));
        for (const auto kind : {views::ThemeKind::Light, views::ThemeKind::Dark}) {
            view.flush();
            const QImage image = tests::grab(view, {900, 260}, kind, QStringLiteral("timeline"));
            const views::Theme& theme = views::Theme::of(kind);
            QVERIFY(tests::hasColor(image, theme[views::Role::Accent]));
            QVERIFY(tests::hasColor(image, theme.mode(event::Mode::Search).tint));
            QVERIFY(tests::hasColor(image, theme.mode(event::Mode::Fulfilment).tint));
            QVERIFY(tests::hasColor(image, theme.mode(event::Mode::Normal).tint));
        }
    }

    /// What is on screen is kept while the cursor moves, and is what a fresh paint gives after every other change.
    void theKeptPictureIsThatOfAFreshPaint()
    {
        views::ThemeHub::instance().setChoice(views::ThemeChoice::Light);
        TinyContext context;
        views::TimeRange range;
        views::TimelineView view(context.model, context.cursor, context.selection);
        view.followRange(range);
        view.resize(900, 260);
        view.show();
        QVERIFY(QTest::qWaitForWindowExposed(&view)); // the pane has its size
        view.flush();
        views::TimelinePane& pane = view.pane();
        const auto fresh = [&pane] {
            QImage image(pane.size(), QImage::Format_RGB32);
            QPainter painter(&image);
            pane.paint(painter, QSizeF(pane.size()), views::theme(&pane));
            return image;
        };
        const auto shown = [&pane] { return pane.grab().toImage().convertToFormat(QImage::Format_RGB32); };
        QImage last = shown();
        QCOMPARE(last, fresh());
        int paintings = pane.still().paintings();
        const auto looksOther = [&](int more) {
            view.flush();
            const QImage now = shown();
            const bool isRight = now == fresh() && now != last && pane.still().paintings() == paintings + more;
            last = now;
            paintings = pane.still().paintings();
            return isRight;
        };
        for (const std::uint32_t visit : {2U, 3U, 7U}) {
            context.cursor.moveTo(tests::endOfVisit(context.model, visit));
            QVERIFY(looksOther(0));
        }
        context.selection.selectNode(base::NodeId(std::uint32_t{tests::kConv1}));
        view.flush();
        QCOMPARE(shown(), last);
        QCOMPARE(pane.still().paintings(), paintings);
        range.set(2, 6);
        QVERIFY(looksOther(1));
        range.clear();
        QVERIFY(looksOther(1));
        const auto tracks = pane.tracks();
        const QPointF at(tracks.modes.left() + 20, tracks.modes.center().y());
        QWheelEvent zoom(at, pane.mapToGlobal(at), {}, {0, 480}, Qt::NoButton, {}, Qt::NoScrollPhase, false);
        QCoreApplication::sendEvent(&pane, &zoom);
        QVERIFY(looksOther(1));
        context.cursor.moveTo(context.cursor.end()); // out of sight: the scale follows it
        QVERIFY(looksOther(1));
        view.setBookmarks({tests::endOfVisit(context.model, 8)});
        QVERIFY(looksOther(1));
        views::ThemeHub::instance().setChoice(views::ThemeChoice::Dark);
        QVERIFY(looksOther(1));
        views::ThemeHub::instance().setChoice(views::ThemeChoice::Light);
        QVERIFY(looksOther(1));
        views::fonts::install(1.25);
        QVERIFY(looksOther(1));
        views::fonts::install(1);
        QVERIFY(looksOther(1));
        views::RunHandle other = tests::makeTinyRun();
        auto longer = std::make_shared<trace::Run>(*other.run);
        longer->bookmarks.push_back({tests::endOfVisit(context.model, 3), "here"});
        other.run = longer;
        context.model.setRun(other, tests::makeTinyInput());
        view.setBookmarks({tests::endOfVisit(context.model, 3)});
        view.flush();
        QCOMPARE(shown(), fresh());
        QVERIFY(pane.still().paintings() > paintings);
    }

    /// Bars of promises are painted anew when one is opened or fulfilled; those that wait grow with the line.
    void barsAreKeptUntilAPromiseChanges()
    {
        TinyContext context;
        views::TimelineView view(context.model, context.cursor, context.selection);
        view.resize(700, 420);
        view.show();
        QVERIFY(QTest::qWaitForWindowExposed(&view));
        views::TimelinePane& pane = view.pane();
        QVERIFY(!pane.tracks().promises.isEmpty());
        const auto opened = [&](std::uint64_t position) {
            std::pair<int, int> counts;
            for (const views::PromiseBar& bar : pane.promises().bars) {
                counts.first += bar.openedAt < position ? 1 : 0;
                counts.second += bar.fulfilledAt < position ? 1 : 0;
            }
            return counts;
        };
        const auto shown = [&pane] { return pane.grab().toImage().convertToFormat(QImage::Format_RGB32); };
        shown();
        const int stills = pane.still().paintings();
        int changes = 0;
        for (std::uint64_t position = 0; position <= context.cursor.end(); ++position) {
            context.cursor.moveTo(position);
            view.flush();
            shown();
            const int paintings = pane.bars().paintings();
            for (const double part : {0.25, 0.75}) { // between two events only the line moves
                if (position < context.cursor.end()) {
                    context.cursor.glideTo(static_cast<double>(position) + part);
                }
                QImage fresh(pane.size(), QImage::Format_RGB32);
                QPainter painter(&fresh);
                pane.paint(painter, QSizeF(pane.size()), views::theme(&pane));
                painter.end();
                QCOMPARE(shown(), fresh);
            }
            QCOMPARE(pane.bars().paintings(), paintings);
            if (position == 0) {
                continue;
            }
            context.cursor.moveTo(position - 1);
            view.flush();
            shown();
            const bool isOther = opened(position) != opened(position - 1);
            QCOMPARE(pane.bars().paintings() > paintings, isOther);
            changes += isOther ? 1 : 0;
        }
        QVERIFY(changes >= 2);
        QCOMPARE(pane.still().paintings(), stills);
    }

    void exportsWellFormedFiles()
    {
        TinyContext context;
        views::TimelineView view(context.model, context.cursor, context.selection);
        tests::showAt(view, 700, 240);
        QTemporaryDir folder;
        for (const QString& format : QStringLiteral("svg png pdf csv").split(QLatin1Char(' '))) {
            const QString path = folder.filePath("timeline." + format);
            QVERIFY(view.exportTo(path.toStdString()).ok());
            QVERIFY2(QFile(path).size() > 200, qPrintable(format));
        }
        QFile csv(folder.filePath("timeline.csv"));
        QVERIFY(csv.open(QIODevice::ReadOnly));
        QCOMPARE(csv.readAll().count('\n'), static_cast<int>(tests::kTinyVisits) + 1);
    }
};

QTEST_MAIN(TimelineViewTest)
#include "timelineviewtest.moc"
