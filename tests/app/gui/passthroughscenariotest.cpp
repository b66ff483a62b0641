// SPDX-License-Identifier: Apache-2.0
// A model with an operator that is not implemented: looked at, then gone on with by the person's own choice.
#include <QtTest>

#include "app/gui/window/mainwindow.h"
#include "core/base/file.h"
#include "core/formats/onnx.h"
#include "core/graph/graphbuilder.h"
#include "tests/app/gui/settles.h"
#include "views/common/paint/style.h"
#include "views/common/view.h"
#include "views/run/runpanel.h"

#include <QLabel>
#include <QPushButton>
#include <QTemporaryDir>

#include <algorithm>

using namespace retro;
using tests::kPatience;
using tests::settles;

namespace
{

/// x → Relu → acme.Quantize → Neg.
QString writeModel(const QTemporaryDir& folder)
{
    graph::GraphBuilder builder("strange", 17);
    builder.setOpset("acme", 1);
    base::ValueId at = builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, 4});
    const auto then = [&](const char* op, const char* domain, const char* name, std::int64_t opset) {
        const base::ValueId result = builder.addResult(std::string(name) + "_out");
        builder.addNode({op, domain, name, "", opset, {at}, {result}, {}});
        at = result;
    };
    then("Relu", "", "relu", 17);
    then("Quantize", "acme", "quantize", 1);
    then("Neg", "", "neg", 17);
    builder.addOutput(at);
    const auto graph = std::move(builder).build();
    const auto bytes = graph.ok() ? formats::toOnnx(*graph) : graph.error();
    const QString file = folder.filePath("strange.onnx");
    return bytes.ok() && base::writeFile(file.toStdString(), *bytes).ok() ? file : QString();
}

QPushButton* button(const QWidget& panel, const QString& text)
{
    const auto all = panel.findChildren<QPushButton*>();
    const auto at = std::find_if(all.begin(), all.end(), [&](const QPushButton* one) { return one->text() == text; });
    return at == all.end() ? nullptr : *at;
}

bool says(const QWidget& panel, const QString& words)
{
    const auto labels = panel.findChildren<QLabel*>();
    return std::any_of(labels.begin(), labels.end(),
                       [&](const QLabel* label) { return label->isVisible() && label->text().contains(words); });
}

} // namespace

class PassThroughScenarioTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { views::Style::install(*qApp); }

    void aPersonGoesOnWithAnUnknownOperator()
    {
        const QTemporaryDir folder;
        app::MainWindow window;
        window.resize(1600, 1000);
        window.show();
        const auto settles = [&] { return QTest::qWaitFor([&] { return !window.isBusy(); }, kPatience); };
        window.open(writeModel(folder), {QStringLiteral("random:1")});
        QVERIFY(settles());
        auto& panel = *window.findChild<views::RunPanel*>();
        QVERIFY(says(panel, QStringLiteral("Quantize")));
        QPushButton* goOn = button(panel, QStringLiteral("Continue with pass-through"));
        QVERIFY(goOn != nullptr && goOn->isVisible());
        QVERIFY(window.model().hasRun() && window.model().run().events.empty());
        for (const views::View* view :
             window.findChildren<views::View*>()) { // nothing is claimed of a run that is none
            QVERIFY2(!view->title().contains(QStringLiteral("“”")), qPrintable(view->title()));
            QVERIFY2(!view->hint().contains(QStringLiteral(" ,")), qPrintable(view->hint()));
        }
        QVERIFY(says(window, QStringLiteral("Nothing was run yet")));
        QVERIFY(!says(window, QStringLiteral("does not hold its input")));

        QTest::mouseClick(goOn, Qt::LeftButton);
        QVERIFY(settles());
        QVERIFY2(window.lastError().isEmpty(), qPrintable(window.lastError()));
        QVERIFY(!goOn->isVisible());
        QVERIFY(panel.isVisible());
        QVERIFY(says(panel, QStringLiteral("neither computed nor conserved")));
        RETRO_MADE(node, window.model().graph().findNode("quantize"));
        QCOMPARE(window.model().graph().node(*node).op, std::string("PassThrough"));
    }
};

QTEST_MAIN(PassThroughScenarioTest)
#include "passthroughscenariotest.moc"
