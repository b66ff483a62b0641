// SPDX-License-Identifier: Apache-2.0
// What a person sees of a model that cannot be explained yet, and where it is opened.
#include <QtTest>

#include "app/gui/shell/shell.h"
#include "app/gui/shell/welcomepage.h"
#include "app/gui/stepping/nowline.h"
#include "app/gui/stepping/transportbar.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/needsbar.h"
#include "app/gui/window/planbar.h"
#include "app/gui/window/workspaces.h"
#include "core/engine/explainer/relevancegraph.h"
#include "core/engine/model/loadmodel.h"
#include "views/common/paint/style.h"
#include "views/plan/plannerbox.h"
#include "views/run/runpanel.h"

#include <QLabel>
#include <QPushButton>
#include <QStatusBar>
#include <QTemporaryDir>
#include <QToolButton>

#include <algorithm>

using namespace retro;

namespace
{

bool firstSettles(const app::MainWindow& window)
{
    return QTest::qWaitFor([&] { return !window.isBusy(); }, 60'000);
}

QPushButton* buttonOf(const QWidget& parent, const QString& text)
{
    for (QPushButton* button : parent.findChildren<QPushButton*>()) {
        if (button->text() == text && button->isVisible()) {
            return button;
        }
    }
    return nullptr;
}

QStringList statusTexts(const app::MainWindow& window)
{
    QStringList texts;
    for (const QLabel* label : window.statusBar()->findChildren<QLabel*>()) {
        texts.append(label->text());
    }
    return texts;
}

} // namespace

class FirstMinuteTest : public QObject
{
    Q_OBJECT
private slots:
    void initTestCase() { views::Style::install(*qApp); }

    /// Without a card nobody knows an input: the graph is there, and in words what is missing.
    void aModelWithoutACardShowsItsGraphAndWhatItNeeds()
    {
        const QTemporaryDir folder;
        const QString bare = folder.filePath(QStringLiteral("bare.onnx"));
        QVERIFY(QFile::copy(QStringLiteral(RETRO_SOURCE_DIR "/samples/clever-hans/clever-hans.onnx"), bare));
        app::MainWindow window;
        window.show();
        window.open(bare);
        QVERIFY(firstSettles(window));
        QVERIFY2(window.lastError().isEmpty(), qPrintable(window.lastError()));
        QCOMPARE(window.workspace().id(), QStringLiteral("engine"));
        auto* needs = window.findChild<app::NeedsBar*>();
        QVERIFY(needs != nullptr && needs->isVisible());
        for (const char* word : {"image", "96", "RGB from 0 to 1", "largest score", "logits"}) {
            QVERIFY2(needs->sentence().contains(QLatin1String(word)), qPrintable(needs->sentence()));
        }
        QPushButton* random = buttonOf(*needs, QStringLiteral("Try random numbers"));
        QVERIFY(random != nullptr);
        random->click();
        QVERIFY(firstSettles(window));
        QVERIFY2(window.lastError().isEmpty(), qPrintable(window.lastError()));
        QVERIFY(window.model().run().eventCount() > 0);
        QCOMPARE(window.workspace().id(), QStringLiteral("explain"));
        QVERIFY(!needs->isVisible());
    }

    void anExplanationSaysWhatItIs()
    {
        const QTemporaryDir folder;
        const QString file = folder.filePath(QStringLiteral("explainer.onnx"));
        RETRO_MADE(sample, engine::loadModel(RETRO_SOURCE_DIR "/samples/clever-hans/clever-hans.onnx"));
        engine::ExplainRequest request;
        request.composite = "epsilon_plus";
        QVERIFY(engine::writeRelevanceGraph(file.toStdString(), sample.value(), request, {}).ok());
        app::MainWindow window;
        window.show();
        window.open(file);
        QVERIFY(firstSettles(window));
        QVERIFY2(window.lastError().isEmpty(), qPrintable(window.lastError()));
        auto* needs = window.findChild<app::NeedsBar*>();
        QVERIFY(needs != nullptr && needs->isVisible());
        for (const char* word : {"This file is an explanation", "epsilon_plus", "logits", "image", "target"}) {
            QVERIFY2(needs->sentence().contains(QLatin1String(word)), qPrintable(needs->sentence()));
        }
        QVERIFY(buttonOf(*needs, QStringLiteral("Try random numbers")) == nullptr);
    }

