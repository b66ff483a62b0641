// SPDX-License-Identifier: Apache-2.0
#include <QtTest>

#include "core/graph/graphbuilder.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/paint/style.h"
#include "views/palette/actionsource.h"
#include "views/palette/commandpalette.h"
#include "views/palette/runsources.h"

#include <QAbstractItemModelTester>
#include <QLineEdit>

using namespace retro;
using namespace retro::views;

namespace
{

constexpr std::array kActions{
    ActionSpec{"file.open", "&Open…", "Open a model", "open", "Ctrl+O"},
    ActionSpec{"view.fit", "&Fit", "Show the whole graph", "zoomfit", ""},
    ActionSpec{"go.forward", "Step &forward", "One step on", "forward", "F11"},
    ActionSpec{"go.never", "Step &nowhere", "Cannot be used", "back", ""},
};

/// A window with a field that has the focus, a palette over it, and the tiny run.
struct Window
{
    tests::ViewContext context;
    ActionRegistry actions;
    QWidget window;
    QLineEdit* field = new QLineEdit(&window);
    CommandPalette* palette = new CommandPalette(&window);

    Window()
    {
        actions.addAll(kActions);
        actions.at("go.never").setEnabled(false);
        const PaletteContext run{context.model, context.cursor, context.selection};
        palette->addSource(std::make_unique<ActionSource>(actions));
        palette->addSource(std::make_unique<NodeSource>(run));
        palette->addSource(std::make_unique<VisitSource>(run));
        palette->addSource(std::make_unique<PromiseSource>(run));
        window.resize(900, 600);
        window.show();
        window.activateWindow();
        field->setFocus();
    }

    QStringList texts(const QString& typed)
    {
        palette->model().setText(typed);
        QStringList found;
        for (int row = 0; row < palette->model().rowCount(); ++row) {
            found << palette->model().itemAt(row).text;
        }
        return found;
    }

    void type(const QString& text) { QTest::keyClicks(&palette->field(), text); }
    void press(Qt::Key key, Qt::KeyboardModifiers modifiers = {})
    {
        QTest::keyClick(&palette->field(), key, modifiers);
    }
};

} // namespace

class CommandPaletteTest : public QObject
{
    Q_OBJECT
private slots:
    void initTestCase() { Style::install(*qApp); }

    void listsActionsWithKeys()
    {
        Window w;
        QCOMPARE(w.texts({}), (QStringList{"Open", "Fit", "Step forward", "Step nowhere"}));
        QCOMPARE(w.palette->model().itemAt(0).key, QStringLiteral("Ctrl+O"));
        QVERIFY(!w.palette->model().itemAt(3).isEnabled);
        QCOMPARE(w.texts("sf"), QStringList{"Step forward"});
        w.actions.at("view.fit").setVisible(false);
        QVERIFY(!w.texts({}).contains("Fit"));
    }

    void lastUsedComesFirst()
    {
        Window w;
        w.actions.at("go.forward").trigger();
        QCOMPARE(w.texts({}).front(), QStringLiteral("Step forward"));
        w.actions.at("view.fit").trigger();
        QCOMPARE(w.texts({}).mid(0, 2), (QStringList{"Fit", "Step forward"}));
        QCOMPARE(w.actions.used(), (QStringList{"view.fit", "go.forward"}));
    }

    void signsAskOneKind()
    {
        Window w;
        QCOMPARE(w.texts("@"), QStringList());
        QCOMPARE(w.texts("#3"), QStringList());
        w.context.showTinyRun();
        QCOMPARE(w.texts("@conv").size(), qsizetype{2});
        QVERIFY(w.texts("@conv1").front().endsWith("conv1"));
        QCOMPARE(w.texts("@").size(), static_cast<qsizetype>(tests::kTinyNodes));
        QVERIFY(!w.texts("relu").filter("relu1").isEmpty()); // layers also without a sign, from two letters on
        QVERIFY(w.texts("r").filter("relu1").isEmpty());
        QCOMPARE(w.texts("#3").front(), QStringLiteral("Visit 3"));
        QCOMPARE(w.texts("#99999"), QStringList());
        QVERIFY(w.texts("#conv2").front().startsWith("Visit "));
        QVERIFY(w.texts("!").front().startsWith("P0"));
        w.context.cursor.moveTo(0);
        QCOMPARE(w.texts("#").size(), static_cast<qsizetype>(tests::kTinyVisits));
        QCOMPARE(w.palette->model().itemAt(0).text, QStringLiteral("Visit 1"));
    }

