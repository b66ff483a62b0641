// SPDX-License-Identifier: Apache-2.0
// A model or input with a planted fault is opened in the window; the pane Diagnose names it, its button mends it, what
// the change did is said, and it is taken back. What is no problem stays in the card.
#include <QtTest>

#include "app/common/report.h"
#include "app/gui/controllers/diagnosecontroller.h"
#include "app/gui/shell/problemscontroller.h"
#include "app/gui/shell/shell.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/workspaces.h"
#include "core/base/file.h"
#include "core/engine/population.h"
#include "core/formats/modelcard.h"
#include "core/formats/onnx.h"
#include "core/tensor/npy.h"
#include "tests/app/gui/settles.h"
#include "tests/core/rewrite/graphs.h"
#include "views/common/paint/style.h"
#include "views/diagnose/diagnoseview.h"
#include "views/diagnose/findingrow.h"
#include "views/graph/graphcanvas.h"
#include "views/graph/graphview.h"
#include "views/heatmap/heatmapview.h"
#include "views/ledger/ledgerview.h"
#include "views/problems/problemspanel.h"
#include "views/run/runpanel.h"

#include <QAction>
#include <QLabel>
#include <QTableView>
#include <QTemporaryDir>
#include <QToolButton>

#include <fmt/format.h>

using namespace retro;
using rewrite::testing::randomTensor;
using tests::kPatience;

