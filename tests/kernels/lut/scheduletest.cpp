// SPDX-License-Identifier: Apache-2.0
// The launch schedules of all modes, as readable lists.
#include <QtTest>

#include "kernels/lut/schedule.h"

#include <set>

using namespace retro::lut;

namespace
{

QString listOf(const std::vector<BufferId>& buffers)
{
    QStringList names;
    for (const BufferId id : buffers) {
        const std::string_view name = nameOf(id);
        names << QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
    }
    return names.join(QStringLiteral(", "));
}

QString textOf(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

/// "kernel variant @stream: reads -> writes" per launch.
QStringList linesOf(const Schedule& schedule)
{
    QStringList lines;
    for (const Launch& launch : schedule.launches) {
        QString line = textOf(nameOf(launch.kernel));
        line += launch.variant == Variant::Only ? QString() : " " + textOf(nameOf(launch.variant));
        lines << line + QStringLiteral(" @%1: ").arg(launch.stream) + listOf(launch.reads) + " -> " +
                     listOf(launch.writes);
    }
    return lines;
}

ScheduleRequest requestFor(bool isSequence, bool isSparse, Path path, Pass pass)
{
    ScheduleRequest request;
    request.shape = {6, 40, 33, 2, isSequence ? 1U : 0U, isSequence ? 33U : 1U, isSequence};
    request.isSparse = isSparse;
    request.synapses = isSparse ? 1000 : 0;
    request.maxForwardGroups = isSparse ? 2 : 0;
    request.batch = 70'000;
    request.path = path;
    request.pass = pass;
    return request;
}

Schedule scheduleFor(bool isSequence, bool isSparse, Path path, Pass pass)
{
    Schedule schedule;
    const Status status = makeSchedule(requestFor(isSequence, isSparse, path, pass), schedule);
    return status.ok() ? schedule : Schedule{};
}

} // namespace

class LutScheduleTest : public QObject
{
    Q_OBJECT

    template <class F>
    static void forAll(const F& f)
    {
        for (const bool isSequence : {false, true}) {
            for (const bool isSparse : {false, true}) {
                for (const Path path : {Path::Fused, Path::Documented}) {
                    for (const Pass pass : {Pass::Forward, Pass::Backward, Pass::Relevance}) {
                        f(requestFor(isSequence, isSparse, path, pass));
                    }
                }
            }
        }
    }

private slots:
    void documentedForward()
    {
        QCOMPARE(linesOf(scheduleFor(false, false, Path::Documented, Pass::Forward)),
                 (QStringList{"check_detectors @0: Input, Anchors -> Lookup Indices, Min Anchor Deltas, Min Anchor "
                              "Delta Indices",
                              "fill_outputs_fully_connected @0: Lookup Indices, Weights -> Output"}));
        QCOMPARE(linesOf(scheduleFor(false, true, Path::Documented, Pass::Forward)),
                 (QStringList{"fire_detectors @0: Input, Anchors, Row Starts -> Lookup Indices, Min Anchor Deltas, Min "
                              "Anchor Delta Indices, Firing Events",
                              "fill_outputs_by_forward_groups @0: Firing Events, Weights, Row Starts, Columns -> "
                              "Output"}));
    }

    void documentedBackward()
    {
        QCOMPARE(
            linesOf(scheduleFor(false, false, Path::Documented, Pass::Backward)),
            (QStringList{"gather_x_gradients_fully_connected main @0: Output Gradients, Lookup Indices, Weights -> "
                         "Before Detectors Gradients",
                         "gather_x_gradients_fully_connected alternative @1: Output Gradients, Lookup Indices, "
                         "Min Anchor Delta Indices, Weights -> Before Detectors Gradients",
                         "gather_w_gradients_fully_connected @2: Output Gradients, Lookup Indices -> Weight "
                         "Gradients",
                         "propagate_through_detectors @0: Lookup Indices, Min Anchor Deltas, Min Anchor Delta "
                         "Indices, Anchors, Before Detectors Gradients -> Input Gradients, Before Detectors "
                         "Gradients"}));
        QCOMPARE(linesOf(scheduleFor(false, true, Path::Documented, Pass::Backward)).size(), 3);
    }

