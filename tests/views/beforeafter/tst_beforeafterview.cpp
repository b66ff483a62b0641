// SPDX-License-Identifier: Apache-2.0
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/beforeafter/beforeafterview.h"
#include "views/beforeafter/paircanvas.h"

#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

using namespace retro;
using namespace retro::views;

namespace
{

/// The tiny run with one pixel changed and other rules.
RunHandle changedRun()
{
    const RunHandle made = tests::makeTinyRun();
    auto run = std::make_shared<trace::Run>(*made.run);
    const base::ValueId input = run->graph->inputs().front();
    std::vector<double> pixels;
    for (std::int64_t i = 0; i < run->values[input.index()].size(); ++i) {
        pixels.push_back(run->values[input.index()].at(i));
    }
    pixels[5] += 1;
    run->values[input.index()] =
        tensor::Tensor::of<double>(run->values[input.index()].shape(), pixels).to(run->values[input.index()].dtype());
    run->facts.composite = "epsilon:epsilon=0.5";
    RunHandle handle{run, std::make_shared<trace::Timeline>(trace::Timeline::open(run).value())};
    return handle;
}

} // namespace

class BeforeAfterViewTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void whatChangedIsSaid()
    {
        tests::TinyContext context;
        BeforeAfterView view(context.model, context.cursor, context.selection);
        view.resize(700, 600);
        view.show();
        view.addRun(tests::makeTinyRun(), tests::makeTinyInput(), false);
        view.flush();
        QCOMPARE(view.runCount(), std::size_t{1});
        view.addRun(changedRun(), tests::makeTinyInput(), false);
        view.flush();
        QCOMPARE(view.runCount(), std::size_t{2});
        QVERIFY2(view.sentence().contains(QStringLiteral("Input: 1 of")), qPrintable(view.sentence()));
        QVERIFY(view.sentence().contains(QStringLiteral("epsilon:epsilon=0.5")));
        const RunPair& pair = view.pair();
        QCOMPARE(pair.difference.values.size(), pair.before.plane.values.size());
        for (const double value : pair.difference.values) {
            QCOMPARE(value, 0.0); // the relevance is the same
        }
        QVERIFY(pair.limit > 0);
        QVERIFY(pair.ledger.size() >= 3);
        QCOMPARE(pair.ledger.front().before, pair.ledger.front().after);
    }

    /// Relevance for one class and for another has no difference that means something.
    void twoQuestionsAreSaidAndCanBecomeOne()
    {
        const auto asked = [](std::int64_t target) {
            auto run = std::make_shared<trace::Run>(*tests::makeTinyRun().run);
            run->facts.targetIndex = {target};
            return RunHandle{run, std::make_shared<trace::Timeline>(trace::Timeline::open(run).value())};
        };
        tests::TinyContext context;
        BeforeAfterView view(context.model, context.cursor, context.selection);
        view.resize(700, 600);
        view.show();
        view.addRun(asked(0), tests::makeTinyInput(), false);
        view.addRun(asked(0), tests::makeTinyInput(), false);
        view.flush();
        auto* button = view.findChild<QToolButton*>(QStringLiteral("askTheSame"));
        QVERIFY(button != nullptr && !button->isVisible());
        QVERIFY(view.pair().question.isEmpty());
        view.addRun(asked(1), tests::makeTinyInput(), false);
        view.flush();
        RETRO_SAYS(view.sentence(), QStringLiteral("These are two questions: A explains mug, "),
                   QStringLiteral("B explains jug, "));
        QVERIFY(button->isVisible());
        tests::grab(view, {700, 600}, ThemeKind::Light, QStringLiteral("beforeafter-questions"));
        QSignalSpy wanted(&view, &BeforeAfterView::questionWanted);
        QTest::mouseClick(button, Qt::LeftButton);
        QCOMPARE(wanted.count(), 1);
        QCOMPARE(wanted.front().front().toString(), QStringLiteral("0"));
        view.addRun(asked(0), tests::makeTinyInput(), false); // the answer stands beside A
        view.flush();
        QVERIFY(view.pair().question.isEmpty() && !button->isVisible());
    }

    void whilePaintingAStaysAndBFollows()
    {
        tests::TinyContext context;
        BeforeAfterView view(context.model, context.cursor, context.selection);
        view.addRun(tests::makeTinyRun(), tests::makeTinyInput(), false);
        for (int i = 0; i < 5; ++i) {
            view.addRun(changedRun(), tests::makeTinyInput(), true);
        }
        QCOMPARE(view.runCount(), std::size_t{2});
        for (int i = 0; i < 20; ++i) {
            view.addRun(tests::makeTinyRun(), tests::makeTinyInput(), false);
        }
        QCOMPARE(view.runCount(), BeforeAfterView::kMostRuns);
        view.clear();
        QCOMPARE(view.runCount(), std::size_t{0});
    }

    void picturesHaveOneSize()
    {
        for (const bool isStacked : {false, true}) {
            const PairLayout layout = layoutPair(QRectF(0, 0, 640, 300), 1.0, isStacked);
            for (std::size_t i = 0; i < 3; ++i) {
                QCOMPARE(layout.cells[i].picture.size(), layout.cells[0].picture.size());
                QVERIFY(QRectF(0, 0, 641, 301).contains(layout.cells[i].picture));
                QVERIFY(i == 0 || !layout.cells[i].picture.intersects(layout.cells[i - 1].picture));
            }
        }
    }

    void whatIsShownIsWritten()
    {
        tests::TinyContext context;
        BeforeAfterView view(context.model, context.cursor, context.selection);
        const QTemporaryDir folder;
        QFile file(folder.filePath(QStringLiteral("p.csv")));
        QVERIFY(!view.exportTo(file.fileName().toStdString()).ok()); // one run is no pair
        view.addRun(tests::makeTinyRun(), tests::makeTinyInput(), false);
        view.addRun(changedRun(), tests::makeTinyInput(), false);
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            QVERIFY(tests::colorCount(tests::grab(view, {700, 600}, kind, QStringLiteral("beforeafter"))) > 10);
        }
        QVERIFY(view.exportTo(file.fileName().toStdString()).ok());
        QVERIFY(file.open(QIODevice::ReadOnly));
        QVERIFY(file.readAll().startsWith("what,name,before,after,change\n"));
        QVERIFY(view.exportTo(folder.filePath(QStringLiteral("p.svg")).toStdString()).ok());
    }
};

QTEST_MAIN(BeforeAfterViewTest)
#include "tst_beforeafterview.moc"
