// SPDX-License-Identifier: Apache-2.0
// Geometry of the views of LUT layers: every kernel and buffer of every schedule is drawn once, nothing overlaps, and
// the modelled times keep the order of streams and waits.
#include "kernels/lut/traffic.h"
#include "views/lut/flowpicture.h"
#include "views/lut/streamtimes.h"

#include <QtTest>

#include <algorithm>
#include <set>
#include <span>
#include <tuple>

using namespace retro;
using namespace retro::views;

namespace
{

lut::Schedule scheduleOf(bool isSequence, bool isSparse, lut::Path path, lut::Pass pass)
{
    lut::ScheduleRequest request;
    request.shape = {8, 4, 3, 2, isSequence ? 1U : 0U, isSequence ? 5U : 1U, isSequence};
    request.isSparse = isSparse;
    request.synapses = isSparse ? 40 : 0;
    request.maxForwardGroups = isSparse ? 2 : 0;
    request.batch = 16;
    request.path = path;
    request.pass = pass;
    lut::Schedule schedule;
    return lut::makeSchedule(request, schedule).ok() ? schedule : lut::Schedule{};
}

template <class F>
void forAll(const F& f)
{
    for (const bool isSequence : {false, true}) {
        for (const bool isSparse : {false, true}) {
            for (const lut::Path path : {lut::Path::Fused, lut::Path::Documented}) {
                std::vector<lut::Schedule> passes;
                for (const lut::Pass pass : {lut::Pass::Forward, lut::Pass::Backward, lut::Pass::Relevance}) {
                    passes.push_back(scheduleOf(isSequence, isSparse, path, pass));
                }
                f(passes);
            }
        }
    }
}

FlowPicture drawn(const std::vector<lut::Schedule>& schedules, double width = 0, double room = 0)
{
    return flowPicture(schedules, {[](const lut::Launch&) { return QSizeF(140, 38); },
                                   [](const lut::Buffer&) { return QSizeF(120, 38); }, width, room});
}

/// Stacks of buffers that kernels read, one for each kernel that reads some of it.
std::size_t stacksThatAreRead(const FlowPicture& picture)
{
    std::set<std::tuple<std::size_t, std::size_t, std::size_t>> read; // pass, launch, stack
    for (const FlowBox& box : picture.boxes) {
        for (std::size_t i = 0; !box.isKernel && i < picture.schedules[box.pass].launches.size(); ++i) {
            const auto& reads = picture.schedules[box.pass].launches[i].reads;
            if (std::ranges::find(reads, picture.buffer(box).id) != reads.end()) {
                read.insert({box.pass, i, box.stack});
            }
        }
    }
    return read.size();
}

} // namespace

class LutPicturesTest : public QObject
{
    Q_OBJECT

    /// Between a kernel and a buffer that it reads or writes, downwards.
    static void checkArrow(const FlowPicture& picture, const FlowEdge& edge)
    {
        const FlowBox& kernel = picture.boxes[edge.isWrite ? edge.from : edge.to];
        const FlowBox& buffer = picture.boxes[edge.isWrite ? edge.to : edge.from];
        QVERIFY(kernel.isKernel && !buffer.isKernel);
        const auto& ids = edge.isWrite ? picture.launch(kernel).writes : picture.launch(kernel).reads;
        QVERIFY(std::ranges::find(ids, picture.buffer(buffer).id) != ids.end());
        QVERIFY(edge.points.size() >= 2 && edge.points.front().y() < edge.points.back().y());
    }

    /// Launch i starts after what it waits for, and after those before it on its stream.
    static void checkOrder(const std::vector<lut::Launch>& launches, std::size_t i, std::span<const LaunchTime> times)
    {
        for (const std::size_t other : launches[i].waitsFor) {
            QVERIFY(times[other].end <= times[i].start);
        }
        for (std::size_t k = 0; k < i; ++k) {
            QVERIFY(launches[k].stream != launches[i].stream || times[k].end <= times[i].start);
        }
    }

private slots:
    void everyKernelIsDrawnOnceAndNothingOverlaps()
    {
        forAll([](const std::vector<lut::Schedule>& schedules) {
            const FlowPicture picture = drawn(schedules);
            QCOMPARE(picture.passes.size(), schedules.size());
            std::size_t kernels = 0;
            for (const lut::Schedule& schedule : schedules) {
                kernels += schedule.launches.size();
            }
            QCOMPARE(static_cast<std::size_t>(std::ranges::count_if(picture.boxes, &FlowBox::isKernel)), kernels);
            const QRectF all(QPointF(), picture.size);
            for (std::size_t i = 0; i < picture.boxes.size(); ++i) {
                QVERIFY(all.contains(picture.boxes[i].rect));
                QCOMPARE(picture.boxAt(picture.boxes[i].rect.center()), i);
                for (std::size_t k = i + 1; k < picture.boxes.size(); ++k) {
                    QVERIFY(!picture.boxes[i].rect.intersects(picture.boxes[k].rect));
                }
            }
        });
    }

    /// Every read has its arrow; a write has one unless the arrows would run in a circle.
    void arrowsAreReadsAndWrites()
    {
        forAll([](const std::vector<lut::Schedule>& schedules) {
            const FlowPicture picture = drawn(schedules);
            const std::size_t reads = stacksThatAreRead(picture);
            QCOMPARE(static_cast<std::size_t>(std::ranges::count(picture.edges, false, &FlowEdge::isWrite)), reads);
            for (const FlowEdge& edge : picture.edges) {
                checkArrow(picture, edge);
            }
        });
    }