    void documentedSequence()
    {
        const Schedule forward = scheduleFor(true, false, Path::Documented, Pass::Forward);
        QStringList names;
        for (const Launch& launch : forward.launches) {
            names << QStringLiteral("%1@%2").arg(textOf(nameOf(launch.kernel))).arg(launch.stream);
        }
        QCOMPARE(names, (QStringList{"check_detectors_for_sequence@0", "check_positional_embeddings@1",
                                     "fill_after_detectors_firing_stat@0", "densify_firing_stat@0",
                                     "fill_outputs_by_sparse_firings@0"}));
        QCOMPARE(forward.launches[2].waitsFor, (std::vector<std::size_t>{1}));
        const Schedule backward = scheduleFor(true, false, Path::Documented, Pass::Backward);
        QStringList streams;
        for (const Launch& launch : backward.launches) {
            streams << QString::number(launch.stream);
        }
        QCOMPARE(streams.join(QLatin1Char(' ')), QStringLiteral("0 1 2 0 0 0"));
        QVERIFY(backward.find(BufferId::BeforeDetectorsGradients)->sharesMemoryWith == BufferId::FiringStatistics);
    }

    /// As the diagrams of the source draw them: what sends gradients to inputs does not wait for those of the weights.
    void waitsAreTheDocumentedOnes()
    {
        struct Wait
        {
            bool isSequence;
            Pass pass;
            KernelId waiting;
            std::vector<std::pair<KernelId, Variant>> others;
        };
        const std::vector<Wait> expected{
            {false,
             Pass::Backward,
             KernelId::PropagateThroughDetectors,
             {{KernelId::GatherXGradientsFullyConnected, Variant::Alternative}}},
            {true,
             Pass::Backward,
             KernelId::PropagateThroughDetectorsForSequence,
             {{KernelId::GatherXGradientsForSequence, Variant::Alternative}}},
            {true,
             Pass::Forward,
             KernelId::FillAfterDetectorsFiringStat,
             {{KernelId::CheckPositionalEmbeddings, Variant::Only}}},
        };
        for (const Wait& wait : expected) {
            const Schedule schedule = scheduleFor(wait.isSequence, false, Path::Documented, wait.pass);
            for (const Launch& launch : schedule.launches) {
                std::vector<std::pair<KernelId, Variant>> found;
                for (const std::size_t before : launch.waitsFor) {
                    found.emplace_back(schedule.launches[before].kernel, schedule.launches[before].variant);
                }
                QVERIFY2(found == (launch.kernel == wait.waiting ? wait.others : decltype(found){}),
                         qPrintable(textOf(nameOf(launch.kernel))));
            }
        }
    }