    void aGraphWithoutValuesOpensInPlan()
    {
        app::MainWindow window;
        window.show();
        window.open(QStringLiteral(RETRO_SOURCE_DIR "/samples/graphs/chain-48.json"));
        QVERIFY(firstSettles(window));
        QCOMPARE(window.workspace().id(), QStringLiteral("plan"));
        QVERIFY(!window.findChild<app::NeedsBar*>()->isVisible());
        QString problem;
        for (const QLabel* label : window.findChild<app::ExplainWorkspace*>()->runPanel().findChildren<QLabel*>()) {
            problem = label->text().contains(QStringLiteral("planned for")) ? label->text() : problem;
        }
        QVERIFY(!problem.isEmpty());
        QVERIFY2(problem.size() < 160, qPrintable(problem)); // no list of operators
    }

    void planHasOneTransport()
    {
        app::MainWindow window;
        window.show();
        window.open({});
        QVERIFY(firstSettles(window));
        auto* run = window.findChild<app::TransportBar*>();
        auto* plan = window.findChild<app::PlanBar*>();
        QVERIFY(run->isVisible() && !plan->isVisible());
        window.showWorkspace(QStringLiteral("plan"));
        QVERIFY(!run->isVisible() && plan->isVisible());
        QVERIFY(QTest::qWaitFor([&] { return window.plan().plan() != nullptr; }, 60'000));
        window.actions().at("plan.first").trigger();
        QCOMPARE(plan->position().text(), QStringLiteral("1"));
        plan->position().setText(QStringLiteral("4"));
        QTest::keyClick(&plan->position(), Qt::Key_Return);
        QCOMPARE(window.plan().step(), 3U);
        window.actions().at("plan.last").trigger();
        QCOMPARE(std::size_t{window.plan().step()} + 1, window.plan().plan()->matrix.columns().size());
        window.closeModel();
        QVERIFY(!run->isVisible() && !plan->isVisible());
        window.open({});
        QVERIFY(firstSettles(window));
        QVERIFY(!run->isVisible() && plan->isVisible());
        window.showWorkspace(QStringLiteral("engine"));
        QVERIFY(run->isVisible() && !plan->isVisible());
    }

    /// From left to right: steps, what is planned for, position, what the step does with its figures, who plans, and
    /// what can be done; whole in a small window with large text.
    void thePlanBarHasItsOrder()
    {
        for (const double scale : {1.0, 1.25}) {
            views::Style::install(*qApp, scale);
            app::MainWindow window;
            window.resize(scale > 1 ? QSize(1280, 800) : QSize(1600, 1000));
            window.show();
            window.open({});
            QVERIFY(firstSettles(window));
            window.showWorkspace(QStringLiteral("plan"));
            QVERIFY(QTest::qWaitFor([&] { return window.plan().plan() != nullptr; }, 60'000));
            QTest::qWait(0);
            auto* bar = window.findChild<app::PlanBar*>();
            std::vector<std::pair<int, QString>> parts;
            const auto add = [&](const QWidget* part, const QString& name) {
                QVERIFY2(part != nullptr && part->isVisible(), qPrintable(name));
                const QRect place(part->mapTo(bar, QPoint()), part->size());
                QVERIFY2(bar->rect().contains(place), qPrintable(name));
                parts.emplace_back(place.left(), name);
            };
            const QStringList steps{"plan.first",   "plan.turnback", "plan.back", "plan.play",
                                    "plan.forward", "plan.turn",     "plan.last"};
            QStringList order;
            for (const QString& id : steps) {
                add(bar->widgetForAction(&window.actions().at(id)), id);
                order.append(id);
            }
            const auto button = [&](const QString& id) -> QWidget* {
                for (QToolButton* one : bar->findChildren<QToolButton*>()) {
                    if (one->defaultAction() == &window.actions().at(id)) {
                        return one;
                    }
                }
                return nullptr;
            };
            add(button("plan.for.gradient"), "gradient");
            add(button("plan.for.relevance"), "relevance");
            add(&bar->position(), "position");
            add(bar->findChild<app::NowLine*>(), "now");
            add(bar->findChild<views::PlannerBox*>(), "planner");
            add(button("plan.run"), "run");
            add(button("export.plan"), "export");
            order += QStringList{"gradient", "relevance", "position", "now", "planner", "run", "export"};
            std::sort(parts.begin(), parts.end());
            QStringList shown;
            for (const auto& part : parts) {
                shown.append(part.second);
            }
            QCOMPARE(shown, order);
            const QStringList figures = bar->findChild<app::NowLine*>()->shownFigures();
            QVERIFY(scale > 1 || (!figures.isEmpty() && figures.front().startsWith("live now")));
            const auto* arrow = bar->findChild<QToolButton*>("qt_toolbar_ext_button");
            QVERIFY(arrow == nullptr || !arrow->isVisible());
            // To a promise and back: the step is another, and the same again.
            window.actions().at("plan.first").trigger();
            window.plan().setBudget(window.plan().subject()->storeAllPeak * 7 / 10);
            QVERIFY(QTest::qWaitFor(
                [&] { return !window.plan().isPlanning() && window.plan().plan()->matrix.nextTurn(0, true); }, 60'000));
            window.actions().at("plan.turn").trigger();
            const std::uint32_t first = window.plan().step();
            QVERIFY(first > 0);
            window.actions().at("plan.turn").trigger();
            QVERIFY(window.plan().step() > first);
            window.actions().at("plan.turnback").trigger();
            QCOMPARE(window.plan().step(), first);
        }
        views::Style::install(*qApp);
    }

    void theWelcomePageListsEverySample()
    {
        app::MainWindow window;
        window.show();
        QStringList names;
        for (const app::WelcomeRow* row : window.findChildren<app::WelcomeRow*>()) {
            names.append(row->text());
            QVERIFY2(row->toolTip().size() > 20, qPrintable(row->text())); // its story
        }
        for (const char* name : {"Silent groups", "Marked step", "Planted word", "One segment", "LUT digits",
                                 "Marked byte", "LUT skips"}) {
            QVERIFY2(names.contains(QLatin1String(name)), name);
        }
        window.actions().at("file.sample.digits").trigger();
        QVERIFY(firstSettles(window));
        QVERIFY2(window.lastError().isEmpty(), qPrintable(window.lastError()));
    }

    /// Tool bar, panel and status bar count the nodes that run alike; the status says what goes on.
    void theStatusSaysWhatIs()
    {
        app::MainWindow window;
        window.show();
        window.open({});
        RETRO_SAYS(statusTexts(window).join(' '), QStringLiteral("Opening"));
        QVERIFY(firstSettles(window));
        const auto count = static_cast<qlonglong>(window.model().graph().runNodeCount());
        const QString nodes = QStringLiteral("%1 nodes").arg(count);
        const QString texts = statusTexts(window).join(' ');
        RETRO_SAYS(texts, nodes, QStringLiteral("Ready"));
        QString panel;
        for (const QLabel* label : window.findChild<app::ExplainWorkspace*>()->runPanel().findChildren<QLabel*>()) {
            panel += label->text() + QLatin1Char('\n');
        }
        QVERIFY2(panel.contains(QStringLiteral("%1 run").arg(count)), qPrintable(panel));
        window.open(QStringLiteral("/nowhere/model.onnx"));
        QVERIFY(firstSettles(window));
        QVERIFY(statusTexts(window).join(' ').contains(QStringLiteral("Failed")));
    }
};

QTEST_MAIN(FirstMinuteTest)
#include "firstminutetest.moc"