    /// What goes together lies on each other without a gap, and is as wide.
    void stacksHoldTogether()
    {
        forAll([](const std::vector<lut::Schedule>& schedules) {
            const FlowPicture picture = drawn(schedules, 500);
            for (std::size_t i = 1; i < picture.boxes.size(); ++i) {
                const FlowBox& upper = picture.boxes[i - 1];
                const FlowBox& lower = picture.boxes[i];
                if (upper.stack == lower.stack) {
                    QCOMPARE(lower.rect.top(), upper.rect.bottom());
                    QCOMPARE(lower.rect.width(), upper.rect.width());
                }
            }
        });
    }

    /// What a kernel starts from stands in rows, so that what an explanation runs does not get wider than a window.
    void rowsAreBroken()
    {
        forAll([](const std::vector<lut::Schedule>& schedules) {
            const FlowPicture wide = drawn(schedules);
            const FlowPicture broken = drawn(schedules, 500);
            QCOMPARE(broken.edges.size(), wide.edges.size());
            for (std::size_t pass = 0; pass < schedules.size(); ++pass) {
                const double width = broken.passes[pass].width();
                QVERIFY2(schedules[pass].pass == lut::Pass::Backward || width <= 600,
                         qPrintable(QString::number(width)));
            }
            for (const FlowEdge& edge : broken.edges) {
                QVERIFY(edge.points.front().y() < edge.points.back().y());
            }
        });
    }

    /// Where there is room, passes stand beside each other: forward on the left, as high as the other.
    void passesStandBesideEachOther()
    {
        forAll([](const std::vector<lut::Schedule>& schedules) {
            const FlowPicture below = drawn(schedules, 500);
            QVERIFY(!below.isBeside);
            const FlowPicture beside = drawn(schedules, 500, 1e5);
            QVERIFY(beside.isBeside);
            QVERIFY(beside.size.width() > below.size.width() && beside.size.height() < below.size.height());
            for (std::size_t pass = 0; pass < schedules.size(); ++pass) {
                QCOMPARE(beside.passes[pass].top(), beside.passes[0].top());
                QVERIFY(pass == 0 || beside.passes[pass].left() > beside.passes[pass - 1].right());
                QVERIFY(QRectF(QPointF(), beside.size).contains(beside.passes[pass]));
            }
            for (const FlowBox& box : beside.boxes) {
                QVERIFY(beside.passes[box.pass].contains(box.rect));
            }
            for (const FlowEdge& edge : beside.edges) {
                checkArrow(beside, edge);
            }
            QVERIFY(!drawn(schedules, 500, beside.size.width() - 1).isBeside);
            QVERIFY(drawn(schedules, 500, beside.size.width()).isBeside);
        });
    }

    void noScheduleIsNoPicture()
    {
        const FlowPicture picture = drawn({});
        QVERIFY(picture.boxes.empty() && picture.size.isEmpty());
        QCOMPARE(picture.boxAt({3, 3}), std::size_t{0});
    }

    void timesKeepStreamsAndWaits()
    {
        forAll([](const std::vector<lut::Schedule>& schedules) {
            const std::vector<LaunchTime> times = launchTimes(schedules);
            std::size_t first = 0;
            double passEnd = 0;
            for (std::size_t pass = 0; pass < schedules.size(); ++pass) {
                double end = 0;
                for (std::size_t i = 0; i < schedules[pass].launches.size(); ++i) {
                    const LaunchTime& time = times[first + i];
                    QVERIFY(time.start >= passEnd && time.end > time.start && time.bytes > 0);
                    checkOrder(schedules[pass].launches, i, std::span(times).subspan(first));
                    end = std::max(end, time.end);
                }
                first += schedules[pass].launches.size();
                passEnd = end;
            }
            QCOMPARE(times.size(), first);
        });
    }

    /// What was measured takes as long as that, on the same streams; the rest stays modelled.
    void measuredLaunchesTakeTheirTime()
    {
        forAll([](const std::vector<lut::Schedule>& schedules) {
            ops::LutDeviceTimes measured;
            for (std::size_t i = 0; i < schedules[0].launches.size(); ++i) {
                measured.forward.push_back(1e-6 * static_cast<double>(i + 1));
            }
            const std::vector<LaunchTime> times = launchTimes(schedules, &measured);
            for (const LaunchTime& time : times) {
                QCOMPARE(time.isMeasured, time.pass == 0);
                const double taken = time.end - time.start;
                QVERIFY(!time.isMeasured || std::abs(taken - 1e-6 * static_cast<double>(time.launch + 1)) < 1e-12);
                QVERIFY(time.start >= time.waitsUntil);
            }
        });
    }

    /// Of weights a gather moves the rows that are visited, and never more than there are.
    void bytesAreThoseOfVisitedRows()
    {
        const lut::Schedule schedule = scheduleOf(false, false, lut::Path::Fused, lut::Pass::Forward);
        std::uint64_t others = 0;
        for (const lut::BufferId id :
             {lut::BufferId::Input, lut::BufferId::Anchors, lut::BufferId::LookupIndices,
              lut::BufferId::MinAnchorDeltas, lut::BufferId::MinAnchorDeltaIndices, lut::BufferId::Output}) {
            others += schedule.find(id)->bytes;
        }
        const std::uint64_t weights = schedule.find(lut::BufferId::Weights)->bytes;
        const std::uint64_t visited = std::uint64_t{16} * 3 * 4 * 4; // samples, tables, outputs, float
        QCOMPARE(lut::bytesMoved(schedule, schedule.launches[0]), others + std::min(weights, visited));
    }
};

QTEST_GUILESS_MAIN(LutPicturesTest)
#include "tst_lutpictures.moc"
