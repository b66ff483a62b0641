// SPDX-License-Identifier: Apache-2.0
// Memory ends: in a job of the engine, beside it, in a handler of the window. The window stays and says so.
#include <QtTest>

#include "app/common/guiapplication.h"
#include "app/gui/shell/problemscontroller.h"
#include "app/gui/shell/shell.h"
#include "app/gui/window/mainwindow.h"
#include "core/base/file.h"
#include "core/base/memoryaccount.h"
#include "core/base/memorylimit.h"
#include "core/formats/onnx.h"
#include "core/graph/graphbuilder.h"
#include "tests/app/gui/settles.h"
#include "views/common/jobrunner.h"
#include "views/common/paint/background.h"
#include "views/common/paint/style.h"

#include <QTemporaryDir>

#include <new>

using namespace retro;
using tests::settles;

namespace
{

/// What the list of problems says.
QString problemsOf(const app::MainWindow& window)
{
    QStringList lines;
    for (const views::Problem& problem : window.shell().problems().list().all()) {
        lines << problem.what + QLatin1Char('|') + problem.remedy;
    }
    return lines.join(QLatin1Char('\n'));
}

/// A model whose one input has `extent` elements.
QString writeModel(const QTemporaryDir& folder, std::int64_t extent)
{
    graph::GraphBuilder builder("wide", 13);
    const graph::ValueId x = builder.addInput("x", tensor::DType::Float32, tensor::Shape{extent});
    const graph::ValueId y = builder.addResult("y");
    graph::Node node;
    node.op = "Relu";
    node.name = "relu";
    node.opset = 13;
    node.inputs = {x};
    node.outputs = {y};
    builder.addNode(std::move(node));
    builder.addOutput(y);
    const auto graph = std::move(builder).build();
    const auto bytes = graph.ok() ? formats::toOnnx(*graph) : graph.error();
    const QString file = folder.filePath(QStringLiteral("wide%1.onnx").arg(extent));
    return bytes.ok() && base::writeFile(file.toStdString(), *bytes).ok() ? file : QString();
}

/// Throws when it gets an event.
class Thrower final : public QObject
{
public:
    bool event(QEvent*) override { throw std::bad_alloc(); }
};

} // namespace

class MemoryScenarioTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { views::Style::install(*qApp); }
    void cleanup() { base::MemoryLimit::choose(std::nullopt); }

    void aJobWithoutMemoryIsAProblemAndTheSessionStays()
    {
        app::MainWindow window;
        window.show();
        window.open({});
        RETRO_SETTLES(window);
        const auto* before = &window.model().run();
        const QString input = QStringLiteral(RETRO_SOURCE_DIR "/samples/clever-hans/jug-tagged.png");
        base::MemoryLimit::choose(1); // more than live() may become free: the first job lets go of its tensors later
        window.explainInput(input);
        QVERIFY(settles(window));
        RETRO_SAYS(problemsOf(window), "are needed, but", "Allow more memory");
        QCOMPARE(&window.model().run(), before); // what was shown is still there
        base::MemoryLimit::choose(std::nullopt);
        window.explainInput(input);
        RETRO_SETTLES(window);
        QVERIFY(&window.model().run() != before);
        QVERIFY2(problemsOf(window).isEmpty(), qPrintable(problemsOf(window)));
    }

    void anInputThatNoMachineHasRoomForIsAProblem()
    {
        const QTemporaryDir folder;
        app::MainWindow window;
        window.show();
        window.open(writeModel(folder, 1LL << 36), {"zeros"});
        QVERIFY(settles(window));
        RETRO_SAYS(problemsOf(window), "input 'x' [68719476736]: it needs 274.9 GB");
        window.open(writeModel(folder, (1LL << 62) + 1), {"random:1"});
        QVERIFY(settles(window));
        QTRY_VERIFY2_WITH_TIMEOUT(problemsOf(window).contains("input 'x' [4611686018427387905]"),
                                  qPrintable(window.lastError()), 60'000);
        window.open({});
        RETRO_SETTLES(window);
    }

    void workBesideTheJobsThatThrowsIsAProblem()
    {
        app::MainWindow window;
        views::JobRunner runner;
        runner.start([](const std::stop_token&) -> views::JobRunner::Delivery { throw std::bad_alloc(); });
        QTRY_VERIFY2(problemsOf(window).contains("no memory is left"), qPrintable(problemsOf(window)));
        QVERIFY(!runner.isRunning());
    }

    void aHandlerThatThrowsIsAProblem()
    {
        app::MainWindow window;
        Thrower thrower;
        QCoreApplication::postEvent(&thrower, new QEvent(QEvent::User));
        QTRY_VERIFY2(problemsOf(window).contains("no memory is left"), qPrintable(problemsOf(window)));
    }
};

int main(int argc, char** argv)
{
    app::GuardedApplication application(argc, argv);
    MemoryScenarioTest test;
    return QTest::qExec(&test, argc, argv);
}

#include "memoryscenariotest.moc"