    void shapesOfBuffersAreTheDocumentedOnes()
    {
        using Shape = std::vector<std::uint64_t>;
        const Schedule forward = scheduleFor(true, false, Path::Documented, Pass::Forward);
        QCOMPARE(forward.find(BufferId::LookupIndices)->shape, (Shape{70'000, 33, 33}));
        QCOMPARE(forward.find(BufferId::PeMinDeltas)->shape, (Shape{32, 33}));
        QCOMPARE(forward.find(BufferId::FiringStatistics)->shape, (Shape{70'000, 33, 33, 32}));
        QCOMPARE(forward.find(BufferId::MainFiringEvents)->shape, (Shape{70'000, 33, 528}));
        QCOMPARE(forward.find(BufferId::AlternativeFiringEvents)->shape, (Shape{70'000, 33, 1056}));
        const Schedule sparse = scheduleFor(false, true, Path::Documented, Pass::Backward);
        QCOMPARE(sparse.find(BufferId::FiringEvents)->shape, (Shape{70'000, 33, 2, 2}));
        QCOMPARE(sparse.find(BufferId::FiringEvents)->bytes, std::uint64_t{70'000} * 33 * 4 * 16);
        QCOMPARE(sparse.find(BufferId::BeforeDetectorsGradients)->shape, (Shape{70'000, 33, 4}));
        QCOMPARE(sparse.find(BufferId::WeightGradients)->shape, (Shape{1000}));
    }

    void everyLaunchNamesBuffersOfThePassOnce()
    {
        forAll([](const ScheduleRequest& request) {
            Schedule schedule;
            QVERIFY(makeSchedule(request, schedule).ok());
            QVERIFY(!schedule.launches.empty());
            std::set<BufferId> ids;
            for (const Buffer& buffer : schedule.buffers) {
                QVERIFY2(ids.insert(buffer.id).second, qPrintable(textOf(buffer.name)));
            }
            for (const Launch& launch : schedule.launches) {
                for (const BufferId id : launch.reads) {
                    QVERIFY2(ids.contains(id),
                             qPrintable(textOf(nameOf(launch.kernel)) + " reads " + textOf(nameOf(id))));
                }
                for (const BufferId id : launch.writes) {
                    QVERIFY2(ids.contains(id),
                             qPrintable(textOf(nameOf(launch.kernel)) + " writes " + textOf(nameOf(id))));
                }
            }
        });
    }

    /// What is read was given, learned, kept, or written by an earlier launch; from another stream only after a wait.
    void everythingIsWrittenBeforeItIsRead()
    {
        forAll([](const ScheduleRequest& request) {
            Schedule schedule;
            QVERIFY(makeSchedule(request, schedule).ok());
            for (std::size_t i = 0; i < schedule.launches.size(); ++i) {
                const Launch& launch = schedule.launches[i];
                for (const std::size_t before : launch.waitsFor) {
                    QVERIFY(before < i);
                    QVERIFY(schedule.launches[before].stream != launch.stream);
                }
                for (const BufferId id : launch.reads) {
                    bool isThere = schedule.find(id)->role != Role::Scratch && schedule.find(id)->role != Role::Result;
                    isThere = isThere && !(request.pass == Pass::Forward && schedule.find(id)->role == Role::Kept);
                    for (std::size_t before = 0; before < i; ++before) {
                        const Launch& writer = schedule.launches[before];
                        const bool writes =
                            std::find(writer.writes.begin(), writer.writes.end(), id) != writer.writes.end();
                        const bool isOrdered =
                            writer.stream == launch.stream ||
                            std::find(launch.waitsFor.begin(), launch.waitsFor.end(), before) != launch.waitsFor.end();
                        // A wait covers what comes later on the same stream, too.
                        isThere = isThere || (writes && isOrdered) || (writes && launch.stream == 0 && i > before + 1);
                    }
                    QVERIFY2(isThere,
                             qPrintable(textOf(nameOf(launch.kernel)) + " reads " + textOf(nameOf(id)) + " too early"));
                }
            }
        });
    }

    void gridsStayWithinTheLimits()
    {
        forAll([](const ScheduleRequest& request) {
            Schedule schedule;
            QVERIFY(makeSchedule(request, schedule).ok());
            for (const Launch& launch : schedule.launches) {
                QVERIFY(launch.gridX <= kMaxGridX && launch.gridY <= kMaxGridY);
                QVERIFY(launch.blockSize >= 1 && launch.blockSize <= 1024);
                QVERIFY(launch.items > 0);
            }
        });
        const Schedule forward = scheduleFor(false, false, Path::Documented, Pass::Forward);
        QCOMPARE(forward.launches[0].gridY, kMaxGridY); // of 70 000 samples; the rest is looped over
        QCOMPARE(forward.launches[1].items, std::uint64_t{70'000} * 40 * 2);
    }

    void sizesThatOverflowAreRefused()
    {
        ScheduleRequest request = requestFor(true, false, Path::Documented, Pass::Forward);
        request.batch = std::uint64_t{1} << 50;
        Schedule schedule;
        const Status status = makeSchedule(request, schedule);
        QCOMPARE(static_cast<int>(status.code), static_cast<int>(StatusCode::TooLarge));
        request.shape.comparisons = 11;
        request.batch = std::uint64_t{1} << 28;
        const Status dense = makeSchedule(request, schedule);
        QVERIFY2(
            QString::fromStdString(dense.message).contains("Firing Statistics of shape 268435456 x 33 x 33 x 8388608"),
            dense.message.c_str());
        request.path = Path::Fused;
        QVERIFY(makeSchedule(request, schedule).ok());
    }
};

QTEST_GUILESS_MAIN(LutScheduleTest)
#include "scheduletest.moc"