    /// A node has its short name; its path stands beside it, or in its place when it was asked for by that.
    void namesAreShortUnlessThePathIsTyped()
    {
        graph::GraphBuilder builder("deep");
        const auto image = builder.addInput("image", tensor::DType::Float32, tensor::Shape{1, 3});
        graph::Node node;
        node.op = "Relu";
        node.name = "/model/layer.1/attention/query";
        node.scope = "/model/layer.1/attention";
        node.opset = 17;
        node.inputs = {image};
        node.outputs = {builder.addResult("out")};
        builder.setOpset("", 17);
        builder.addOutput(node.outputs.front());
        builder.addNode(std::move(node));
        auto run = std::make_shared<trace::Run>();
        run->graph = std::make_shared<const graph::Graph>(std::move(std::move(builder).build()).value());
        run->shapes = {{1, 3}, {1, 3}};
        RETRO_MADE(timeline, trace::Timeline::open(run));
        Window w;
        w.context.model.setRun({run, std::make_shared<trace::Timeline>(std::move(timeline).value())}, {});
        QCOMPARE(w.texts("@query").front(), QStringLiteral("attention/query"));
        QCOMPARE(w.palette->model().itemAt(0).detail, QStringLiteral("Relu, /model/layer.1/attention/query"));
        QCOMPARE(w.texts("@layer.1").front(), QStringLiteral("/model/layer.1/attention/query"));
        QCOMPARE(w.palette->model().itemAt(0).detail, QStringLiteral("Relu"));
    }

    void modelIsSound()
    {
        Window w;
        const QAbstractItemModelTester tester(&w.palette->model(),
                                              QAbstractItemModelTester::FailureReportingMode::QtTest);
        w.context.showTinyRun();
        for (const char* text : {"", "@", "#", "!", "conv", "no such thing"}) {
            w.palette->model().setText(QLatin1String(text));
        }
    }

    void keysChooseAndClose()
    {
        Window w;
        w.context.showTinyRun();
        QVERIFY(QTest::qWaitForWindowActive(&w.window, 30'000));
        w.palette->open();
        QVERIFY(w.palette->isVisible());
        QVERIFY(w.palette->field().hasFocus());
        w.press(Qt::Key_Escape);
        QVERIFY(!w.palette->isVisible());
        QVERIFY(w.field->hasFocus());

        QSignalSpy opened(&w.actions.at("file.open"), &QAction::triggered);
        QSignalSpy fitted(&w.actions.at("view.fit"), &QAction::triggered);
        w.palette->open();
        w.press(Qt::Key_Down);
        w.press(Qt::Key_Return);
        QCOMPARE(opened.count(), 0);
        QCOMPARE(fitted.count(), 1);
        QVERIFY(!w.palette->isVisible());

        w.palette->open();
        w.type("nowhere");
        w.press(Qt::Key_Return); // cannot be used: nothing happens, the palette stays
        QVERIFY(w.palette->isVisible());
    }

    void aLayerIsSelectedOrGoneTo()
    {
        Window w;
        w.context.showTinyRun();
        const std::uint64_t end = w.context.cursor.position();
        w.palette->open("@conv2");
        w.press(Qt::Key_Return);
        QVERIFY(w.context.selection.node() == base::NodeId(std::uint32_t{tests::kConv2}));
        QCOMPARE(w.context.cursor.position(), end); // selecting never moves time
        w.palette->open("@conv2");
        w.press(Qt::Key_Return, Qt::ControlModifier);
        QCOMPARE(std::optional(w.context.cursor.position()),
                 w.context.model.relevanceStep(base::NodeId(std::uint32_t{tests::kConv2})));
    }

    void stepsAndPromisesAreGoneTo()
    {
        Window w;
        w.context.showTinyRun();
        w.palette->open("#2");
        w.press(Qt::Key_Return);
        QCOMPARE(w.context.cursor.position(), tests::endOfVisit(w.context.model, 1));
        w.context.cursor.moveTo(0);
        w.palette->open("!P0");
        w.press(Qt::Key_Return);
        QVERIFY(w.context.selection.promise() == base::PromiseId(std::uint32_t{0}));
        QVERIFY(w.context.cursor.position() > 0); // it was not there yet
    }

    void aClickElsewhereCloses()
    {
        Window w;
        QVERIFY(QTest::qWaitForWindowActive(&w.window, 30'000));
        w.palette->open();
        QTest::mouseClick(w.field, Qt::LeftButton);
        w.field->setFocus(Qt::MouseFocusReason);
        QVERIFY(!w.palette->isVisible());
    }

    void fitsSmallWindows()
    {
        Window w;
        w.window.resize(360, 240);
        w.palette->open();
        QVERIFY(w.window.rect().contains(w.palette->geometry()));
        w.window.resize(320, 200);
        QTRY_VERIFY_WITH_TIMEOUT(w.window.rect().contains(w.palette->geometry()), 30'000);
    }
};

QTEST_MAIN(CommandPaletteTest)
#include "tst_commandpalette.moc"
