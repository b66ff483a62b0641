// SPDX-License-Identifier: Apache-2.0
// Breakpoints belong to a model and outlive the session.
#include <QtTest>

#include "app/gui/controllers/breakpointmemory.h"
#include "app/gui/shell/shell.h"
#include "app/gui/window/mainwindow.h"
#include "core/graph/graphbuilder.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/paint/style.h"

#include <QSettings>
#include <QTemporaryDir>

using namespace retro;

namespace
{

/// An empty store in a folder that goes away.
struct Store
{
    QTemporaryDir folder;
    QSettings settings{folder.filePath("settings.ini"), QSettings::IniFormat};
};

/// A session: a list of breakpoints over a store.
struct Session : tests::ViewContext
{
    explicit Session(QSettings& store) { memory.useStore(store); }

    /// Shows a run without steps; models of another operator have another structure.
    void showOther(const std::string& op = "Relu")
    {
        graph::GraphBuilder builder;
        graph::Node node;
        node.op = op;
        node.name = "only";
        node.inputs = {builder.addInput("x", tensor::DType::Float32, tensor::Shape{1})};
        node.outputs = {builder.addResult("y")};
        builder.addOutput(node.outputs.front());
        builder.addNode(std::move(node));
        auto run = std::make_shared<trace::Run>();
        run->graph = std::make_shared<const graph::Graph>(std::move(std::move(builder).build()).value());
        model.setRun({run, std::make_shared<trace::Timeline>(std::move(trace::Timeline::open(run)).value())});
    }

    void add(const char* condition) { QVERIFY(list.add(QLatin1String(condition)).ok()); }

    views::BreakpointList list{model};
    app::BreakpointMemory memory{model, list};
};

} // namespace

class BreakpointMemoryTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { views::Style::install(*qApp); }

    void theyOutliveTheSession()
    {
        Store store;
        const QStringList conditions{QStringLiteral("op Conv"), QStringLiteral("off node block1/add")};
        {
            Session session(store.settings);
            session.showTinyRun();
            session.add("op Conv");
            session.add("node block1/add");
            session.list.setEnabled(1, false);
            QCOMPARE(session.list.save(), conditions);
        }
        Session session(store.settings);
        QVERIFY(session.list.entries().empty()); // nothing is open
        session.showTinyRun();
        QCOMPARE(session.list.save(), conditions);
        QCOMPARE(session.list.active().size(), std::size_t{1});
        session.list.clear();
        Session last(store.settings);
        last.showTinyRun();
        QVERIFY(last.list.entries().empty());
    }

    void everyModelHasItsOwn()
    {
        Store store;
        Session session(store.settings);
        session.showTinyRun();
        session.add("op Conv");
        session.showOther();
        QVERIFY(session.list.entries().empty());
        session.add("op Relu");
        session.showTinyRun();
        QCOMPARE(session.list.save(), QStringList{QStringLiteral("op Conv")});
        session.showOther();
        QCOMPARE(session.list.save(), QStringList{QStringLiteral("op Relu")});
    }

    void anotherRunOfTheModelKeepsThem()
    {
        Store store;
        Session session(store.settings);
        session.showTinyRun();
        session.add("nan");
        session.model.clear();
        QCOMPARE(session.list.entries().size(), std::size_t{1});
        session.showTinyRun();
        QCOMPARE(session.list.save(), QStringList{QStringLiteral("nan")});
    }

    void theOldestModelIsForgotten()
    {
        Store store;
        Session session(store.settings);
        session.showTinyRun();
        session.add("nan");
        for (int i = 0; i < app::BreakpointMemory::kMostModels; ++i) {
            session.showOther("Op" + std::to_string(i));
            session.add("nan");
        }
        session.showTinyRun();
        QVERIFY(session.list.entries().empty());
        session.showOther("Op0");
        QCOMPARE(session.list.save(), QStringList{QStringLiteral("nan")});
    }

    void theWindowRemembersThem()
    {
        Store store;
        for (const bool isFirst : {true, false}) {
            app::MainWindow window;
            window.shell().remember(store.settings);
            window.model().setRun(tests::makeTinyRun(), tests::makeTinyInput());
            QCOMPARE(window.breakpoints().entries().empty(), isFirst);
            if (isFirst) {
                QVERIFY(window.breakpoints().add(QStringLiteral("op Gemm")).ok());
            }
        }
    }
};

QTEST_MAIN(BreakpointMemoryTest)
#include "breakpointmemorytest.moc"
