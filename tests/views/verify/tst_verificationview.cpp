// SPDX-License-Identifier: Apache-2.0
#include <QtTest>

#include "core/base/file.h"
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/widgets/emptystate.h"
#include "views/verify/factmodel.h"
#include "views/verify/propertymodel.h"
#include "views/verify/propertywords.h"
#include "views/verify/stepchecks.h"
#include "views/verify/stepsheets.h"
#include "views/verify/verificationview.h"

#include <QAbstractItemModelTester>
#include <QLabel>
#include <QPushButton>
#include <QStackedWidget>
#include <QTableView>
#include <QTemporaryDir>
#include <QToolButton>

using namespace retro;
using namespace retro::views;

namespace
{

base::NodeId nodeOf(tests::TinyNode node) { return base::NodeId(std::uint32_t{node}); }

/// One property of each verdict.
VerificationPointer makeVerification()
{
    Verification made;
    made.properties = {
        {"P1", "as many cells as leaves and nodes", Verdict::Held, "27 leaves and 29 nodes", {}},
        {"P8", "each operator's reverse rule is the transpose of its derivative", Verdict::Violated,
         "the worst is block1/conv2 (Conv) with a relative error of 0.25", nodeOf(tests::kConv2)},
        {"P5", "dense loop = recursion", Verdict::NotApplicable, "the tape has 4,000 cells", {}},
        {"own", "what only this test says", Verdict::Held, "nothing", nodeOf(tests::kImage)},
    };
    made.nodes = {{nodeOf(tests::kConv1), 1e-9, false, {}, 3, 1e-7}, {nodeOf(tests::kConv2), 0.25, true, {}, {}, 0}};
    made.cells = 56;
    made.seconds = 0.125;
    return std::make_shared<const Verification>(std::move(made));
}

/// The tiny run with one event changed.
RunHandle changedRun(const std::function<void(trace::Run&)>& change)
{
    trace::Run run = *tests::makeTinyRun().run;
    change(run);
    auto shared = std::make_shared<const trace::Run>(std::move(run));
    auto timeline = trace::Timeline::open(shared);
    return {shared, std::make_shared<trace::Timeline>(std::move(timeline).value())};
}

/// Loop and recursion over three of its nodes; they part at conv2.
VerificationPointer withCourse(bool isEqual)
{
    Verification made = *makeVerification();
    made.course = {{nodeOf(tests::kAdd), {{"b", nodeOf(tests::kRelu1), 1.5, 1.5, true}}},
                   {nodeOf(tests::kConv2), {{"b", nodeOf(tests::kRelu1), 2.5, isEqual ? 2.5 : 2.25, isEqual}}},
                   {nodeOf(tests::kRelu1), {{"a", nodeOf(tests::kConv1), 2, 2, true}}}};
    return std::make_shared<const Verification>(std::move(made));
}

QStringList linesOf(const FactSheet& sheet)
{
    QStringList lines;
    for (const FactRow& row : sheet.rows) {
        lines << row.cells.join(QStringLiteral(" | "));
    }
    return lines;
}

struct Stage
{
    tests::ViewContext context;
    VerificationView view{context.model, context.cursor, context.selection};

    explicit Stage(bool hasRun = true)
    {
        if (hasRun) {
            context.showTinyRun();
        }
        tests::showAt(view, 760, 300);
    }
    [[nodiscard]] QTableView& table() { return *view.findChild<QTableView*>(QStringLiteral("properties")); }
    /// Texts of every label and button that is seen.
    [[nodiscard]] QStringList seen()
    {
        QStringList texts;
        for (const QLabel* label : view.findChildren<QLabel*>()) {
            if (label->isVisible() && !label->text().isEmpty()) {
                texts << label->text();
            }
        }
        for (const QAbstractButton* button : view.findChildren<QAbstractButton*>()) {
            if (button->isVisible() && !button->text().isEmpty()) {
                texts << QStringLiteral("[%1]").arg(button->text());
            }
        }
        return texts;
    }
};

} // namespace

class VerificationViewTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void modelKeepsItsPromises()
    {
        PropertyModel items;
        const QAbstractItemModelTester tester(&items, QAbstractItemModelTester::FailureReportingMode::QtTest);
        QCOMPARE(items.rowCount(), 0);
        items.setVerification(makeVerification());
        QCOMPARE(items.rowCount(), 4);
        QStringList rows;
        for (int row = 0; row < items.rowCount(); ++row) {
            rows << items.index(row, PropertyModel::VerdictColumn).data().toString() + QStringLiteral(" | ") +
                        items.index(row, PropertyModel::WordsColumn).data().toString();
        }
        const QStringList expected{QString::fromUtf8("✓  held | The tape has one cell per leaf and per node"),
                                   QString::fromUtf8("✕  violated | Each node's reverse rule fits its operator"),
                                   QString::fromUtf8("–  not applicable | The loop equals the recursion, bit for bit"),
                                   QString::fromUtf8("✓  held | what only this test says")};
        QCOMPARE(rows, expected);
        QVERIFY(items.index(1, PropertyModel::WordsColumn).data(Qt::ToolTipRole).toString().contains("0.25"));
        items.setVerification(nullptr);
        QCOMPARE(items.rowCount(), 0);
    }

    void everyPropertyOfTheEngineHasPlainWords()
    {
        QStringList texts;
        for (const char* id : {"P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9", "P10", "P11", "P12", "P13", "P14",
                               "gradient", "promise", "everything saved", "compiled", "conservation"}) {
            const QString words = plainWords({QString::fromLatin1(id), "its statement", Verdict::Held, {}, {}});
            QVERIFY2(words != QLatin1String("its statement"), id);
            texts << words;
        }
        QCOMPARE(texts.removeDuplicates(), 0);
    }

    void nodesAreFoundAgain()
    {
        const VerificationPointer made = makeVerification();
        QVERIFY(made->find(nodeOf(tests::kConv2)) != nullptr && made->find(nodeOf(tests::kConv2))->isKink);
        QVERIFY(made->find(nodeOf(tests::kRelu1)) == nullptr);
        QVERIFY(made->find(base::NodeId()) == nullptr);
    }

    void aRowSelectsItsNodeAndADoubleClickGoesThere()
    {
        Stage stage;
        stage.view.setVerification(makeVerification());
        const auto place = [&](int row) {
            return stage.table().visualRect(stage.view.properties().index(row, PropertyModel::WordsColumn)).center();
        };
        const std::uint64_t end = stage.context.cursor.position();
        QTest::mouseClick(stage.table().viewport(), Qt::LeftButton, {}, place(1));
        QCOMPARE(stage.context.selection.node(), std::optional(nodeOf(tests::kConv2)));
        QCOMPARE(stage.context.cursor.position(), end); // selecting never moves time
        QTest::keyClick(&stage.table(), Qt::Key_Return);
        const auto step = stage.context.model.relevanceStep(nodeOf(tests::kConv2));
        QVERIFY(step && *step != end);
        QCOMPARE(stage.context.cursor.position(), *step);
        QTest::mouseClick(stage.table().viewport(), Qt::LeftButton, {}, place(0)); // about the whole graph
        QCOMPARE(stage.context.selection.node(), std::optional(nodeOf(tests::kConv2)));
        QTest::mouseDClick(stage.table().viewport(), Qt::LeftButton, {}, place(3));
        QCOMPARE(stage.context.selection.node(), std::optional(nodeOf(tests::kImage)));
    }

    void itGoesThroughItsStates()
    {
        Stage empty(false);
        QVERIFY(empty.seen().join(" ").contains("Open a model first"));
        Stage stage;
        QSignalSpy wanted(&stage.view, &VerificationView::verifyRequested);
        QVERIFY2(stage.seen().contains("[Verify]"), qPrintable(stage.seen().join("\n")));
        auto* state = stage.view.findChild<QStackedWidget*>()->findChild<EmptyState*>();
        QTest::mouseClick(state->findChild<QPushButton*>(), Qt::LeftButton);
        QCOMPARE(wanted.size(), 1);
        stage.view.setProgress("Comparing the engines", 0.5);
        QVERIFY(stage.seen().contains("Comparing the engines"));
        QVERIFY(!stage.view.findChild<QToolButton*>()->isEnabled());
        stage.view.setFailure("the model has no floating input", "Choose another target.");
        QVERIFY(stage.seen().contains("the model has no floating input"));
        QVERIFY(stage.view.findChild<QToolButton*>()->isEnabled());
        stage.view.setVerification(makeVerification());
        QCOMPARE(stage.view.summary(), QStringLiteral("2 held, 1 violated, 1 not applicable"));
        QVERIFY(stage.table().isVisible());
        stage.view.setProgress("Comparing the engines", 0.5); // old content stays
        QVERIFY(stage.table().isVisible());
        stage.view.setFailure({}, {}); // stopped
        QVERIFY(stage.table().isVisible());
        stage.view.setVerification(nullptr);
        stage.view.setRefusal("A recorded run holds no model to verify.");
        QVERIFY(stage.seen().contains("A recorded run holds no model to verify."));
        QVERIFY(!stage.view.findChild<QToolButton*>()->isEnabled());
        QCOMPARE(stage.view.findChild<QToolButton*>()->toolTip(),
                 QStringLiteral("A recorded run holds no model to verify."));
    }

    void invariantsHoldAtEveryStep()
    {
        tests::TinyContext context;
        for (std::uint64_t at = 0; at <= context.model.run().eventCount(); ++at) {
            context.cursor.moveTo(at);
            const FactSheet sheet = invariantsSheet(context.model, nullptr);
            QCOMPARE(sheet.rows.size(), kInvariants + 3); // and what Verify checks
            QVERIFY2(sheet.role == Role::Text2, qPrintable(linesOf(sheet).join("\n")));
        }
        const StepChecks checks(context.model.run());
        const std::uint64_t end = context.model.run().eventCount();
        QVERIFY(checks.checked(Invariant::Earlier, end) > 5);
        QCOMPARE(checks.checked(Invariant::Balance, end), context.model.run().ledger.size());
        QCOMPARE(checks.checked(Invariant::Earlier, 0), std::uint64_t{0});
        const RunHandle gradient = tests::makeTinyGradientRun();
        QVERIFY(!StepChecks(*gradient.run).isKnown(Invariant::Balance));
    }

    void whatVerifyFoundStandsBesideWhatTheStepsSay()
    {
        tests::TinyContext context;
        context.cursor.moveTo(context.model.run().eventCount());
        const FactSheet before = invariantsSheet(context.model, nullptr);
        QVERIFY2(before.rows.at(kInvariants).cells.at(2).contains("Verify checks it"),
                 qPrintable(linesOf(before).join("\n")));
        const FactSheet after = invariantsSheet(context.model, makeVerification());
        QCOMPARE(after.rows.at(kInvariants).cells,
                 (QStringList{QString::fromUtf8("✓  held"), "The tape has one cell per leaf and per node",
                              "by Verify: 27 leaves and 29 nodes"}));
        QCOMPARE(after.rows.at(kInvariants + 1).cells.at(2), QStringLiteral("by Verify: the tape has 4,000 cells"));
        QVERIFY(after.rows.at(kInvariants + 2).cells.at(2).contains("Verify checks it")); // P6 was not among them
        RETRO_SAYS(linesOf(after).join("\n"), "most writes into one slot: 2, at ");
    }

    void aBreachIsNamedFromItsStepOn()
    {
        std::uint64_t broken = 0;
        trace::Run run = *tests::makeTinyRun().run;
        for (std::uint64_t step = 0; step < run.events.size(); ++step) {
            trace::Event& e = run.events[step];
            if (e.kind == event::EventKind::Land && e.node == tests::kConv1) {
                e.other = tests::kImage; // an input sends a part to a node
                broken = step;
            }
        }
        QVERIFY(broken > 0);
        const StepChecks checks(run);
        QVERIFY(checks.firstBreach(Invariant::Earlier, broken) == nullptr);
        const StepChecks::Breach* breach = checks.firstBreach(Invariant::Earlier, broken + 1);
        QVERIFY(breach != nullptr && breach->step == broken);
        QCOMPARE(breach->node, nodeOf(tests::kConv1));
        QVERIFY(checks.firstBreach(Invariant::Final, run.events.size()) == nullptr);
        run.events.push_back(run.events[broken]); // once more, after its rule, in the same place
        const StepChecks later(run);
        QVERIFY(later.firstBreach(Invariant::Final, run.events.size()) != nullptr);
        run.ledger.back().handedOn += run.ledger.back().magnitude;
        QVERIFY(StepChecks(run).firstBreach(Invariant::Balance, run.events.size()) != nullptr);
    }

    void theBrokenLedgerIsSaidAndLedTo()
    {
        Stage stage(false);
        stage.context.model.setRun(
            changedRun([](trace::Run& run) { run.ledger.front().handedOn += run.ledger.front().magnitude; }),
            tests::makeTinyInput());
        stage.view.showPage(VerificationView::Page::Invariants);
        stage.view.flush();
        QVERIFY2(stage.view.message().startsWith("1 broken"), qPrintable(stage.view.message()));
        auto* table = stage.view.findChild<QTableView*>(QStringLiteral("facts"));
        QVERIFY(table->isVisible());
        table->setCurrentIndex(stage.view.facts().index(static_cast<int>(Invariant::Balance), 0));
        QTest::keyClick(table, Qt::Key_Return);
        QCOMPARE(stage.context.selection.node(), std::optional(nodeOf(tests::kFc)));
        const std::uint64_t at = stage.context.cursor.position();
        QVERIFY(at > 0 && at < stage.context.model.run().eventCount());
        QCOMPARE(stage.context.model.run().events[at - 1].kind, event::EventKind::Rule);
    }

    void theOrderOfAdditionOfWhatIsSelected()
    {
        Stage stage;
        stage.view.showPage(VerificationView::Page::Addition);
        QVERIFY2(stage.seen().join(" ").contains("Select a node"), qPrintable(stage.seen().join("\n")));
        stage.context.selection.selectNode(nodeOf(tests::kRelu1));
        stage.view.flush();
        QCOMPARE(stage.view.facts().rowCount(), 2); // of conv2 and of the sum
        QVERIFY2(stage.view.message().contains("2 of 2 parts have landed"), qPrintable(stage.view.message()));
        const QAbstractItemModelTester tester(&stage.view.facts(),
                                              QAbstractItemModelTester::FailureReportingMode::QtTest);
        stage.context.cursor.moveTo(0);
        stage.view.flush();
        QVERIFY2(stage.view.message().contains("0 of 2 parts have landed"), qPrintable(stage.view.message()));
        QVERIFY(stage.view.facts().index(0, 2).data().toString().startsWith("comes at"));
        auto* table = stage.view.findChild<QTableView*>(QStringLiteral("facts"));
        table->setCurrentIndex(stage.view.facts().index(1, 0));
        QTest::keyClick(table, Qt::Key_Return); // goes to where it lands; what is selected stays
        QCOMPARE(stage.context.selection.node(), std::optional(nodeOf(tests::kRelu1)));
        QVERIFY(stage.context.cursor.position() > 0);
        stage.view.flush();
        QVERIFY(!stage.view.facts().index(1, 2).data().toString().startsWith("comes at"));
        stage.context.selection.selectNode(nodeOf(tests::kImage));
        stage.view.flush();
        QCOMPARE(stage.view.facts().rowCount(), 1);
    }

    void usesOfOneReaderAreJoinedFirst()
    {
        Stage stage(false);
        stage.context.model.setRun(changedRun([](trace::Run& run) {
                                       for (trace::Event& e : run.events) {
                                           const bool isSecond = e.node == tests::kRelu1 && e.slot == 1;
                                           e.flag = isSecond && e.kind == event::EventKind::Land ? 1 : e.flag;
                                       }
                                   }),
                                   tests::makeTinyInput());
        stage.context.cursor.moveTo(stage.context.model.run().eventCount());
        const FactSheet sheet = additionSheet(stage.context.model, nodeOf(tests::kRelu1));
        QCOMPARE(sheet.rows.size(), std::size_t{2});
        QCOMPARE(sheet.rows[0].cells.at(4), QString()); // no sum so far: the next part comes to this one first
        QVERIFY2(sheet.rows[1].cells.at(1).endsWith("first added to place 1"), qPrintable(linesOf(sheet).join("\n")));
        const FactSheet apart = [] {
            tests::ViewContext plain;
            plain.showTinyRun();
            return additionSheet(plain.model, nodeOf(tests::kRelu1));
        }();
        QCOMPARE(sheet.rows[1].cells.at(4), apart.rows[1].cells.at(4));
        QVERIFY(!apart.rows[0].cells.at(4).isEmpty());
    }

    void loopAndRecursionAtTheCursor()
    {
        Stage stage;
        stage.view.showPage(VerificationView::Page::Recursion);
        QVERIFY(stage.seen().contains("[Verify]")); // it needs a verification
        stage.view.setVerification(withCourse(true));
        bool isEqual = false;
        bool isNowhere = false;
        for (std::uint32_t visit = 0; visit < tests::kTinyVisits; ++visit) {
            stage.context.cursor.moveTo(tests::endOfVisit(stage.context.model, visit));
            stage.view.flush();
            isEqual = isEqual || stage.view.message().contains("equal up to here");
            isNowhere = isNowhere || stage.seen().join(" ").contains("No reverse rule of the tape runs at");
        }
        QVERIFY(isEqual && isNowhere);
        stage.view.setVerification(withCourse(false));
        QStringList parted;
        for (std::uint32_t visit = 0; visit < tests::kTinyVisits; ++visit) {
            stage.context.cursor.moveTo(tests::endOfVisit(stage.context.model, visit));
            const FactSheet sheet = recursionSheet(stage.context.model, stage.view.verification());
            parted << (sheet.role == Role::AlarmText ? sheet.message + linesOf(sheet).join(" ") : QString());
        }
        parted.removeAll(QString());
        RETRO_SAYS(parted.join("\n"), QString::fromUtf8("✕  part here | b | 2.50000000 | 2.25000000"),
                   "they parted at step 2");
    }

    void thePageIsRemembered()
    {
        Stage stage;
        stage.view.showPage(VerificationView::Page::Addition);
        Stage other;
        other.view.restoreState(stage.view.saveState());
        QCOMPARE(other.view.page(), VerificationView::Page::Addition);
        other.view.restoreState("77");
        QCOMPARE(other.view.page(), VerificationView::Page::Properties);
    }

    void itIsWritten()
    {
        Stage stage;
        const QTemporaryDir folder;
        const std::filesystem::path file = folder.filePath("properties.csv").toStdString();
        QVERIFY(!stage.view.exportTo(file).ok()); // nothing yet
        stage.view.setVerification(makeVerification());
        QVERIFY(stage.view.exportTo(file).ok());
        RETRO_MADE(text, base::readTextFile(file, 1 << 20));
        const QString csv = QString::fromStdString(*text);
        RETRO_SAYS(csv, "property,statement,verdict,detail,node", "violated,the worst is");
        QVERIFY(stage.view.exportTo(folder.filePath("properties.json").toStdString()).ok());
        QVERIFY(!stage.view.exportTo(folder.filePath("properties.png").toStdString()).ok());
    }

    void bothThemes()
    {
        Stage stage;
        stage.view.setVerification(makeVerification());
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            stage.view.showPage(VerificationView::Page::Properties);
            const QImage image = tests::grab(stage.view, {760, 300}, kind, QStringLiteral("verification"));
            QVERIFY(tests::colorCount(image) > 8);
            stage.view.showPage(VerificationView::Page::Invariants);
            const QImage atStep = tests::grab(stage.view, {860, 480}, kind, QStringLiteral("verification-at-step"));
            QVERIFY(tests::colorCount(atStep) > 8);
        }
    }
};

QTEST_MAIN(VerificationViewTest)
#include "tst_verificationview.moc"