namespace
{

constexpr std::int64_t kClasses = 6;

/// Two convolutions and a row of classes; of the first one channel is `outlier` times too large.
std::vector<std::byte> makeModel(double outlier = 1)
{
    rewrite::testing::Writer writer;
    const auto image = writer.input("image", {1, 3, 8, 8});
    tensor::Tensor first = randomTensor({6, 3, 3, 3}, 3);
    std::vector<float> weights;
    for (std::int64_t i = 0; i < first.size(); ++i) {
        weights.push_back(static_cast<float>(first.at(i) * (i / 27 == 2 ? outlier : 1)));
    }
    const auto conv1 = writer.node("Conv", "/conv1/Conv",
                                   {image, writer.constant("w1", tensor::Tensor::of<float>({6, 3, 3, 3}, weights))},
                                   {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
    const auto relu1 = writer.node("Relu", "/relu1/Relu", {conv1});
    const auto conv2 =
        writer.node("Conv", "/conv2/Conv", {relu1, writer.constant("w2", randomTensor({8, 6, 3, 3}, 4))});
    const auto relu2 = writer.node("Relu", "/relu2/Relu", {conv2});
    const auto pool = writer.node("GlobalAveragePool", "/pool", {relu2});
    const auto flat = writer.node("Flatten", "/flatten", {pool});
    const auto dense = writer.constant("w3", randomTensor({8, kClasses}, 5));
    writer.output(writer.node("MatMul", "/head/MatMul", {flat, dense}));
    return formats::toOnnx(*writer.finish()).value();
}

struct Stage
{
    QTemporaryDir folder;
    app::MainWindow window;

    explicit Stage(const tensor::Shape& input = {1, 3, 8, 8}, double outlier = 1)
    {
        const std::vector<std::byte> model = makeModel(outlier);
        const std::string bytes(reinterpret_cast<const char*>(model.data()), model.size());
        if (!base::writeFile(path("model.onnx"), bytes) ||
            !tensor::writeNpy(path("input.npy"), randomTensor(input, 11, 0, 1))) {
            qFatal("the files of the test cannot be written");
        }
        window.resize(1600, 1000);
        window.show();
        open();
    }
    void open()
    {
        window.open(folder.filePath("model.onnx"), {folder.filePath("input.npy")}, QStringLiteral("epsilon_plus"));
    }
    [[nodiscard]] std::string path(const char* name) const
    {
        return folder.filePath(QLatin1String(name)).toStdString();
    }
    [[nodiscard]] bool settles()
    {
        const bool isDone =
            QTest::qWaitFor([&] { return !window.isBusy() && !window.diagnosis().isChecking(); }, kPatience);
        window.flush();
        return isDone;
    }
    [[nodiscard]] views::DiagnoseView& pane()
    {
        return *window.findChild<app::Workspace*>("explain")->findChild<views::DiagnoseView*>();
    }
    [[nodiscard]] const diagnosis::Finding* found(const char* id)
    {
        const auto& state = window.diagnosis().state();
        if (!state.diagnosis) {
            return nullptr;
        }
        const auto at = std::ranges::find(state.diagnosis->findings, std::string(id), &diagnosis::Finding::id);
        return at == state.diagnosis->findings.end() ? nullptr : &*at;
    }
    /// Presses a button of the finding of that check.
    [[nodiscard]] bool press(const char* id, const char* button)
    {
        const diagnosis::Finding* finding = found(id);
        if (finding == nullptr || !pane().showFinding(views::keyOf(*finding))) {
            return false;
        }
        QToolButton* one = pane().currentRow()->button(QLatin1String(button));
        if (one != nullptr) {
            one->click();
        }
        return one != nullptr;
    }
    void ask(const QString& target)
    {
        auto& panel = *window.findChild<views::RunPanel*>();
        auto question = panel.question();
        question.targets = {target.toStdString()};
        emit window.diagnosis().questionWanted(question);
    }
    /// Rank of a class among the scores of the run, the best is 0; and the class of a rank.
    [[nodiscard]] QString classOfRank(std::size_t rank)
    {
        const trace::Run& run = window.model().run();
        const tensor::Tensor scores = run.values[run.graph->outputs().front().index()];
        std::vector<std::int64_t> order(static_cast<std::size_t>(kClasses));
        for (std::int64_t i = 0; i < kClasses; ++i) {
            order[static_cast<std::size_t>(i)] = i;
        }
        std::ranges::sort(order, [&](auto a, auto b) { return scores.at(a) > scores.at(b); });
        return QString::number(order[rank]);
    }
};

} // namespace

class DiagnoseScenarioTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { views::Style::install(*qApp); }

    /// The fault: an array in the order of another framework. The model does not run at all.
    void aTransposedInputIsMendedByItsButton()
    {
        Stage stage({1, 8, 8, 3});
        QVERIFY(stage.settles());
        QVERIFY(!stage.window.lastError().isEmpty());
        QVERIFY(stage.found("input.layout") != nullptr);
        QCOMPARE(stage.pane().currentRow()->finding().id, std::string("input.layout"));
        stage.window.actions().at(QStringLiteral("run.diagnose")).trigger();
        QTRY_VERIFY(stage.pane().isVisible());
        QVERIFY(stage.window.grab().save(RETRO_BINARY_DIR "/grabs/diagnose-failed.png"));
        QVERIFY(stage.press("input.layout", "mend"));
        QVERIFY(stage.settles());
        QVERIFY2(stage.window.lastError().isEmpty(), qPrintable(stage.window.lastError()));
        QVERIFY(stage.window.model().run().eventCount() > 0);
        QVERIFY(stage.found("input.layout") == nullptr);
        RETRO_SAYS(stage.window.diagnosis().state().change, "(input.layout) is gone");
        QVERIFY(QFile::exists(stage.folder.filePath("input.npy"))); // the person's own file stays
        QCOMPARE(tensor::readNpy(stage.path("input.npy")).value().shape(), (tensor::Shape{1, 8, 8, 3}));
    }

    /// The fault: the classes are right with R and B exchanged alone, which only a folder with labels shows.
    void aFolderShowsAnotherPreparation()
    {
        Stage stage;
        QVERIFY(stage.settles());
        QDir(stage.folder.path()).mkdir("pictures");
        const QString pictures = stage.folder.filePath("pictures");
        for (int i = 0; i < 24; ++i) {
            QImage picture(8, 8, QImage::Format_RGB888);
            picture.fill(i % 2 == 0 ? QColor(255, (53 * i) % 256, 0) : QColor(0, (37 * i) % 256, 255));
            picture.setPixelColor(i % 8, i / 8, Qt::white);
            QVERIFY(picture.save(pictures + QStringLiteral("/p%1.png").arg(i, 2, 10, QLatin1Char('0'))));
        }
        RETRO_MADE(model, engine::loadModel(stage.path("model.onnx")));
        engine::Question exchanged;
        exchanged.channels = "BGR";
        RETRO_MADE(inputs, engine::labelledInputs({pictures.toStdString()}, {}, **model));
        RETRO_MADE(right, engine::populationOf(*model, exchanged, **inputs));
        QFile table(pictures + "/labels.csv");
        QVERIFY(table.open(QIODevice::WriteOnly));
        table.write("file,label\n");
        for (std::size_t i = 0; i < (*right)->files.size(); ++i) {
            table.write(fmt::format("{},{}\n", std::filesystem::path((*right)->files[i]).filename().string(),
                                    (*right)->asGiven.best[i])
                            .c_str());
        }
        table.close();
        stage.window.open(stage.folder.filePath("model.onnx"), {pictures + "/p03.png"}, "epsilon_plus");
        QVERIFY(stage.settles());
        stage.window.diagnosis().lookAt(pictures, table.fileName());
        QVERIFY(stage.settles());
        RETRO_SAYS(stage.pane().findChild<QLabel*>("summary")->text().remove(QChar(0x200B)), "with folder pictures");
        const diagnosis::Finding* finding = stage.found("data.preparation");
        QVERIFY(finding != nullptr);
        RETRO_SAYS(QString::fromStdString(finding->what), "R and B exchanged, 24 of 24");
        QVERIFY(stage.press("data.preparation", "mend"));
        QVERIFY(stage.settles());
        QCOMPARE(stage.window.findChild<views::RunPanel*>()->question().channels, std::string("BGR"));
        QVERIFY(stage.found("data.preparation") == nullptr);
        RETRO_SAYS(stage.window.diagnosis().state().change, "(data.preparation) is gone");
        // A folder that is none is said, and nothing else is lost.
        stage.window.diagnosis().lookAt(stage.folder.filePath("nowhere"), {});
        QVERIFY(stage.settles());
        QVERIFY(stage.window.diagnosis().state().diagnosis != nullptr);
    }

    void aWrongClassIsMendedAndTakenBack()
    {
        Stage stage;
        QVERIFY(stage.settles());
        QVERIFY2(stage.window.lastError().isEmpty(), qPrintable(stage.window.lastError()));
        QVERIFY(stage.window.diagnosis().state().diagnosis != nullptr); // checked without being asked
        QVERIFY(stage.found("target.rank") == nullptr);
        const QString last = stage.classOfRank(kClasses - 1);
        stage.ask(last);
        QVERIFY(stage.settles());
        const diagnosis::Finding* finding = stage.found("target.rank");
        QVERIFY(finding != nullptr && finding->level == diagnosis::Level::Warning);
        QCOMPARE(finding->number("rank"), double(kClasses));
        const QString best = stage.classOfRank(0);
        // Tried aside: what is on screen stays, and the pane says what would come out.
        const auto run = stage.window.model().run().graph;
        QVERIFY(stage.press("target.rank", "preview"));
        QVERIFY(QTest::qWaitFor([&] { return !stage.window.diagnosis().isPreviewing(); }, kPatience));
        RETRO_MADE(preview, stage.pane().currentRow()->findChild<views::PreviewDrawing*>());
        QVERIFY2(preview->preview().failure.isEmpty(), qPrintable(preview->preview().failure));
        RETRO_SAYS(preview->accessibleName(), "Not yet taken: --target " + best, "target.rank is gone");
        QVERIFY(!preview->preview().now.isNull() && !preview->preview().after.isNull());
        QVERIFY(preview->preview().now != preview->preview().after);
        QCOMPARE(QString::number(stage.window.model().run().facts.targetIndex.front()), last);
        QVERIFY(stage.window.model().run().graph == run);
        QVERIFY(stage.window.grab().save(RETRO_BINARY_DIR "/grabs/diagnose-preview.png"));
        QVERIFY(stage.press("target.rank", "mend"));
        QVERIFY(stage.window.diagnosis().state().isStale); // grey until the next one is there
        QVERIFY(stage.settles());
        QCOMPARE(QString::number(stage.window.model().run().facts.targetIndex.front()), best);
        QVERIFY(stage.found("target.rank") == nullptr);
        auto* change = stage.pane().findChild<QLabel*>("change");
        QVERIFY2(change->accessibleName().contains("(target.rank) is gone"), qPrintable(change->accessibleName()));
        stage.pane().findChild<QToolButton*>("takeback")->click();
        QVERIFY(stage.settles());
        QCOMPARE(QString::number(stage.window.model().run().facts.targetIndex.front()), last);
        QVERIFY(stage.found("target.rank") != nullptr);
    }

    void problemsGraphAndTitlesSayTheSame()
    {
        Stage stage({1, 3, 8, 8}, 1000);
        QVERIFY(stage.settles());
        const diagnosis::Finding* finding = stage.found("model.channel-outlier");
        QVERIFY(finding != nullptr);
        const QString words = QString::fromStdString(finding->place.name + " " + finding->what);
        const auto& problems = stage.window.shell().problems().list().all();
        const auto at = std::ranges::find_if(problems, [&](const views::Problem& one) { return one.what == words; });
        QVERIFY(at != problems.end());
        QCOMPARE(at->origin, views::ProblemOrigin::Diagnosis);
        QVERIFY(std::ranges::none_of(problems, [](const views::Problem& one) { return one.what.isEmpty(); }));
        const auto isNote = [](const diagnosis::Finding& one) { return one.level == diagnosis::Level::Note; };
        const auto all = stage.window.diagnosis().state().diagnosis->findings;
        QCOMPARE(std::ranges::count(problems, views::ProblemOrigin::Diagnosis, &views::Problem::origin),
                 std::ranges::count_if(all, std::not_fn(isNote)));
        QVERIFY(stage.window.findChild<QToolButton*>("findings") != nullptr);
        // A problem leads to the finding.
        auto& panel = stage.window.shell().problems().panel();
        QSignalSpy wanted(&panel, &views::ProblemsPanel::diagnosisWanted);
        for (int row = 0; row < panel.table().model()->rowCount(); ++row) {
            if (panel.table().model()->index(row, 0).data().toString() == words) {
                panel.table().setCurrentIndex(panel.table().model()->index(row, 0));
            }
        }
        panel.jump();
        QCOMPARE(wanted.size(), 1);
        QTRY_VERIFY(stage.pane().isVisible());
        QCOMPARE(stage.pane().currentRow()->finding().id, finding->id);
        // The graph in the colours of findings.
        auto* graph = stage.window.findChild<views::GraphView*>();
        QVERIFY(stage.window.showWorkspace(QStringLiteral("engine")));
        QTRY_VERIFY_WITH_TIMEOUT(!graph->isLayoutRunning() && graph->canvas().scene() != nullptr, kPatience);
        graph->setColourBy(views::ColourBy::Finding);
        stage.window.flush();
        const QImage marked = graph->grab().toImage();
        graph->setFound(std::make_shared<const std::vector<views::FoundNode>>());
        stage.window.flush();
        QVERIFY(graph->grab().toImage() != marked);
    }

    void whatIsNoProblemStaysInTheCard()
    {
        Stage stage({1, 3, 8, 8}, 1000);
        QVERIFY(stage.settles());
        QVERIFY(stage.found("model.channel-outlier") != nullptr);
        const std::string key = views::keyOf(*stage.found("model.channel-outlier"));
        const auto listed = [&] {
            const auto& problems = stage.window.shell().problems().list().all();
            return std::ranges::any_of(problems, [](const views::Problem& one) {
                return one.origin == views::ProblemOrigin::Diagnosis && one.what.contains("channel");
            });
        };
        QVERIFY(listed());
        QVERIFY(stage.press("model.channel-outlier", "aside"));
        QVERIFY(!listed());
        QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(stage.folder.filePath("model.card.json")), kPatience);
        QTRY_COMPARE_WITH_TIMEOUT(formats::readCard(stage.path("model.card.json")).value().notAProblem,
                                  std::vector<std::string>{key}, kPatience);
        QVERIFY(!formats::readCard(stage.path("model.card.json")).value().describesInput);
        stage.window.closeModel();
        stage.open();
        QVERIFY(stage.settles());
        QVERIFY2(stage.window.lastError().isEmpty(), qPrintable(stage.window.lastError()));
        QVERIFY(stage.window.diagnosis().state().setAside.contains(key));
        QVERIFY(stage.found("model.channel-outlier") != nullptr); // still found
        QVERIFY(!listed());
        QVERIFY(stage.found("input.range") == nullptr); // the card says nothing of pixels
        const QString report = stage.folder.filePath("report.html");
        QVERIFY(stage.window.exportReport(report).ok());
        const std::string page = base::readTextFile(report.toStdString(), 1 << 26).value();
        QVERIFY(page.find("not a problem here") != std::string::npos);
        QVERIFY(page.find("model.channel-outlier") != std::string::npos);
        // Taken back and done again by the keys of every choice.
        QAction& undo = stage.window.actions().at(QStringLiteral("edit.undo"));
        QVERIFY(!undo.isEnabled());    // nobody chose it since the model was opened
        const auto unfold = [&stage] { // the list is made anew with every answer, and this with it
            auto* fold = stage.pane().findChild<QToolButton*>("asides");
            if (fold != nullptr) {
                fold->setChecked(true);
            }
            return fold != nullptr;
        };
        QVERIFY(unfold());
        QVERIFY(stage.press("model.channel-outlier", "aside"));
        QVERIFY(listed());
        QVERIFY(undo.isEnabled());
        undo.trigger();
        QVERIFY(!listed());
        stage.window.actions().at(QStringLiteral("edit.redo")).trigger();
        QVERIFY(listed());
        QTRY_VERIFY_WITH_TIMEOUT(formats::readCard(stage.path("model.card.json")).value().notAProblem.empty(),
                                 kPatience);
        undo.trigger();
        QTRY_COMPARE_WITH_TIMEOUT(formats::readCard(stage.path("model.card.json")).value().notAProblem,
                                  std::vector<std::string>{key}, kPatience);
        // And one again.
        QVERIFY(unfold());
        QVERIFY(stage.press("model.channel-outlier", "aside"));
        QVERIFY(listed());
        QTRY_VERIFY_WITH_TIMEOUT(formats::readCard(stage.path("model.card.json")).value().notAProblem.empty(),
                                 kPatience);
    }

