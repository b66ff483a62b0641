// SPDX-License-Identifier: Apache-2.0
// The built-in samples, each opened by its action: what the window shows first is what the sample is about.
#include <QtTest>

#include "app/gui/embeddedsample.h"
#include "app/gui/jobs/otherrunreader.h"
#include "app/gui/shell/recentfiles.h"
#include "app/gui/shell/shell.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/workspaces.h"
#include "core/base/file.h"
#include "core/trace/runfile.h"
#include "core/trace/targetplace.h"
#include "tests/app/gui/settles.h"
#include "views/common/actions.h"
#include "views/common/paint/style.h"
#include "views/compare/comparepane.h"
#include "views/compare/compareview.h"
#include "views/heatmap/heatmapcanvas.h"
#include "views/heatmap/heatmapview.h"
#include "views/input/inputview.h"
#include "views/output/outputview.h"
#include "views/run/runpanel.h"

#include <QTemporaryDir>

#include <cmath>

using namespace retro;
using tests::kPatience;

namespace
{

bool opens(app::MainWindow& window, const char* action)
{
    window.resize(1400, 900);
    window.show();
    window.actions().at(QString::fromLatin1(action)).trigger();
    const bool isDone = QTest::qWaitFor([&] { return !window.isBusy(); }, kPatience);
    window.flush();
    return isDone && window.lastError().isEmpty() && window.model().hasRun() && window.model().run().eventCount() > 0;
}

/// The heatmap of the Explain workspace, brought up to date.
views::HeatmapView& heatmapOf(app::MainWindow& window)
{
    views::HeatmapView& view = window.findChild<app::ExplainWorkspace*>()->heatmap();
    view.flush();
    return view;
}

} // namespace

class SamplesScenarioTest : public QObject
{
    Q_OBJECT
private slots:
    void initTestCase() { views::Style::install(*qApp); }

    void everySampleHasItsActionAndItsModel()
    {
        app::MainWindow window;
        for (const app::EmbeddedSample& sample : app::embeddedSamples()) {
            QVERIFY2(window.actions().find(QString::fromLatin1(sample.action)) != nullptr, sample.action);
            RETRO_MADE(model, app::loadEmbedded(QString::fromLatin1(sample.model)));
            QVERIFY((*model)->card && !app::defaultInputs(**model).empty());
            QVERIFY(!app::titleOf(sample).isEmpty() && !app::wordsOf(sample).isEmpty());
        }
        QVERIFY(!app::loadEmbedded(QStringLiteral(":/samples/none/none.onnx")).ok());
    }

    void aSeriesIsShownStepByStep()
    {
        app::MainWindow window;
        QVERIFY(opens(window, "file.sample.step"));
        const views::HeatmapContent& content = heatmapOf(window).content();
        QVERIFY(content.isSteps && !content.isPicture);
        QCOMPARE(content.plane.width, 24);
        const auto less = [](double a, double b) { return std::abs(a) < std::abs(b); };
        const auto& values = content.plane.values;
        QCOMPARE(std::max_element(values.begin(), values.end(), less) - values.begin(), 3); // the marked step
        const views::HeatmapFigure figure = views::heatmapFigure(window.model(), content, views::HeatmapSettings());
        QCOMPARE(figure.strip.values.size(), std::size_t{24});
    }

    void aTextIsShownWordByWord()
    {
        app::MainWindow window;
        QVERIFY(opens(window, "file.sample.word"));
        const views::HeatmapView& view = heatmapOf(window);
        const std::vector<double>& values = view.content().plane.values;
        QVERIFY(view.content().isSteps);
        const auto most = std::max_element(values.begin(), values.end()) - values.begin();
        const QStringList words = view.stepWords();
        QCOMPARE(words.size(), static_cast<int>(values.size()));
        QCOMPARE(words.at(static_cast<int>(most)), QStringLiteral("sponsored"));
        QVERIFY(window.findChild<app::ExplainWorkspace*>()->input().sentence().contains(words.join(QLatin1Char(' '))));
    }

