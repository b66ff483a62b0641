// SPDX-License-Identifier: Apache-2.0
// A model with free axes: a person gives their extents in the run panel; a model whose weights are not there.
#include <QtTest>

#include "app/gui/window/mainwindow.h"
#include "core/base/file.h"
#include "core/formats/onnx.h"
#include "core/graph/graphbuilder.h"
#include "tests/app/gui/settles.h"
#include "views/common/paint/style.h"
#include "views/run/runpanel.h"

#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTemporaryDir>

#include <algorithm>

using namespace retro;
using tests::kPatience;
using tests::settles;

namespace
{

/// x [N, 3, ?, ?] → mean over rows and columns → y.
QString writeModel(const QTemporaryDir& folder)
{
    graph::GraphBuilder builder("free", 17);
    const std::vector<graph::Dimension> shape{{std::nullopt, "N"}, {3, ""}, {std::nullopt, "?"}, {std::nullopt, "?"}};
    const base::ValueId x = builder.addInput("x", tensor::DType::Float32, std::optional(shape));
    const base::ValueId mean = builder.addOp("GlobalAveragePool", "pool", {x}, "mean");
    const base::ValueId y = builder.addOp("Flatten", "flat", {mean}, "y");
    builder.addOutput(y);
    const auto graph = std::move(builder).build();
    const auto bytes = graph.ok() ? formats::toOnnx(*graph) : graph.error();
    const QString file = folder.filePath("free.onnx");
    return bytes.ok() && base::writeFile(file.toStdString(), *bytes).ok() ? file : QString();
}

QPushButton* runButton(const QWidget& panel)
{
    const auto all = panel.findChildren<QPushButton*>();
    const auto at = std::ranges::find_if(all, [](const QPushButton* one) { return one->text() == "Run"; });
    return at == all.end() ? nullptr : *at;
}

bool says(const QWidget& panel, const QString& words)
{
    const auto labels = panel.findChildren<QLabel*>();
    return std::ranges::any_of(
        labels, [&](const QLabel* label) { return label->isVisible() && label->text().contains(words); });
}

} // namespace

class ShapeScenarioTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { views::Style::install(*qApp); }

    void aPersonGivesTheShape()
    {
        const QTemporaryDir folder;
        app::MainWindow window;
        window.resize(1600, 1000);
        window.show();
        const auto settles = [&] { return QTest::qWaitFor([&] { return !window.isBusy(); }, kPatience); };
        window.open(writeModel(folder));
        QVERIFY(settles());
        window.showWorkspace(QStringLiteral("explain")); // a model without a card opens in Engine
        auto& panel = *window.findChild<views::RunPanel*>();
        auto* field = panel.findChild<QLineEdit*>(QStringLiteral("shape"));
        QVERIFY(field != nullptr && field->isVisible());
        QCOMPARE(field->placeholderText(), QStringLiteral("N×3×?×?"));
        engine::Question question = panel.question();
        question.inputs = {"random:1"};
        panel.setQuestion(question);

        const auto runsWith = [&](const char* shape) {
            field->setFocus();
            field->clear();
            QTest::keyClicks(field, QString::fromLatin1(shape));
            QTest::keyClick(field, Qt::Key_Return);
            const bool isReady =
                QTest::qWaitFor([&] { return !window.isBusy() && runButton(panel)->isEnabled(); }, kPatience);
            QTest::mouseClick(runButton(panel), Qt::LeftButton);
            return isReady && settles() && window.lastError().isEmpty();
        };
        QVERIFY2(runsWith("2x3x4x5"), qPrintable(window.lastError()));
        const auto shapeOfRun = [&] {
            return window.model().run().shapes.at(window.model().graph().inputs()[0].index());
        };
        QCOMPARE(shapeOfRun(), (tensor::Shape{2, 3, 4, 5}));
        QCOMPARE(field->text(), QStringLiteral("2x3x4x5"));
        QVERIFY2(runsWith("x=1x3x7x2"), qPrintable(window.lastError()));
        QCOMPARE(shapeOfRun(), (tensor::Shape{1, 3, 7, 2}));

        field->clear();
        QTest::keyClicks(field, QStringLiteral("1x4x2x2"));
        QTest::keyClick(field, Qt::Key_Return);
        QVERIFY(QTest::qWaitFor([&] { return !runButton(panel)->isEnabled(); }, kPatience));
        QVERIFY(says(panel, QStringLiteral("axis 1 of the input is 3")));
    }
};

QTEST_MAIN(ShapeScenarioTest)
#include "shapescenariotest.moc"
