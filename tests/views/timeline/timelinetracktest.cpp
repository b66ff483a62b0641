// SPDX-License-Identifier: Apache-2.0
#include <QtTest>

#include "views/timeline/timelinetracks.h"

#include <array>
#include <random>

using namespace retro;
using event::Mode;
using views::TimeScale;

namespace
{

TimeScale scaleOf(double count, double width)
{
    TimeScale scale;
    scale.left = 100;
    scale.width = width;
    scale.count = count;
    scale.fit();
    return scale;
}

} // namespace

class TimelineTrackTest : public QObject
{
    Q_OBJECT
private slots:
    void pixelAndVisitAreInverse()
    {
        TimeScale scale = scaleOf(1000, 500);
        scale.zoomAt(350, 4);
        for (double pixel = 100; pixel <= 600; pixel += 7) {
            QVERIFY(std::abs(scale.x(scale.visitAt(pixel)) - pixel) < 1e-9);
        }
        QCOMPARE(scale.visitUnder(-1e9), 0U);
        QCOMPARE(scale.visitUnder(1e9), 999U);
    }

    void zoomKeepsTheVisitUnderThePointerAndStaysInside()
    {
        std::mt19937 random(7);
        TimeScale scale = scaleOf(5000, 700);
        for (int i = 0; i < 300; ++i) {
            const double pixel = 100 + static_cast<double>(random() % 700);
            const double before = scale.visitAt(pixel);
            const double span = scale.to - scale.from;
            scale.zoomAt(pixel, random() % 2 == 0 ? 1.4 : 0.7);
            QVERIFY(scale.from >= 0 && scale.to <= 5000.0 + 1e-9);
            const bool isFree =
                scale.from > 1e-9 && scale.to < 5000 - 1e-9 && std::abs(scale.to - scale.from - span) > 1e-9;
            QVERIFY(!isFree || std::abs(scale.visitAt(pixel) - before) < 1e-6);
            scale.pan(static_cast<double>(random() % 200) - 100);
            QVERIFY(scale.from >= 0 && scale.to <= 5000.0 + 1e-9);
        }
    }