    void theEvidenceComesIntoSight()
    {
        Stage stage({1, 3, 8, 8}, 1000);
        QVERIFY(stage.settles());
        stage.window.cursor().moveTo(0);
        stage.window.actions().at(QStringLiteral("run.diagnose")).trigger();
        QTRY_VERIFY(stage.pane().isVisible());
        QVERIFY(stage.press("model.channel-outlier", "show"));
        const base::NodeId node = stage.found("model.channel-outlier")->place.node;
        QCOMPARE(stage.window.selection().node(), std::optional(node));
        QCOMPARE(stage.window.cursor().position(), *stage.window.model().relevanceStep(node));
        QVERIFY(stage.window.findChild<app::Workspace*>("explain")->findChild<views::HeatmapView*>()->isVisible());
        QVERIFY(stage.pane().isVisible()); // the evidence does not hide the finding
    }

    void somethingGoodTellsWhatDiffers()
    {
        Stage good;
        QVERIFY(good.settles());
        Stage stage({1, 3, 8, 8}, 1.5); // too little to be suspicious by itself
        QVERIFY(stage.settles());
        QVERIFY(stage.found("diff.weight") == nullptr);
        stage.window.diagnosis().compareWith(good.folder.filePath("model.onnx"));
        QVERIFY(stage.settles());
        QVERIFY(stage.found("diff.weight") != nullptr);
        QVERIFY(stage.pane().summary().contains("beside model.onnx"));
        stage.window.diagnosis().compareWith({});
        QVERIFY(stage.settles());
        QVERIFY(stage.found("diff.weight") == nullptr);
        stage.window.diagnosis().compareWith(stage.folder.filePath("missing.onnx"));
        QVERIFY(stage.settles());
        QVERIFY(stage.window.diagnosis().state().reference.isEmpty());
        QVERIFY(stage.window.diagnosis().state().diagnosis != nullptr); // what was known stays
    }

    void aRecordedRunIsChecked()
    {
        Stage stage({1, 3, 8, 8}, 1000);
        QVERIFY(stage.settles());
        const QString file = stage.folder.filePath("run.retro");
        stage.window.engine().saveRun(stage.window.model().sharedRun(), file);
        QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(file), kPatience);
        stage.window.open(file);
        QVERIFY(stage.settles());
        QVERIFY2(stage.window.lastError().isEmpty(), qPrintable(stage.window.lastError()));
        QVERIFY(stage.window.diagnosis().state().diagnosis != nullptr);
        QVERIFY(stage.found("model.channel-outlier") != nullptr); // its model lies beside it
    }

    void nothingOpenSaysSo()
    {
        Stage stage;
        QVERIFY(stage.settles());
        stage.window.closeModel();
        QVERIFY(stage.window.diagnosis().state().diagnosis == nullptr);
        QVERIFY(!stage.window.diagnosis().state().refusal.isEmpty());
        stage.window.actions().at(QStringLiteral("run.diagnose")).trigger();
        QVERIFY(!stage.window.diagnosis().isChecking());
    }
};

QTEST_MAIN(DiagnoseScenarioTest)
#include "diagnosescenariotest.moc"
