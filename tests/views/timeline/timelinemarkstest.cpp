// SPDX-License-Identifier: Apache-2.0
// Signs over the timeline: none hides another.
#include <QtTest>

#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/paint/theme.h"
#include "views/timeline/timelinepane.h"
#include "views/timeline/timelineview.h"

using namespace retro;
using tests::TinyContext;

class TimelineMarksTest : public QObject
{
    Q_OBJECT
private slots:
    void initTestCase() { tests::installLook(); }

    /// Where a run stops because a promise is opened, both are seen: the breakpoint is a ring around the diamond.
    void aStopHidesNoPromise()
    {
        TinyContext context;
        views::TimelineView view(context.model, context.cursor, context.selection);
        view.resize(700, 420);
        view.show();
        context.cursor.moveTo(context.cursor.end()); // nothing is pale
        view.flush();
        const std::uint64_t opened = context.model.series().promisesOpened.front() + 1;
        const std::uint64_t fulfilled = context.model.series().promisesCompleted.front() + 1;
        view.pane().setMarks(views::MarkKind::Breakpoint, {opened, fulfilled, context.cursor.end()});
        std::size_t around = 0;
        std::size_t alone = 0;
        for (const views::TimelineMark& mark : view.pane().marks()) {
            if (mark.kind == views::MarkKind::Breakpoint) {
                ++(mark.isAround ? around : alone);
            }
        }
        QCOMPARE(around, std::size_t{2});
        QCOMPARE(alone, std::size_t{1});
        const views::TimelineTracks tracks = view.pane().tracks();
        const double pixels = tracks.modes.width() / tests::kTinyVisits;
        const auto at = [&](std::uint64_t position) {
            const std::uint32_t visit = context.model.run().visitOf(position - 1);
            return QRectF(tracks.modes.left() + visit * pixels, tracks.markers.top(), pixels, tracks.markers.height());
        };
        const QString tip = view.pane().tipAt(at(opened).center());
        QVERIFY2(tip.contains(QStringLiteral("a promise is opened")) && tip.contains(QStringLiteral("breakpoint")),
                 qPrintable(tip));
    }

    /// Two signs of one visit stand beside each other.
    void openedAndFulfilledInOneVisitAreBothSeen()
    {
        std::vector<views::TimelineMark> marks{{views::MarkKind::Breakpoint, 4, 9},
                                               {views::MarkKind::Opened, 4, 7},
                                               {views::MarkKind::Fulfilled, 4, 8},
                                               {views::MarkKind::Opened, 5, 12}};
        views::arrangeMarks(marks);
        QCOMPARE(marks[0].kind, views::MarkKind::Opened);
        QCOMPARE(marks[0].aside, -1);
        QCOMPARE(marks[1].aside, 0); // of visit 5
        QCOMPARE(marks[2].kind, views::MarkKind::Fulfilled);
        QCOMPARE(marks[2].aside, 1);
        QVERIFY(marks[3].isAround);
    }
};

QTEST_MAIN(TimelineMarksTest)
#include "timelinemarkstest.moc"
