// SPDX-License-Identifier: Apache-2.0
// The pane Diagnose by itself: what it shows of a diagnosis, its buttons, its keys, and what it says while another run
// is on.
#include <QtTest>

#include "core/base/file.h"
#include "core/diagnosis/registry.h"
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/paint/fonts.h"
#include "views/diagnose/chartdrawing.h"
#include "views/diagnose/diagnoseview.h"
#include "views/diagnose/findingmark.h"
#include "views/diagnose/findingrow.h"
#include "views/diagnose/nearestlist.h"
#include "views/diagnose/statisticsmodel.h"

#include <QAbstractItemModelTester>
#include <QClipboard>
#include <QLabel>
#include <QScrollArea>
#include <QTableView>
#include <QTemporaryDir>
#include <QToolButton>

using namespace retro;
using namespace retro::views;
using diagnosis::Finding;
using diagnosis::Level;

namespace
{

constexpr const char* kOption = "--rule name:conv2=epsilon";

Finding makeFinding(const char* id, Level level, const tests::ViewContext& context, tests::TinyNode node, double number)
{
    Finding finding;
    finding.id = id;
    finding.level = level;
    finding.place.node = base::NodeId(std::uint32_t{node});
    finding.place.name = context.model.label(finding.place.node).toStdString();
    finding.what = "97 % of Σ|R| that arrives here is lost";
    finding.means = "Fifteen of 16 channels have nothing to hand on to.";
    finding.remedy = "Use epsilon here";
    finding.numbers = {{"lost_of_sum_abs_R", number}};
    finding.threshold = 0.6;
    return finding;
}

/// A warning with one that follows, an error of the file, a note.
diagnosis::Diagnosis makeDiagnosis(const tests::ViewContext& context)
{
    diagnosis::Diagnosis made;
    made.model = "tiny.onnx";
    Finding error = makeFinding("model.training", Level::Error, context, tests::kConv1, 1);
    error.threshold = 0;
    error.what = "runs in training mode";
    Finding warning = makeFinding("flow.unread", Level::Warning, context, tests::kConv2, 0.975);
    warning.action = {"change rule", {{"node", warning.place.name}}, kOption};
    warning.also = {makeFinding("flow.cut", Level::Warning, context, tests::kImage, 1)};
    const Finding note = makeFinding("target.rank", Level::Note, context, tests::kFc, 2);
    made.findings = {error, warning, note};
    for (const char* id : {"model.training", "flow.unread", "target.rank"}) {
        made.checks.push_back({diagnosis::findCheck(id), true, "", 7, 0.975, "conv2", 0.01});
    }
    made.checks.push_back({diagnosis::findCheck("model.channel-outlier"), true, "", 3, 8.2, "conv1", 0.01});
    made.checks.push_back(
        {diagnosis::findCheck("model.weight-nonfinite"), false, "the model of the run is not found", 0, 0, {}, 0});
    return made;
}

struct Stage
{
    tests::ViewContext context;
    DiagnoseView view{context.model, context.cursor, context.selection};
    DiagnosisState state;

    Stage()
    {
        context.showTinyRun();
        view.setOffers([](const Finding& finding) {
            return finding.action.option.empty() ? FindingOffer() : FindingOffer{"Use epsilon here", "runs again"};
        });
        view.resize(360, 640);
        view.show();
        state.diagnosis = std::make_shared<const diagnosis::Diagnosis>(makeDiagnosis(context));
        state.graph = context.model.run().graph;
        show();
    }
    void show()
    {
        view.setState(state);
        view.flush();
    }
    [[nodiscard]] QToolButton& button(int row, const char* name) const
    {
        QToolButton* found = view.rows()[static_cast<std::size_t>(row)]->button(QLatin1String(name));
        if (found == nullptr) {
            qFatal("the row has no button \"%s\"", name);
        }
        return *found;
    }
    [[nodiscard]] std::string keyAt(int row) const
    {
        return keyOf(view.rows()[static_cast<std::size_t>(row)]->finding());
    }
    [[nodiscard]] static QString plain(const QLabel& label) { return label.text().remove(QChar(0x200B)); }
};

} // namespace

class DiagnoseViewTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void whatShowsAFindingIsDrawn()
    {
        Stage stage;
        stage.view.setDrawings([](const Finding& finding) {
            FindingEvidence evidence;
            if (finding.id == "flow.unread") {
                evidence.kind = EvidenceKind::Growth;
                evidence.title = QStringLiteral("on its way");
                evidence.bars = {{QStringLiteral("fc"), 1}, {QStringLiteral("conv2"), 90, true}, {{}, 0}};
                evidence.limit = 1;
            } else if (finding.id == "target.rank") {
                evidence.kind = EvidenceKind::Parts;
                evidence.bars = {{QStringLiteral("handed on"), 1}, {QStringLiteral("bias"), 3, true, 1}};
            }
            return evidence;
        });
        stage.view.step(1);
        QCoreApplication::processEvents(); // the row is laid out with its drawing
        RETRO_MADE(drawing, stage.view.currentRow()->findChild<EvidenceDrawing*>());
        QVERIFY2(drawing->accessibleName().contains(QStringLiteral("conv2 90")), qPrintable(drawing->accessibleName()));
        // The bar of the place is there, in the colour of an alarm, and higher than the other one.
        const QImage picture = drawing->grab().toImage();
        const QRgb alarm = theme(drawing)[Role::AlarmText].rgb();
        int rows = 0;
        for (int y = 0; y < picture.height(); ++y) {
            for (int x = 0; x < picture.width(); ++x) {
                if (picture.pixel(x, y) == alarm) {
                    ++rows;
                    break;
                }
            }
        }
        const QString size = QStringLiteral("%1 of %2 x %3").arg(rows).arg(picture.width()).arg(picture.height());
        QVERIFY2(rows > picture.height() / 3, qPrintable(size));
        stage.view.step(1);
        drawing = stage.view.currentRow()->findChild<EvidenceDrawing*>();
        QVERIFY(drawing != nullptr && !drawing->grab().isNull());
        stage.view.step(-2);
        QVERIFY(stage.view.currentRow()->findChild<EvidenceDrawing*>() == nullptr); // its number alone
    }

    void chartsShowWhatIsMarked_data()
    {
        QTest::addColumn<int>("kind");
        QTest::newRow("bars") << static_cast<int>(diagnosis::ChartKind::Bars);
        QTest::newRow("histogram") << static_cast<int>(diagnosis::ChartKind::Histogram);
        QTest::newRow("map") << static_cast<int>(diagnosis::ChartKind::Map);
        QTest::newRow("rows") << static_cast<int>(diagnosis::ChartKind::Rows);
    }

    void chartsShowWhatIsMarked()
    {
        QFETCH(const int, kind);
        const bool isRows = kind == static_cast<int>(diagnosis::ChartKind::Rows);
        FindingEvidence evidence{EvidenceKind::Chart};
        switch (static_cast<diagnosis::ChartKind>(kind)) {
        case diagnosis::ChartKind::Bars:
            evidence.chart = diagnosis::logarithmicBarsOf("norms", {1, 2, 900, 1}, {2});
            break;
        case diagnosis::ChartKind::Histogram:
            evidence.chart = diagnosis::histogramOf("reads", {-3, -2, -1, 1}, {0}, {0, 9});
            break;
        case diagnosis::ChartKind::Map:
            evidence.chart = diagnosis::mapOf("weights", {0.5, 1, 0.2, 0.8}, 2, true);
            break;
        default:
            evidence.chart = diagnosis::rowsOf("rule", {{"here", "gamma 0.05"}, {"reference", "z-plus"}});
        }
        EvidenceDrawing drawing(evidence);
        drawing.resize(320, drawing.sizeHint().height());
        const QImage picture = drawing.grab().toImage();
        const QRgb alarm = theme(&drawing)[Role::AlarmText].rgb();
        int red = 0;
        for (int y = 0; y < picture.height(); ++y) {
            for (int x = 0; x < picture.width(); ++x) {
                red += picture.pixel(x, y) == alarm ? 1 : 0;
            }
        }
        QVERIFY2(isRows ? red == 0 : red > 20, qPrintable(QString::number(red)));
        const QString words = drawing.accessibleName();
        RETRO_SAYS(words, isRows ? QStringLiteral("reference z-plus") : QString::fromStdString(evidence.chart.title));
        const QImage page = imageOfChart(evidence.chart, theme());
        QVERIFY(!page.isNull() && page.width() > 900);
        const QRectF place(0, 0, 320, heightOfChart(evidence.chart));
        if (kind == static_cast<int>(diagnosis::ChartKind::Bars)) {
            QCOMPARE(textAt(place, evidence.chart, QPointF(place.width() * 0.68, place.height() / 2)),
                     QStringLiteral("2: 900"));
            QVERIFY(textAt(place, evidence.chart, QPointF(1, 1)).isEmpty());
        }
        QVERIFY(imageOfChart({}, theme()).isNull());
    }

    void rowsThatGoAreNotCurrentAnyMore()
    {
        Stage stage;
        stage.view.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&stage.view));
        stage.button(0, "aside").setFocus();
        QVERIFY(stage.button(0, "aside").hasFocus());
        stage.state.setAside = {"none"}; // rows anew, while the keyboard is in one of them
        stage.show();
        QVERIFY(std::ranges::find(stage.view.rows(), stage.view.currentRow()) != stage.view.rows().end());
        QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
        stage.view.step(1);
        QCOMPARE(stage.view.currentRow(), stage.view.rows()[1]);
    }

    void aFindingWithoutLimitAndChartSaysItsNumbers()
    {
        Finding finding;
        finding.numbers = {{"alpha_minus_beta", 2}, {"uses", 3}};
        QCOMPARE(figuresOf(finding), QStringLiteral("alpha minus beta 2 · uses 3"));
        finding.chart = diagnosis::rowsOf("rules", {{"a", "b"}});
        QVERIFY(figuresOf(finding).isEmpty());
    }

    void aChangeIsTriedWithoutBeingTaken()
    {
        Stage stage;
        stage.view.setOffers([](const Finding& finding) {
            FindingOffer offer{QStringLiteral("Use epsilon here"), QStringLiteral("runs again")};
            offer.canPreview = finding.id == "flow.unread";
            return offer;
        });
        stage.state.setAside = {"none"}; // rows anew
        stage.show();
        QVERIFY(stage.view.rows()[0]->button(QStringLiteral("preview")) == nullptr);
        QSignalSpy asked(&stage.view, &DiagnoseView::previewRequested);
        stage.view.step(1);
        stage.button(1, "preview").click();
        QCOMPARE(asked.size(), 1);
        FindingPreview preview;
        preview.key = stage.keyAt(1);
        preview.isRunning = true;
        preview.changes = QStringLiteral("--rule name:conv2=epsilon");
        stage.view.setPreview(preview);
        auto* shown = stage.view.rows()[1]->findChild<PreviewDrawing*>();
        QVERIFY(shown != nullptr && shown->accessibleName().startsWith(QStringLiteral("Trying it")));
        preview.isRunning = false;
        preview.figures = {QStringLiteral("flow.unread is gone")};
        preview.now = preview.after = QImage(8, 8, QImage::Format_RGB32);
        stage.view.setPreview(preview);
        shown = stage.view.rows()[1]->findChild<PreviewDrawing*>();
        QVERIFY(shown->accessibleName().startsWith(QStringLiteral("Not yet taken: --rule name:conv2=epsilon")));
        QVERIFY(shown->accessibleName().contains(QStringLiteral("flow.unread is gone")));
        QVERIFY(shown->sizeHint().height() > fonts::px(100)); // both pictures
        stage.view.setPreview({});
        QVERIFY(stage.view.rows()[1]->findChild<PreviewDrawing*>() == nullptr);
    }

    void aFindingIsShownWithItsWords()
    {
        Stage stage;
        QCOMPARE(stage.view.rows().size(), std::size_t{3});
        QCOMPARE(stage.view.summary(), QStringLiteral("1 error, 1 warning, 1 note"));
        const FindingRow& first = *stage.view.rows().front();
        QVERIFY(first.isCurrent()); // the worst is open from the start
        QCOMPARE(Stage::plain(*first.findChild<QLabel*>("what")), QStringLiteral("runs in training mode"));
        QVERIFY(first.accessibleName().startsWith("error: stem/conv1 runs in training mode"));
        stage.view.step(1);
        const FindingRow& second = *stage.view.rows()[1];
        QVERIFY(second.isCurrent() && !first.isCurrent());
        QVERIFY(second.findChild<QLabel*>("meaning")->isVisible() && !first.findChild<QLabel*>("meaning")->isVisible());
        QCOMPARE(Stage::plain(*second.findChild<QLabel*>("meaning")),
                 QStringLiteral("Fifteen of 16 channels have nothing to hand on to. Use epsilon here."));
        QCOMPARE(second.findChild<QLabel*>("place")->toolTip(), QStringLiteral("block1/conv2"));
        QCOMPARE(second.findChild<NumberBar*>()->figures(), QStringLiteral("98 %, limit 60 %"));
        QVERIFY(second.findChild<NumberBar*>()->toolTip().contains("lost_of_sum_abs_R"));
        QVERIFY(first.findChild<NumberBar*>() == nullptr); // a fact has no limit
    }

    void whatFollowsIsFolded()
    {
        const Stage stage;
        stage.view.rows()[1]->setCurrent(true);
        QToolButton& fold = stage.button(1, "followers");
        QVERIFY(fold.text().contains("1 other follows"));
        const auto isListed = [&] {
            const QList<QLabel*> labels = stage.view.rows()[1]->findChildren<QLabel*>();
            return std::ranges::any_of(labels, [](const QLabel* label) {
                return label->isVisible() && Stage::plain(*label).startsWith("image: 97 %");
            });
        };
        QVERIFY(!isListed());
        fold.click();
        QVERIFY(isListed());
    }

    void theButtonsDoWhatTheySay()
    {
        Stage stage;
        QVERIFY(stage.view.showFinding(stage.keyAt(1)));
        stage.context.cursor.moveTo(0);
        stage.button(1, "goto").click();
        const base::NodeId conv2(std::uint32_t{tests::kConv2});
        QCOMPARE(stage.context.selection.node(), std::optional(conv2));
        QCOMPARE(stage.context.cursor.position(), *stage.context.model.relevanceStep(conv2));
        stage.context.selection.clear();
        QString shown;
        QString mended;
        connect(&stage.view, &DiagnoseView::showRequested, this,
                [&](const Finding& finding) { shown = QString::fromStdString(finding.id); });
        connect(&stage.view, &DiagnoseView::mendRequested, this,
                [&](const Finding& finding) { mended = QString::fromStdString(finding.action.option); });
        stage.button(1, "show").click();
        QCOMPARE(shown, QStringLiteral("flow.unread"));
        QCOMPARE(stage.context.selection.node(), std::optional(conv2));
        QCOMPARE(stage.button(1, "mend").text(), QStringLiteral("Use epsilon here"));
        stage.button(1, "mend").click();
        QCOMPARE(mended, QLatin1String(kOption));
        stage.button(1, "copy").click();
        QCOMPARE(QApplication::clipboard()->text(), QLatin1String(kOption));
        QVERIFY(stage.view.rows().front()->button("mend") == nullptr); // nothing can be carried out there
        QVERIFY(stage.view.rows().front()->button("copy") == nullptr);
    }

    void theKeyboardGoesThroughIt()
    {
        Stage stage;
        stage.view.activateWindow();
        stage.view.rows().front()->setFocus();
        QTRY_VERIFY(stage.view.rows().front()->hasFocus());
        QTest::keyClick(&stage.view, Qt::Key_Down, Qt::AltModifier);
        QVERIFY(stage.view.rows()[1]->hasFocus() && stage.view.rows()[1]->isCurrent());
        QTest::keyClick(stage.view.rows()[1], Qt::Key_Return);
        QCOMPARE(stage.context.selection.node(), std::optional(base::NodeId(std::uint32_t{tests::kConv2})));
        QTest::keyClick(stage.view.rows()[1], Qt::Key_Tab);
        QVERIFY(stage.view.rows()[1]->isAncestorOf(QApplication::focusWidget()));
        QVERIFY(!QApplication::focusWidget()->accessibleName().isEmpty() ||
                !qobject_cast<QToolButton*>(QApplication::focusWidget())->text().isEmpty());
        QTest::keyClick(&stage.view, Qt::Key_Up, Qt::AltModifier);
        QVERIFY(stage.view.rows().front()->hasFocus());
        QTest::keyClick(&stage.view, Qt::Key_Up, Qt::AltModifier); // there is none before it
        QVERIFY(stage.view.rows().front()->isCurrent());
    }

    void theFilterChoosesKinds()
    {
        Stage stage;
        stage.view.setFilter(FindingFilter::Serious);
        QCOMPARE(stage.view.rows().size(), std::size_t{2});
        stage.view.setFilter(FindingFilter::Model);
        QCOMPARE(stage.view.rows().size(), std::size_t{1});
        QCOMPARE(stage.view.rows().front()->finding().id, std::string("model.training"));
        stage.view.setFilter(FindingFilter::Rules);
        QCOMPARE(stage.view.rows().size(), std::size_t{2});
        const QByteArray kept = stage.view.saveState();
        stage.view.setFilter(FindingFilter::All);
        stage.view.restoreState(kept);
        QCOMPARE(stage.view.filter(), FindingFilter::Rules);
        stage.view.restoreState("nonsense");
        QCOMPARE(stage.view.filter(), FindingFilter::All);
    }

    void whatIsNoProblemIsFoldedAtTheEnd()
    {
        Stage stage;
        QString asked;
        bool isAside = false;
        connect(&stage.view, &DiagnoseView::setAsideRequested, this, [&](const Finding& finding, bool is) {
            asked = QString::fromStdString(keyOf(finding));
            isAside = is;
        });
        stage.button(0, "aside").click();
        QCOMPARE(asked, QStringLiteral("model.training stem/conv1"));
        QVERIFY(isAside);
        stage.state.setAside = {asked.toStdString()};
        stage.show();
        QCOMPARE(stage.view.summary(), QStringLiteral("1 warning, 1 note"));
        QCOMPARE(stage.keyAt(2), asked.toStdString());
        QVERIFY(!stage.view.rows()[2]->isVisible());
        auto* fold = stage.view.findChild<QToolButton*>("asides");
        QVERIFY(fold != nullptr && fold->text().contains("1 not a problem here"));
        fold->click();
        QVERIFY(stage.view.rows()[2]->isVisible());
        stage.button(2, "aside").click();
        QVERIFY(!isAside);
    }

    void whatIsOfTheRunBeforeIsGrey()
    {
        Stage stage;
        const QImage before = stage.view.grab().toImage();
        stage.state.isStale = true;
        stage.show();
        QVERIFY(stage.view.summary().contains("run before"));
        QVERIFY(!stage.button(0, "goto").isEnabled());
        QVERIFY(stage.view.grab().toImage() != before);
        QCOMPARE(stage.view.rows().size(), std::size_t{3}); // old content stays
        stage.state.stage = "Checking";
        stage.show();
        QCOMPARE(stage.view.summary(), QStringLiteral("Checking …"));
        stage.state.stage.clear();
        stage.state.isStale = false;
        stage.show();
        QVERIFY(stage.button(0, "goto").isEnabled());
    }

    // Behind the next run the current finding stays; beside a folder the first one becomes it, with its beginning in
    // view.
    void aFolderBringsItsFirstFindingForward()
    {
        Stage stage;
        stage.view.resize(300, 260); // lower than a row
        const auto showAgain = [&stage] {
            auto next = *stage.state.diagnosis;
            next.findings.insert(next.findings.begin(),
                                 makeFinding("data.preparation", Level::Error, stage.context, tests::kImage, 0.9));
            stage.state.diagnosis = std::make_shared<const diagnosis::Diagnosis>(next);
            stage.show();
        };
        QVERIFY(stage.view.showFinding(stage.keyAt(1)));
        showAgain();
        QVERIFY(stage.view.rows()[2]->isCurrent());
        stage.state.folder = QStringLiteral("pictures");
        stage.show();
        showAgain();
        QVERIFY(stage.view.rows()[0]->isCurrent());
        const QPoint top = stage.view.rows()[0]->mapTo(stage.view.findChild<QScrollArea*>()->viewport(), QPoint());
        QVERIFY(top.y() >= 0);
    }

    // What holds as a whole stands above the findings; where it is unusual, the pane does not say that nothing is.
    void whatHoldsAsAWholeStandsAboveTheFindings()
    {
        Stage stage;
        const auto* headline = stage.view.findChild<QLabel*>("headline");
        QVERIFY(!headline->isVisible());
        auto quiet = *stage.state.diagnosis;
        quiet.findings.clear();
        quiet.head = {{"score", "score 2.4 of class 1 (mug)", 2.4, false}, {"bias", "biases take 64 %", 0.64, true}};
        stage.state.diagnosis = std::make_shared<const diagnosis::Diagnosis>(quiet);
        stage.show();
        QCOMPARE(headline->text().remove(QChar(0x200B)),
                 QStringLiteral("Score 2.4 of class 1 (mug), ! biases take 64 %"));
        QVERIFY(headline->isVisible());
        QCOMPARE(stage.view.summary(), QStringLiteral("No finding by 4 checks; see what is unusual"));
    }

    void nothingFoundIsOneLine()
    {
        Stage stage;
        auto quiet = *stage.state.diagnosis;
        quiet.findings.clear();
        stage.state.diagnosis = std::make_shared<const diagnosis::Diagnosis>(quiet);
        stage.show();
        QVERIFY(stage.view.rows().empty());
        QCOMPARE(stage.view.summary(), QStringLiteral("✓ Nothing suspicious, 4 checks"));
        const auto* line = stage.view.findChild<QLabel*>("quiet");
        QCOMPARE(line->text(), QStringLiteral("1 not run"));
        // Nothing is cut in a narrow pane, and below it stands what came nearest to its limit.
        stage.view.resize(220, 640);
        auto* summary = stage.view.findChild<QLabel*>("summary");
        QTRY_VERIFY(summary->height() >= summary->heightForWidth(summary->width()));
        QVERIFY(stage.view.findChild<NearestList*>()->isVisible());
        const QList<QLabel*> measured = stage.view.findChildren<QLabel*>("measured");
        QVERIFY(std::ranges::any_of(measured, [](const QLabel* one) {
            return one->toolTip().startsWith("model.channel-outlier"); // 8.2 of 50
        }));
        QVERIFY(std::ranges::none_of(measured, [](const QLabel* one) {
            return one->toolTip().startsWith("flow.unread"); // beyond its limit
        }));
        auto* numbers = stage.view.findChild<QTableView*>("numbers");
        QVERIFY(!numbers->isVisible());
        stage.view.findChild<QToolButton*>("shownumbers")->click();
        QVERIFY(numbers->isVisible());
        const QAbstractItemModelTester tester(&stage.view.numbers());
        const auto text = [&](int row, int column) {
            return stage.view.numbers().index(row, column).data().toString();
        };
        QCOMPARE(stage.view.numbers().rowCount(), 5);
        QCOMPARE(text(3, StatisticsModel::CheckColumn), QStringLiteral("✓  model.channel-outlier"));
        QCOMPARE(text(3, StatisticsModel::LargestColumn), QStringLiteral("8.2"));
        QCOMPARE(text(3, StatisticsModel::LimitColumn), QStringLiteral("50"));
        QCOMPARE(text(3, StatisticsModel::WhereColumn), QStringLiteral("conv1"));
        QCOMPARE(text(4, StatisticsModel::WhereColumn), QStringLiteral("not run: the model of the run is not found"));
    }

    void aReasonStandsInThePlaceOfFindings()
    {
        Stage stage;
        stage.state = {};
        stage.state.refusal = "Nothing was run yet: choose an input and press Run.";
        stage.show();
        QVERIFY(stage.view.rows().empty());
        QCOMPARE(stage.view.summary(), stage.state.refusal);
        QVERIFY(!stage.view.findChild<QToolButton*>("check")->isEnabled());
    }

    void aChangeSaysWhatItDid()
    {
        Stage stage;
        diagnosis::Diagnosis after = *stage.state.diagnosis;
        const std::string key = stage.keyAt(1);
        after.findings[1].numbers.front().second = 0.12;
        QCOMPARE(changeText(*stage.state.diagnosis, after, key),
                 QStringLiteral("block1/conv2 (flow.unread): 98 % → 12 %"));
        after.findings.erase(after.findings.begin(), after.findings.begin() + 2);
        after.findings.front().place.name = "pool";
        QCOMPARE(changeText(*stage.state.diagnosis, after, key),
                 QStringLiteral("block1/conv2 (flow.unread) is gone; 2 others are gone; new: pool (target.rank)"));
        bool isTakenBack = false;
        connect(&stage.view, &DiagnoseView::takeBackRequested, this, [&] { isTakenBack = true; });
        stage.state.change = "conv2 (flow.unread) is gone";
        stage.state.canTakeBack = true;
        stage.show();
        QVERIFY(stage.view.findChild<QLabel*>("change")->isVisible());
        stage.view.findChild<QToolButton*>("takeback")->click();
        QVERIFY(isTakenBack);
    }

    void scalesHoldNumberAndLimit_data()
    {
        QTest::addColumn<double>("number");
        QTest::addColumn<double>("limit");
        QTest::newRow("a share") << 0.975 << 0.6;
        QTest::newRow("far beyond") << 17240.0 << 1000.0;
        QTest::newRow("below its limit") << 4.0 << 8.0;
        QTest::newRow("small") << 1e-9 << 0.002;
        QTest::newRow("nothing") << 0.0 << 8.0;
    }

    void scalesHoldNumberAndLimit()
    {
        QFETCH(const double, number);
        QFETCH(const double, limit);
        const NumberScale scale = scaleOf(number, limit);
        QVERIFY(scale.at >= 0 && scale.at <= 1 && scale.limitAt > 0 && scale.limitAt <= 1);
        QCOMPARE(scale.at > scale.limitAt, number > limit);
    }

    void itIsWritten()
    {
        Stage stage;
        const QTemporaryDir folder;
        const auto json = folder.filePath("found.json").toStdString();
        QVERIFY(stage.view.exportTo(json).ok());
        const std::string text = base::readTextFile(json, 1 << 20).value();
        QVERIFY(text.find("retrograde-diagnosis/1") != std::string::npos &&
                text.find("flow.unread") != std::string::npos);
        QVERIFY(stage.view.exportTo(folder.filePath("checks.csv").toStdString()).ok());
        QVERIFY(!stage.view.exportTo(folder.filePath("checks.png").toStdString()).ok());
        stage.state = {};
        stage.show();
        QVERIFY(!stage.view.exportTo(json).ok());
    }

    void itLooksRightInBothThemes()
    {
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            Stage stage;
            stage.view.step(1);
            const QImage picture = tests::grab(stage.view, {300, 640}, kind, QStringLiteral("diagnose"));
            QVERIFY(tests::colorCount(picture) > 20);
            QVERIFY(tests::hasColor(picture, Theme::of(kind)[Role::Sel]));
            for (const FindingRow* row : stage.view.rows()) { // nothing is cut off at the right
                QVERIFY(row->width() <= 300);
                for (const QToolButton* one : row->findChildren<QToolButton*>()) {
                    QVERIFY(!one->isVisible() || one->mapTo(row, one->rect().bottomRight()).x() < row->width());
                }
            }
        }
        views::ThemeHub::instance().setChoice(ThemeChoice::Light);
    }
};

QTEST_MAIN(DiagnoseViewTest)
#include "tst_diagnoseview.moc"