    /// What is folded is narrow, its visits can still be told, and the rest has the room.
    void aFoldedStretchIsNarrow()
    {
        TimeScale scale = scaleOf(10'000, 500);
        scale.folded = 9'000;
        scale.fit();
        QVERIFY(scale.x(9'000) - 100 < 25);
        QVERIFY(std::abs(scale.x(10'000) - 600) < 1e-9);
        for (double visit = 0; visit <= 10'000; visit += 97) {
            QVERIFY(std::abs(scale.visitAt(scale.x(visit)) - visit) < 1e-6);
        }
        QCOMPARE(scale.visitUnder(scale.x(4'500) + 1e-6), 4'500U);
        scale.show(9'100, 9'200);
        QVERIFY(std::abs(scale.x(9'100) - 100) < 1e-6 && std::abs(scale.x(9'200) - 600) < 1e-6);
        scale.reveal(10);
        QVERIFY(scale.x(10) >= 100);
        // A column of pixels counts nothing of what is folded.
        const std::vector<Mode> modes(10'000, Mode::Normal);
        scale.fit();
        std::uint32_t shown = 0;
        for (const views::ModeCell& cell : views::modeCells(modes, scale)) {
            shown += cell.count;
        }
        QCOMPARE(shown, 1'000U);
    }

    void revealBringsAVisitIntoSight()
    {
        TimeScale scale = scaleOf(1000, 500);
        scale.zoomAt(100, 50);
        scale.reveal(700);
        QVERIFY(scale.from <= 700 && scale.to >= 701);
        scale.reveal(3);
        QVERIFY(scale.from <= 3 && scale.to >= 4);
    }

    /// Where visits are thinner than a pixel, every visit is in one column.
    void sharesCountEveryVisitOnce()
    {
        std::vector<Mode> modes;
        std::array<std::uint32_t, 4> expected{};
        std::mt19937 random(2);
        for (int i = 0; i < 5000; ++i) {
            modes.push_back(static_cast<Mode>(1 + random() % 3));
            ++expected[static_cast<std::size_t>(modes.back())];
        }
        std::array<std::uint32_t, 4> counted{};
        const auto columns = views::modeShares(modes, scaleOf(5000, 300));
        QVERIFY(columns.size() >= 299 && columns.size() <= 301);
        for (const views::ModeShare& column : columns) {
            QVERIFY(column.total() > 0);
            for (std::size_t mode = 0; mode < counted.size(); ++mode) {
                counted[mode] += column.counts[mode];
            }
        }
        QVERIFY(counted == expected);
        QVERIFY(views::modeShares(modes, scaleOf(200, 300)).empty());
    }

    void cellsCoverEveryVisitOnce()
    {
        std::vector<Mode> modes;
        std::mt19937 random(3);
        for (int i = 0; i < 3000; ++i) {
            modes.push_back(static_cast<Mode>(1 + random() % 3));
        }
        for (const double width : {400.0, 9000.0}) {
            const TimeScale scale = scaleOf(3000, width);
            std::uint32_t covered = 0;
            double right = scale.left - 1;
            for (const views::ModeCell& cell : views::modeCells(modes, scale)) {
                covered += cell.count;
                QVERIFY(cell.left >= right - 1.0001);
                right = cell.right;
            }
            QCOMPARE(covered, 3000U);
        }
    }

    void aColumnShowsItsMostTellingMode()
    {
        std::vector<Mode> modes(1000, Mode::Normal);
        modes[500] = Mode::Fulfilment;
        const auto cells = views::modeCells(modes, scaleOf(1000, 100));
        QCOMPARE(
            std::count_if(cells.begin(), cells.end(), [](const auto& cell) { return cell.mode == Mode::Fulfilment; }),
            1);
    }

    void stepPointsKeepThePeak()
    {
        std::vector<double> values(2000, 1.0);
        values[1234] = 17;
        double top = 0;
        for (const views::StepPoint& point : views::stepPoints(values, scaleOf(2000, 150))) {
            top = std::max(top, point.value);
        }
        QCOMPARE(top, 17.0);
    }

    void chartsShareTheRoomAndNeverOverlap()
    {
        for (const double height : {150.0, 200.0, 240.0, 500.0}) {
            const views::TimelineTracks tracks = views::layoutTracks(700, height, 1);
            QVERIFY(tracks.frontier.top() > tracks.markers.bottom());
            QVERIFY(tracks.bytes.top() > tracks.frontier.bottom());
            QVERIFY(tracks.depth.isEmpty() || tracks.depth.top() > tracks.bytes.bottom());
            QVERIFY(tracks.bottom() <= height);
            QVERIFY(tracks.events.isEmpty() || (tracks.events.top() > tracks.markers.bottom() &&
                                                tracks.events.bottom() < tracks.frontier.top() - 16));
        }
        for (const std::uint32_t rows : {0U, 5U, 8U}) { // a fourth chart comes last, and then there is room for it
            for (double height = 150; height < 700; height += 10) {
                const views::TimelineTracks tracks = views::layoutTracks(700, height, 1, rows);
                QVERIFY(tracks.bottom() <= height);
                QVERIFY(tracks.events.isEmpty() || !tracks.depth.isEmpty());
                QVERIFY(tracks.events.isEmpty() || tracks.events.top() > tracks.promises.bottom());
                QVERIFY(tracks.events.isEmpty() || tracks.events.height() >= 23);
            }
        }
        QVERIFY(!views::layoutTracks(700, 420, 1, 5).events.isEmpty());
        QVERIFY(views::layoutTracks(700, 150, 1).depth.isEmpty());
        QVERIFY(!views::layoutTracks(700, 240, 1).depth.isEmpty());
    }

    void axesAreRound()
    {
        QCOMPARE(views::axisTop(0), 1.0);
        QCOMPARE(views::axisTop(7), 10.0);
        QCOMPARE(views::axisTop(37), 40.0);
        QCOMPARE(views::axisTop(400), 400.0);
        QCOMPARE(views::rulerStep(10, 64), 10U);
        QCOMPARE(views::rulerStep(0.01, 64), 10000U);
    }
};

QTEST_GUILESS_MAIN(TimelineTrackTest)
#include "timelinetracktest.moc"