    /// The first output of the sample has a score per class; which pixels are meant says its second.
    void aSegmenterOpensWithItsMask()
    {
        app::MainWindow window;
        QVERIFY(opens(window, "file.sample.segment"));
        auto& output = window.findChild<app::ExplainWorkspace*>()->output();
        QVERIFY(output.isVisible() && !output.visibleRegion().isEmpty()); // in front of the input
        output.flush();
        const views::DenseFigure& figure = output.figure();
        QVERIFY(figure.hasSegments());
        QCOMPARE(window.model().label(figure.value), QStringLiteral("scores"));
        QCOMPARE(figure.segments->found().size(), std::size_t{4});
        QCOMPARE(figure.segments->asked(), std::optional<std::int64_t>(2)); // the house, whose score is explained
        const QPoint sun = *[&]() -> std::optional<QPoint> {
            for (int i = 0; i < 1600; ++i) {
                if (figure.segments->classAt(i % 40, i / 40) == 1) {
                    return QPoint(i % 40, i / 40);
                }
            }
            return std::nullopt;
        }();
        output.choose(sun);
        QVERIFY(QTest::qWaitFor([&] { return !window.isBusy(); }, kPatience));
        QVERIFY2(window.lastError().isEmpty(), qPrintable(window.lastError()));
        QCOMPARE(trace::segmentOf(window.model().run()), std::optional<std::int64_t>(1));
        output.flush();
        output.choose({0, 0}); // of the value that is explained now
        QVERIFY(QTest::qWaitFor([&] { return !window.isBusy(); }, kPatience));
        QVERIFY2(window.lastError().isEmpty(), qPrintable(window.lastError()));
        QCOMPARE(trace::segmentOf(window.model().run()), std::optional<std::int64_t>(0));
    }

    /// What a recorded run of a sample shows, beside the live one.
    void aRecordedRunIsShownLikeTheLiveOne_data()
    {
        QTest::addColumn<QString>("action");
        QTest::newRow("words") << "file.sample.word";
        QTest::newRow("steps") << "file.sample.step";
        QTest::newRow("picture") << "file.sample";
    }

    void aRecordedRunIsShownLikeTheLiveOne()
    {
        QFETCH(const QString, action);
        app::MainWindow live;
        QVERIFY(opens(live, action.toUtf8().constData()));
        const QTemporaryDir folder;
        const QString file = folder.filePath(QStringLiteral("run.retro"));
        QVERIFY(trace::writeRun(file.toStdString(), live.model().run()).ok());
        app::MainWindow recorded;
        recorded.resize(1400, 900);
        recorded.show();
        recorded.open(file);
        QVERIFY(QTest::qWaitFor([&] { return !recorded.isBusy(); }, kPatience));
        QVERIFY2(recorded.lastError().isEmpty(), qPrintable(recorded.lastError()));
        const views::HeatmapView& one = heatmapOf(live);
        const views::HeatmapView& other = heatmapOf(recorded);
        QCOMPARE(other.stepWords(), one.stepWords());
        QCOMPARE(other.content().isSteps, one.content().isSteps);
        QCOMPARE(other.content().isPicture, one.content().isPicture);
        QVERIFY(other.content().plane.values == one.content().plane.values);
        const auto& input = live.findChild<app::ExplainWorkspace*>()->input();
        auto& again = recorded.findChild<app::ExplainWorkspace*>()->input();
        again.flush();
        QCOMPARE(again.sentence(), input.sentence());
        QCOMPARE(again.picture(), input.picture());
        QCOMPARE(recorded.model().className(1), live.model().className(1));
        QCOMPARE(recorded.model().input().tagBox, live.model().input().tagBox);
    }

