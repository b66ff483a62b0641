// SPDX-License-Identifier: Apache-2.0
#include <QtTest>

#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/fonts.h"
#include "views/timeline/timelinepane.h"
#include "views/timeline/timelineview.h"

#include <QTemporaryDir>

using namespace retro;
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
        view.resize(700, 240);
        view.show();
        view.flush();
        QVERIFY(!view.pane().isVisibleTo(&view));
        QTemporaryDir folder;
        QVERIFY(!view.exportTo(folder.filePath("t.svg").toStdString()).ok());
    }

    void scrubbingMovesTheCursorToTheEndOfTheVisit()
    {
        ViewContext context;
        context.showTinyRun();
        views::TimelineView view(context.model, context.cursor, context.selection);
        view.resize(700, 240);
        view.show();
        view.flush();
        const auto tracks = views::layoutTracks(view.pane().width(), view.pane().height(), views::fonts::scale());
        for (const std::uint32_t visit : {0U, 4U, 9U}) {
            const double x = tracks.modes.left() + tracks.modes.width() * (visit + 0.5) / tests::kTinyVisits;
            QTest::mousePress(&view.pane(), Qt::LeftButton, {}, QPoint(static_cast<int>(x), 30));
            QTest::mouseRelease(&view.pane(), Qt::LeftButton, {}, QPoint(static_cast<int>(x), 30));
            QCOMPARE(context.cursor.position(), tests::endOfVisit(context.model, visit));
        }
    }

    void arrowsStepAndStepBackIsTheMirror()
    {
        ViewContext context;
        context.showTinyRun();
        views::TimelineView view(context.model, context.cursor, context.selection);
        view.resize(700, 240);
        view.show();
        view.flush();
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

    void showsModesInBothThemes()
    {
        ViewContext context;
        context.showTinyRun();
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

    void exportsWellFormedFiles()
    {
        ViewContext context;
        context.showTinyRun();
        views::TimelineView view(context.model, context.cursor, context.selection);
        view.resize(700, 240);
        view.show();
        view.flush();
        QTemporaryDir folder;
        for (const QString& format : view.exportFormats()) {
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
