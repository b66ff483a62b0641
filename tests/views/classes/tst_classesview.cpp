// SPDX-License-Identifier: Apache-2.0
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/classes/classespane.h"
#include "views/classes/classesview.h"
#include "views/common/csv.h"

#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

using namespace retro;
using namespace retro::views;

class ClassesViewTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void answerOfTheTinyRun()
    {
        tests::TinyContext context;
        const ClassAnswer answer = classAnswer(context.model);
        QCOMPARE(answer.classes, 3);
        QCOMPARE(answer.best.size(), std::size_t{3});
        QCOMPARE(answer.best[0].name, QStringLiteral("mug"));
        QCOMPARE(answer.best[1].name, QStringLiteral("jug"));
        QVERIFY(answer.best[0].isTarget);
        QVERIFY(*answer.best[0].probability > 0.97 && *answer.best[0].probability < 0.98);
        QCOMPARE(answerSentence(answer), QStringLiteral("The model says mug. The truth is jug."));
        QCOMPARE(classAnswer(context.model, 1).best.size(), std::size_t{1});
    }

    void sentences()
    {
        ClassAnswer answer;
        QCOMPARE(answerSentence(answer), QString());
        answer.best.resize(1);
        answer.says = QStringLiteral("jug");
        QCOMPARE(answerSentence(answer), QStringLiteral("The model says jug."));
        answer.truth = QStringLiteral("jug");
        QCOMPARE(answerSentence(answer), QStringLiteral("The model says jug, and it is."));
    }

    void rowsDoNotOverlap()
    {
        tests::TinyContext context;
        const ClassAnswer answer = classAnswer(context.model);
        const QRectF area(10, 0, 240, 300);
        const ClassesLayout layout = layoutClasses(answer, area);
        double y = layout.probabilityTitle.bottom();
        for (const ClassRowLayout& row : layout.rows) {
            QVERIFY(row.name.top() >= y);
            QVERIFY(row.bar.top() >= row.name.bottom());
            QVERIFY(row.name.right() < row.probability.left());
            QVERIFY(row.probability.right() < row.score.left());
            QCOMPARE(row.score.right(), area.right());
            y = row.bar.bottom();
        }
        QVERIFY(layout.sentence.top() > y);
        QCOMPARE(layout.height, layout.sentence.bottom());
    }

    void namesComeBeforeScores()
    {
        tests::TinyContext context;
        const ClassAnswer answer = classAnswer(context.model);
        const ClassesLayout layout = layoutClasses(answer, QRectF(10, 0, 160, 300));
        QVERIFY(layout.scoreTitle.isEmpty() && layout.rows[0].score.isEmpty());
        QVERIFY(layout.rows[0].name.width() > 40);
        QCOMPARE(layout.rows[0].probability.right(), 170.0);
        QVERIFY(!layoutClasses(answer, QRectF(10, 0, 240, 300)).scoreTitle.isEmpty());
    }

    /// Sums and measures are no class scores: no probability anywhere, bars beside the largest magnitude.
    void numbersHaveNoProbability()
    {
        tests::ViewContext context;
        InputInfo input = tests::makeTinyInput();
        input.scores = QStringLiteral("numbers");
        context.model.setRun(tests::makeTinyRun(), input);
        const ClassAnswer answer = classAnswer(context.model);
        QCOMPARE(answer.best.size(), std::size_t{3});
        QVERIFY(!answer.best[0].probability);
        QCOMPARE(answer.best[0].bar, 1.0);
        QVERIFY(answer.best[1].bar >= 0 && answer.best[1].bar < 1);
        QVERIFY(answerSentence(answer).startsWith(QStringLiteral("Of 3 outputs, ")));
        const ClassesLayout layout = layoutClasses(answer, QRectF(10, 0, 240, 300));
        QCOMPARE(layout.probabilityTitle.width(), 0.0);
        QVERIFY(layout.scoreTitle.width() > 0);
        QVERIFY(layout.rows[0].name.right() < layout.rows[0].score.left());
        ClassesView view(context.model, context.cursor, context.selection);
        view.flush();
        const QTemporaryDir folder;
        const std::filesystem::path file = folder.filePath(QStringLiteral("a.csv")).toStdString();
        QVERIFY(view.exportTo(file).ok());
        QFile csv(QString::fromStdString(file.string()));
        QVERIFY(csv.open(QIODevice::ReadOnly));
        csv.readLine();
        QCOMPARE(csv.readLine().split(',').at(2), QByteArray());
    }

    void csvIsQuoted()
    {
        CsvText text({"a", "b"});
        text.add(QStringLiteral("x, \"y\"")).add(0.1).endRow();
        QCOMPARE(text.take(), std::string("a,b\n\"x, \"\"y\"\"\",0.1\n"));
    }

    void exports()
    {
        tests::TinyContext context;
        ClassesView view(context.model, context.cursor, context.selection);
        view.flush();
        QCOMPARE(view.subject(), QStringLiteral("3 best of 3"));
        const QTemporaryDir folder;
        for (const QString& format : QStringLiteral("csv png svg pdf html").split(QLatin1Char(' '))) {
            QVERIFY(view.exportTo(folder.filePath(QStringLiteral("c.") + format).toStdString()).ok());
        }
        QVERIFY(tests::bytesIn(folder.filePath(QStringLiteral("c.csv")))
                    .startsWith("class,name,probability,score\n0,mug,0.97"));
    }

    void aClassCanBeChosen()
    {
        tests::TinyContext context;
        ClassesView view(context.model, context.cursor, context.selection);
        tests::showAt(view, 280, 300);
        auto* pane = view.findChild<ClassesPane*>();
        QSignalSpy wanted(&view, &ClassesView::classWanted);
        const auto middleOf = [&](std::size_t row) { return pane->layoutNow().rows[row].row.center().toPoint(); };
        QTest::mouseClick(pane, Qt::LeftButton, {}, middleOf(0)); // that one is explained already
        QTest::mouseClick(pane, Qt::LeftButton, {}, QPoint(3, pane->height() - 2));
        QTest::mouseClick(pane, Qt::RightButton, {}, middleOf(2));
        QCOMPARE(wanted.count(), 0);
        QTest::mouseClick(pane, Qt::LeftButton, {}, middleOf(2));
        QCOMPARE(wanted.count(), 1);
        QCOMPARE(wanted.back().front().toLongLong(), pane->answer().best[2].index);
        QTest::keyClick(pane, Qt::Key_Up);
        QTest::keyClick(pane, Qt::Key_Return);
        QCOMPARE(wanted.count(), 2);
        QCOMPARE(wanted.back().front().toLongLong(), pane->answer().best[1].index);
        RETRO_SAYS(pane->accessibleDescription(), QStringLiteral("to explain jug"));
        for (int i = 0; i < 5; ++i) {
            QTest::keyClick(pane, Qt::Key_Up);
        }
        QCOMPARE(pane->current(), 0);
        QTest::keyClick(pane, Qt::Key_Return);
        QCOMPARE(wanted.count(), 2);
        QVERIFY(pane->accessibleDescription().contains(QStringLiteral("mug is explained now")));
    }

    void theExplainedClassIsMarked()
    {
        tests::TinyContext context;
        ClassAnswer answer = classAnswer(context.model);
        answer.best[0].isTarget = false;
        answer.best[1].isTarget = true;
        ClassesPane pane;
        pane.setAnswer(answer);
        const QImage image = tests::grab(pane, {280, 240}, ThemeKind::Light, QStringLiteral("classes-second"));
        const ClassesLayout layout = pane.layoutNow();
        const auto colorIn = [&](std::size_t row) {
            return image.pixelColor(layout.rows[row].row.topRight().toPoint() + QPoint(-3, 2));
        };
        QCOMPARE(colorIn(1), Theme::of(ThemeKind::Light)[Role::Sel]);
        QVERIFY(colorIn(0) != colorIn(1));
    }

    void looks()
    {
        tests::TinyContext context;
        ClassesView view(context.model, context.cursor, context.selection);
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            const QImage image = tests::grab(view, {280, 240}, kind, QStringLiteral("classes"));
            QVERIFY(tests::hasColor(image, Theme::of(kind)[Role::Accent]));
            QVERIFY(tests::hasColor(image, Theme::of(kind)[Role::Base]));
        }
    }
};

QTEST_MAIN(ClassesViewTest)
#include "tst_classesview.moc"
