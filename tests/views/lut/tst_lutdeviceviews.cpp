// SPDX-License-Identifier: Apache-2.0
// Streams of a LUT layer where there is a GPU, here an emulated one: launches are measured, and the view says so.
#include "kernels/lut/run.h"
#include "tests/views/lut/lutcontext.h"
#include "tests/views/support/grabs.h"
#include "views/lut/streamsview.h"

using namespace retro;
using namespace retro::views;

class LutDeviceViewsTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void launchesAreMeasured()
    {
        QVERIFY(lut::availability(lut::Backend::Cuda).ok());
        tests::LutContext context;
        for (const lut::Path path : {lut::Path::Fused, lut::Path::Documented}) {
            context.choice.choosePath(path);
            StreamsView view(context.model, context.cursor, context.selection, context.choice);
            tests::place(view, {860, 220});
            // The run tells how long its relevance took, on the path that it took.
            const QString relevance =
                path == context.choice.layer()->path ? QStringLiteral("as it ran") : QStringLiteral("modelled");
            QTRY_COMPARE_WITH_TIMEOUT(view.subject(), QStringLiteral("measured on the GPU; relevance ") + relevance,
                                      30'000);
            view.flush();
            RETRO_MADE(times, context.choice.deviceTimes());
            const auto schedules = context.choice.schedules();
            QCOMPARE(times->forward.size(), schedules[0].launches.size());
            QVERIFY(!times->backward.empty());
            for (const LaunchTime& time : view.pane().times()) {
                QCOMPARE(time.isMeasured, schedules[time.pass].pass == lut::Pass::Forward);
                QVERIFY(!time.isMeasured || std::abs(time.end - time.start - times->forward[time.launch]) < 1e-9);
            }
        }
    }

    /// A run of gradients has nothing that a GPU would not run.
    void aGradientIsMeasuredWhole()
    {
        tests::LutContext context(tests::explained(true, "gradient"));
        StreamsView view(context.model, context.cursor, context.selection, context.choice);
        tests::place(view, {860, 220});
        QTRY_COMPARE_WITH_TIMEOUT(view.subject(), QStringLiteral("measured on the GPU"), 30'000);
    }

    /// A run that kept no values cannot be measured: it stays as it ran, and modelled on the other path.
    void withoutValuesNothingIsMeasured()
    {
        tests::LutContext context(tests::explained(false));
        context.choice.chooseLayer(1);
        const base::NodeId node = context.choice.layer()->node;
        QVERIFY(!trace::lutDeviceTimes(*context.model.sharedRun(), node, lut::Path::Fused).ok());
        StreamsView view(context.model, context.cursor, context.selection, context.choice);
        tests::place(view, {860, 220});
        QCOMPARE(view.subject(), QStringLiteral("as it ran"));
        context.choice.choosePath(lut::Path::Documented);
        view.flush();
        QCOMPARE(view.subject(), QStringLiteral("modelled, not measured"));
    }
};

QTEST_MAIN(LutDeviceViewsTest)
#include "tst_lutdeviceviews.moc"