    void theHeatmapIsWipedAgainstARunFile()
    {
        app::MainWindow window;
        QVERIFY(opens(window, "file.sample"));
        const QTemporaryDir folder;
        const QString file = folder.filePath(QStringLiteral("before.retro"));
        QVERIFY(trace::writeRun(file.toStdString(), window.model().run()).ok());
        window.actions().at(QStringLiteral("cover.tag")).trigger();
        QVERIFY(QTest::qWaitFor([&] { return !window.isBusy(); }, kPatience));
        views::HeatmapView& heatmap = heatmapOf(window);
        const auto* canvas = heatmap.findChild<views::HeatmapCanvas*>();
        window.otherRuns().read({&heatmap}, file);
        QVERIFY(QTest::qWaitFor([&] { return canvas->figure().wipe.has_value(); }, kPatience));
        QCOMPARE(canvas->figure().wipe->name, QStringLiteral("before"));
        QVERIFY(canvas->figure().wipe->plane.values != canvas->figure().plane.values);
        QVERIFY(base::writeFile(file.toStdString(), std::string_view("no run")).ok());
        window.otherRuns().read({&heatmap}, file);
        QVERIFY(QTest::qWaitFor([&] { return !window.lastError().isEmpty(); }, kPatience));
        QVERIFY(canvas->figure().wipe.has_value()); // the one before stays
        window.actions().at(QStringLiteral("view.aloneagain")).trigger();
        QVERIFY(!canvas->figure().wipe.has_value());
        window.actions().at(QStringLiteral("view.holdrun")).trigger();
        QVERIFY(canvas->figure().wipe.has_value());
        QCOMPARE(canvas->figure().wipe->plane.values, canvas->figure().plane.values);
        window.closeModel();
        QVERIFY(heatmap.otherProblem().isEmpty());
    }

    void aTextFileIsExplained()
    {
        app::MainWindow window;
        QVERIFY(opens(window, "file.sample.word"));
        const QTemporaryDir folder;
        const QString file = folder.filePath(QStringLiteral("review.txt"));
        QVERIFY(base::writeFile(file.toStdString(), std::string_view("A charming film, sponsored.\n")).ok());
        window.explainInput(file);
        QVERIFY(QTest::qWaitFor([&] { return !window.isBusy(); }, kPatience));
        QVERIFY2(window.lastError().isEmpty(), qPrintable(window.lastError()));
        QCOMPARE(heatmapOf(window).stepWords(), (QStringList{"a", "charming", "film", "sponsored"}));
        QFile another(file); // somebody else writes it
        QVERIFY(another.open(QIODevice::WriteOnly) && another.write("A charming xylophone\n") > 0);
        another.close();
        window.explainInput(file);
        QVERIFY(QTest::qWaitFor([&] { return !window.isBusy(); }, kPatience));
        QVERIFY2(window.lastError().contains(QStringLiteral("'xylophone'")), qPrintable(window.lastError()));
    }

    void theControlOfATextIsComparedByWords()
    {
        app::MainWindow window;
        QVERIFY(opens(window, "file.sample.word"));
        window.findChild<views::CompareView*>()->flush();
        const auto& figure = window.findChild<views::ComparePane*>()->figure();
        QCOMPARE(figure.strip.words, heatmapOf(window).stepWords());
        QVERIFY2(figure.meaning.startsWith(QStringLiteral("This model leans most on “sponsored”")),
                 qPrintable(figure.meaning));
    }

    void theTargetOfTheCardIsExplained()
    {
        app::MainWindow window;
        QVERIFY(opens(window, "file.sample.segment"));
        QCOMPARE(window.model().run().facts.targetIndex.front(), std::int64_t{2});
        QCOMPARE(window.model().className(2), QStringLiteral("house"));
        QCOMPARE(window.findChild<views::RunPanel*>()->question().targets.front(), std::string("2"));
        QVERIFY(heatmapOf(window).content().isPicture);
    }

    void aSampleIsNoRecentFile()
    {
        app::MainWindow window;
        QVERIFY(opens(window, "file.sample.groups"));
        for (const QString& file : window.shell().recent().files()) {
            QVERIFY2(!file.contains(QLatin1String("silent-groups")), qPrintable(file));
        }
    }
};

QTEST_MAIN(SamplesScenarioTest)
#include "samplesscenariotest.moc"
