// SPDX-License-Identifier: Apache-2.0
// Verifying the model and input on screen, in the window: asked by the action, shown in its dock, stopped, refused.
#include <QtTest>

#include "app/gui/window/mainwindow.h"
#include "app/gui/window/workspaces.h"
#include "views/common/paint/style.h"
#include "views/graph/graphcanvas.h"
#include "views/graph/graphview.h"
#include "views/verify/memorypage.h"
#include "views/verify/propertymodel.h"
#include "views/verify/storagecurve.h"
#include "views/verify/storagemodel.h"
#include "views/verify/verificationview.h"

#include <QCheckBox>
#include <QStatusBar>
#include <QTableView>
#include <QTemporaryDir>
#include <QToolButton>

using namespace retro;

namespace
{

constexpr int kPatience = 120'000;
const QString kSamples = QStringLiteral(RETRO_SOURCE_DIR "/samples/");

struct Stage
{
    app::MainWindow window;

    Stage()
    {
        window.resize(1600, 1000);
        window.show();
        window.open(kSamples + "silent-groups/one-group.onnx");
    }
    [[nodiscard]] bool settles()
    {
        const bool isDone = QTest::qWaitFor([&] { return !window.isBusy(); }, kPatience);
        window.flush();
        return isDone;
    }
    [[nodiscard]] views::VerificationView& view() { return *window.findChild<views::VerificationView*>(); }
    void verify() { window.actions().at(QStringLiteral("run.verify")).trigger(); }
};

} // namespace

class VerificationScenarioTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { views::Style::install(*qApp); }

    void theModelOnScreenIsVerified()
    {
        Stage stage;
        QVERIFY(stage.settles());
        QVERIFY2(stage.window.lastError().isEmpty(), qPrintable(stage.window.lastError()));
        stage.verify();
        QVERIFY(stage.window.isBusy());
        QCOMPARE(stage.window.workspace().id(), QStringLiteral("engine"));
        QVERIFY(stage.view().isVisible()); // in front of the other tabs
        QVERIFY(stage.settles());
        QVERIFY(stage.view().verification() != nullptr);
        QVERIFY(stage.view().verification()->properties.size() >= 19);
        QVERIFY2(stage.view().summary().contains("0 violated"), qPrintable(stage.view().summary()));
        QTRY_VERIFY2(stage.window.statusBar()->currentMessage().startsWith("Verified: "),
                     qPrintable(stage.window.statusBar()->currentMessage()));
        // Every node of the run that is checked is one of the run's graph, and its row leads to it.
        const graph::Graph& graph = stage.window.model().graph();
        for (const views::CheckedNode& one : stage.view().verification()->nodes) {
            QVERIFY(one.node.index() < graph.nodeCount());
        }
        const auto& properties = stage.view().verification()->properties;
        const auto at = std::ranges::find(properties, QStringLiteral("P8"), &views::CheckedProperty::id);
        QVERIFY(at != properties.end() && at->node.isValid());
        const int row = static_cast<int>(at - properties.begin());
        stage.view()
            .findChild<QTableView*>(QStringLiteral("properties"))
            ->setCurrentIndex(stage.view().properties().index(row, 1));
        QCOMPARE(stage.window.selection().node(), std::optional(at->node));
    }

    void anotherQuestionForgetsWhatWasFound()
    {
        Stage stage;
        QVERIFY(stage.settles());
        stage.verify();
        QVERIFY(stage.settles());
        QVERIFY(stage.view().verification() != nullptr);
        stage.window.open(kSamples + "silent-groups/one-group.onnx");
        QVERIFY(stage.settles());
        QVERIFY(stage.view().verification() == nullptr);
        QVERIFY2(stage.view().summary().contains("Not verified"), qPrintable(stage.view().summary()));
    }

    void itIsStoppedAndAskedAgain()
    {
        Stage stage;
        QVERIFY(stage.settles());
        stage.verify();
        stage.window.engine().stop();
        QVERIFY(stage.settles());
        QVERIFY(stage.window.lastError().isEmpty());
        stage.verify();
        QVERIFY(stage.settles());
        QVERIFY(stage.view().verification() != nullptr);
    }

    void thePagesOfTheModelOnScreen()
    {
        Stage stage;
        QVERIFY(stage.settles());
        const auto show = [&](const char* page) {
            stage.window.actions().at(QStringLiteral("run.verify.") + QLatin1String(page)).trigger();
            stage.window.flush();
        };
        const auto& view = stage.view();
        show("step");
        QCOMPARE(view.message(), QStringLiteral("Nothing is broken up to this step"));
        show("reach");
        QTRY_VERIFY_WITH_TIMEOUT(view.message().contains("are visited from every input to"), kPatience);
        show("rewrites");
        QTRY_VERIFY_WITH_TIMEOUT(view.message().contains("nodes in the file"), kPatience);
        show("storage");
        views::MemoryPage& memory = view.memory();
        QTRY_VERIFY_WITH_TIMEOUT(!memory.curve().now().bytes.empty(), kPatience);
        const std::vector<std::int64_t> all = memory.curve().now().bytes;
        std::set<std::uint32_t> every;
        for (int row = 0; row < memory.items().rowCount(); ++row) {
            every.insert(memory.items().tensorAt(row)->id);
        }
        QVERIFY(!every.empty());
        memory.items().setRebuilt(every);
        QTRY_VERIFY_WITH_TIMEOUT(memory.curve().now().bytes != all, kPatience);
        stage.window.open(kSamples + "silent-groups/one-group.onnx"); // another model object: everything is stored
        QVERIFY(stage.settles());
        QTRY_VERIFY_WITH_TIMEOUT(memory.curve().now().bytes == all, kPatience);
    }

    void theGradientRunsByTheMarks()
    {
        Stage stage;
        QVERIFY(stage.settles());
        stage.window.actions().at(QStringLiteral("run.verify.storage")).trigger();
        stage.window.flush();
        views::MemoryPage& memory = stage.view().memory();
        const views::StorageModel& items = memory.items();
        QTRY_VERIFY_WITH_TIMEOUT(!memory.curve().now().bytes.empty(), kPatience);
        QVERIFY(items.rowCount() > 1 && items.forwarded().empty());
        memory.items().setRebuilt({items.tensorAt(0)->id});
        memory.findChild<QToolButton*>(QStringLiteral("run"))->click();
        QVERIFY(stage.settles());
        const trace::Run& run = stage.window.model().run();
        QCOMPARE(run.facts.composite, std::string("gradient"));
        QCOMPARE(run.facts.save, std::string("forwarded"));
        QVERIFY(std::ranges::any_of(run.events,
                                    [](const event::Event& one) { return one.kind == event::EventKind::Recompute; }));
        // The marks are still there, and what the run did stands beside each.
        QCOMPARE(items.rebuilt(), std::set<std::uint32_t>{items.tensorAt(0)->id});
        QCOMPARE(items.forwarded().size(), static_cast<std::size_t>(items.rowCount()));
        for (int row = 0; row < items.rowCount(); ++row) {
            QVERIFY(items.tensorAt(row) != nullptr && items.forwardedAt(row) != nullptr);
            const bool isRebuilt = items.forwardedAt(row)->what.form == trace::ForwardedForm::Rebuild;
            QCOMPARE(isRebuilt, row == 0);
        }
        QVERIFY(memory.detail().startsWith("This run kept"));
        // Packed where the rules look at signs and winners alone; elsewhere the reason is given.
        memory.findChild<QCheckBox*>()->setChecked(true);
        memory.findChild<QToolButton*>(QStringLiteral("run"))->click();
        QVERIFY(stage.settles());
        const auto isPacked = [](const views::ForwardedTensor& one) {
            return one.what.form == trace::ForwardedForm::Compress;
        };
        QVERIFY(std::ranges::any_of(items.forwarded(), isPacked));
        QCOMPARE(items.forwardedAt(0)->what.form, trace::ForwardedForm::Rebuild);
    }

    void theGraphShowsWhatWasFound()
    {
        Stage stage;
        QVERIFY(stage.settles());
        auto* graph = stage.window.findChild<views::GraphView*>();
        QVERIFY(stage.window.showWorkspace(QStringLiteral("engine")));
        QTRY_VERIFY_WITH_TIMEOUT(!graph->isLayoutRunning() && graph->canvas().scene() != nullptr, kPatience);
        graph->setColourBy(views::ColourBy::Check);
        stage.window.flush();
        const QImage before = graph->grab().toImage();
        stage.verify();
        QVERIFY(stage.settles());
        QVERIFY(graph->grab().toImage() != before);
    }

    void withoutAModelItSaysWhy()
    {
        app::MainWindow window;
        window.show();
        window.actions().at(QStringLiteral("run.verify")).trigger();
        QVERIFY(!window.isBusy());
        RETRO_SAYS(window.statusBar()->currentMessage(), "open a model");
        const QTemporaryDir folder;
        const QString file = folder.filePath("run.retro");
        {
            Stage stage;
            QVERIFY(stage.settles());
            stage.window.engine().saveRun(stage.window.model().sharedRun(), file);
            QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(file), kPatience);
        }
        window.open(file);
        QVERIFY(QTest::qWaitFor([&] { return !window.isBusy(); }, kPatience));
        QVERIFY2(window.lastError().isEmpty(), qPrintable(window.lastError()));
        window.actions().at(QStringLiteral("run.verify")).trigger();
        QVERIFY(!window.isBusy());
        RETRO_SAYS(window.findChild<views::VerificationView*>()->summary(), "recorded run");
    }
};

QTEST_MAIN(VerificationScenarioTest)
#include "verificationscenariotest.moc"
