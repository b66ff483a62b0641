// SPDX-License-Identifier: Apache-2.0
// Pages of the verification view that do not follow the cursor: nodes, gradient path, rewrites, store or rebuild.
#include <QtTest>

#include "core/base/file.h"
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/numbertext.h"
#include "views/verify/factmodel.h"
#include "views/verify/memorypage.h"
#include "views/verify/nodesheets.h"
#include "views/verify/storagecurve.h"
#include "views/verify/storagemodel.h"
#include "views/verify/verificationview.h"

#include <QAbstractItemModelTester>
#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QTableView>
#include <QTemporaryDir>
#include <QToolButton>

#include <limits>

using namespace retro;
using namespace retro::views;

namespace
{

constexpr int kPatience = 30'000;

base::NodeId nodeOf(tests::TinyNode node) { return base::NodeId(std::uint32_t{node}); }

VerificationPointer makeVerification()
{
    Verification made;
    made.nodes = {{nodeOf(tests::kConv1), 3e-10, false, {}, 1, 1e-8},
                  {nodeOf(tests::kRelu1), 0.5, true, {}, 12, 1e-7},
                  {nodeOf(tests::kConv2), std::numeric_limits<double>::quiet_NaN(), false, {}, 900, 1e-6},
                  {nodeOf(tests::kAdd), 0.25, false, {}, {}, 0},
                  {nodeOf(tests::kPool), {}, false, "none of its operands carries a gradient", {}, 0}};
    return std::make_shared<const Verification>(std::move(made));
}

GradientReachPointer makeReach()
{
    GradientReach reach{"every input", "logits", 5, {}};
    reach.leftOut = {{nodeOf(tests::kPool), WhyLeftOut::Stops, "no gradient passes this operator"},
                     {nodeOf(tests::kFlatten), WhyLeftOut::NoPath, "the outputs do not depend on it"}};
    return std::make_shared<const GradientReach>(std::move(reach));
}

/// Three tensors; each that is rebuilt takes ten bytes from every step, and adds to the cost.
StorageFactsPointer makeStorage()
{
    StorageFacts facts;
    for (std::uint32_t i = 0; i < 3; ++i) {
        facts.tensors.push_back({i + 5, QStringLiteral("v%1").arg(i), base::NodeId(i), base::ValueId(i + 1), 2048, 10});
    }
    facts.costUnit = "FLOP";
    facts.follow = [](const std::set<std::uint32_t>& rebuilt) {
        const auto less = 10 * static_cast<std::int64_t>(rebuilt.size());
        StorageTrack track{
            {100 - less, 200 - less, 300 - less, 150 - less}, 2, 300 - less, 10.0 * double(rebuilt.size())};
        return track;
    };
    return std::make_shared<const StorageFacts>(std::move(facts));
}

/// The tiny run as one whose forward values came in chosen forms: those of makeStorage(), and one that it lacks.
void showForwardedRun(tests::ViewContext& context)
{
    RunHandle handle = tests::makeTinyRun();
    auto run = std::make_shared<trace::Run>(*handle.run);
    using trace::ForwardedForm;
    const auto value = [](std::uint32_t id) { return base::ValueId(id); };
    run->facts.forwarded = {
        {value(1), ForwardedForm::Compress, 2048, 64, false, "its readers look at signs and winners alone"},
        {value(2), ForwardedForm::Store, 2048, 2048, true, "stored: the reverse rule of Mul squared reads all of it"},
        {value(3), ForwardedForm::Rebuild, 2048, 0, false, "chosen"},
        {value(4), ForwardedForm::Store, 512, 512, false, "checkpoint before iteration 4 of steps"}};
    handle.run = run;
    handle.timeline = std::make_shared<trace::Timeline>(trace::Timeline::open(run).value());
    context.model.setRun(std::move(handle), tests::makeTinyInput());
}

struct Stage
{
    tests::ViewContext context;
    VerificationView view{context.model, context.cursor, context.selection};

    explicit Stage(VerificationView::Page page)
    {
        context.showTinyRun();
        tests::showAt(view, 760, 300);
        view.showPage(page);
    }
    [[nodiscard]] QStringList column(int column) const
    {
        QStringList texts;
        for (int row = 0; row < view.facts().rowCount(); ++row) {
            texts << view.facts().index(row, column).data().toString();
        }
        return texts;
    }
    [[nodiscard]] QTableView& table() { return *view.findChild<QTableView*>(QStringLiteral("facts")); }
    [[nodiscard]] bool says(const QString& text) const
    {
        const QList<QLabel*> labels = view.findChildren<QLabel*>();
        return std::any_of(labels.begin(), labels.end(),
                           [&](const QLabel* label) { return label->isVisible() && label->text().contains(text); });
    }
};

} // namespace

class VerificationPagesTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void theWorstNodesComeFirst()
    {
        Stage stage(VerificationView::Page::Nodes);
        QVERIFY(stage.says("Compares the tape")); // it needs a verification
        stage.view.setVerification(makeVerification());
        QCOMPARE(stage.column(0), (QStringList{"block1/conv2", "block1/add", "stem/conv1", "stem/relu1", "head/pool"}));
        QCOMPARE(stage.column(2).at(3), QStringLiteral("kink"));
        QCOMPARE(stage.column(3).at(0), QStringLiteral("900"));
        RETRO_SAYS(stage.view.message(), "3 reverse rules compared with differences, 1 at a kink");
        stage.table().setCurrentIndex(stage.view.facts().index(1, 0));
        QCOMPARE(stage.context.selection.node(), std::optional(nodeOf(tests::kAdd)));
        QTest::keyClick(&stage.table(), Qt::Key_Return);
        QCOMPARE(stage.context.cursor.position(), *stage.context.model.relevanceStep(nodeOf(tests::kAdd)));
        const QAbstractItemModelTester tester(&stage.view.facts(),
                                              QAbstractItemModelTester::FailureReportingMode::QtTest);
        stage.view.showPage(VerificationView::Page::Invariants);
        stage.view.showPage(VerificationView::Page::Nodes);
    }

    void whatAGradientLeavesOutHasItsReason()
    {
        Stage stage(VerificationView::Page::Reach);
        stage.view.setReach(nullptr, "A recorded run does not say what its operators are.");
        QVERIFY(stage.says("A recorded run does not say"));
        stage.view.setReach(makeReach());
        QCOMPARE(stage.column(0), (QStringList{"head/pool", "head/flatten"}));
        QCOMPARE(stage.column(2).at(1), QStringLiteral("the outputs do not depend on it"));
        QCOMPARE(stage.view.message(), QStringLiteral("5 of 7 operators are visited from every input to logits"));
        auto whole = std::make_shared<GradientReach>(*makeReach());
        whole->leftOut.clear();
        stage.view.setReach(whole);
        QVERIFY(stage.says("visits every operator"));
    }

    void theEndsOfAGradientAreChosen()
    {
        Stage stage(VerificationView::Page::Reach);
        QSignalSpy wanted(&stage.view, &VerificationView::reachRequested);
        const auto combo = [&](const char* name) -> QComboBox& {
            for (QComboBox* box : stage.view.findChildren<QComboBox*>()) {
                if (box->accessibleName() == QLatin1String(name)) {
                    return *box;
                }
            }
            qFatal("no box %s", name);
        };
        const auto choose = [](QComboBox& box, int at) {
            box.setCurrentIndex(at);
            emit box.activated(at);
        };
        QComboBox& from = combo("Input that a gradient is asked for");
        QComboBox& to = combo("Value that a gradient is taken of");
        QVERIFY(from.isVisible() && to.isVisible());
        QCOMPARE(from.count(), 2); // every input, image
        QCOMPARE(to.count(), 3);   // what is explained, logits, what is selected
        choose(from, 1);
        QCOMPARE(wanted.size(), 1);
        QCOMPARE(wanted.back().at(0).value<base::ValueId>(), stage.context.model.graph().inputs().front());
        QVERIFY(!wanted.back().at(1).value<base::ValueId>().isValid());
        stage.context.selection.selectNode(nodeOf(tests::kAdd));
        choose(to, 2);
        const base::ValueId sum = stage.context.model.graph().node(nodeOf(tests::kAdd)).outputs.front();
        QCOMPARE(wanted.back().at(1).value<base::ValueId>(), sum);
        stage.context.selection.clear();
        choose(to, 2); // nothing is selected: what is explained
        QVERIFY(!wanted.back().at(1).value<base::ValueId>().isValid());
        QCOMPARE(to.currentIndex(), 0);
        stage.view.showPage(VerificationView::Page::Invariants);
        QVERIFY(!from.isVisible());
    }

    void rewritesSayWhatStoodThereBefore()
    {
        Stage stage(VerificationView::Page::Rewrites);
        stage.view.setRewrites(nullptr, "A recorded run holds the graph that ran alone.");
        QVERIFY(stage.says("holds the graph that ran alone"));
        RewriteDiff diff{4, 3, {}};
        stage.view.setRewrites(std::make_shared<const RewriteDiff>(diff));
        QVERIFY(stage.says("No rewrite changed anything"));
        diff.changes = {
            {"fuse linear", {"MatMul fc", "Add fc_bias"}, {"Gemm head/fc"}, "fc + fc_bias", nodeOf(tests::kFc), false},
            {"merge BatchNorm", {}, {}, "bn1 has two readers", {}, true},
            {"fold constants", {"Shape a", "Gather b", "Concat c", "Cast d", "Add e"}, {}, "5 folded", {}, false}};
        stage.view.setRewrites(std::make_shared<const RewriteDiff>(diff));
        QCOMPARE(stage.column(1), (QStringList{"MatMul fc + Add fc_bias", "nothing changed",
                                               "Shape a + Gather b + Concat c + Cast d + 1 more"}));
        QCOMPARE(stage.column(2), (QStringList{"Gemm head/fc", "bn1 has two readers", QString::fromUtf8("–")}));
        QCOMPARE(stage.view.message(), QStringLiteral("4 nodes in the file, 3 in the graph that runs"));
        stage.table().setCurrentIndex(stage.view.facts().index(0, 0));
        QCOMPARE(stage.context.selection.node(), std::optional(nodeOf(tests::kFc)));
    }

    void everyPageIsWritten()
    {
        Stage stage(VerificationView::Page::Nodes);
        stage.view.setVerification(makeVerification());
        stage.view.setReach(makeReach());
        stage.view.setStorage(makeStorage());
        const QTemporaryDir folder;
        const auto written = [&](VerificationView::Page page) {
            stage.view.showPage(page);
            const std::filesystem::path file = folder.filePath("page.csv").toStdString();
            const auto done = stage.view.exportTo(file);
            const auto text = base::readTextFile(file, 1 << 20);
            return done.ok() && text.ok() ? QString::fromStdString(*text) : QString();
        };
        using Page = VerificationView::Page;
        const QString nodes = written(Page::Nodes);
        QVERIFY2(nodes.contains("label,operator,rule_error,float_ulp,float_error,node"), qPrintable(nodes));
        const QString reach = written(Page::Reach);
        QVERIFY2(reach.contains("the outputs do not depend on it"), qPrintable(reach));
        const QString memory = written(Page::Memory);
        RETRO_SAYS(memory, "value,bytes,cost,mark,form,kept,fallback,reason,node", "v1,2048,10,store,");
        const QString invariants = written(Page::Invariants);
        QVERIFY2(invariants.contains("verdict,statement,so_far,node"), qPrintable(invariants));
        stage.view.setStorage(nullptr, "Open a model first.");
        stage.view.showPage(Page::Memory);
        QVERIFY(!stage.view.exportTo(folder.filePath("none.csv").toStdString()).ok());
    }

    void aMarkMovesTheMemoryCurve()
    {
        Stage stage(VerificationView::Page::Memory);
        stage.view.setStorage(nullptr, "Open a model first.");
        QVERIFY(stage.says("Open a model first."));
        MemoryPage& page = stage.view.memory();
        const QAbstractItemModelTester tester(&page.items(), QAbstractItemModelTester::FailureReportingMode::QtTest);
        const StorageFactsPointer facts = makeStorage();
        stage.view.setStorage(facts);
        const StorageTrack all = facts->follow({});
        QTRY_COMPARE_WITH_TIMEOUT(page.curve().now().bytes, all.bytes, kPatience);
        QCOMPARE(page.items().rowCount(), static_cast<int>(facts->tensors.size()));
        QVERIFY(stage.view.message().contains("0 of 3 rebuilt"));
        auto* table = page.findChild<QTableView*>();
        table->setCurrentIndex(page.items().index(0, 0));
        QTest::keyClick(table, Qt::Key_Space); // v0 is rebuilt
        QCOMPARE(page.items().rebuilt(), std::set<std::uint32_t>{5});
        const StorageTrack one = facts->follow(page.items().rebuilt());
        QVERIFY(one.bytes != all.bytes);
        QTRY_COMPARE_WITH_TIMEOUT(page.curve().now().bytes, one.bytes, kPatience);
        QTRY_VERIFY_WITH_TIMEOUT(stage.view.message().contains("1 of 3 rebuilt"), kPatience);
        QCOMPARE(stage.context.selection.node(), std::optional(base::NodeId(std::uint32_t{0})));
        QTest::keyClick(table, Qt::Key_Space); // and stored again
        QTRY_COMPARE_WITH_TIMEOUT(page.curve().now().bytes, all.bytes, kPatience);
        const QList<QToolButton*> buttons = page.findChildren<QToolButton*>();
        QTest::mouseClick(buttons.at(1), Qt::LeftButton); // rebuild all
        QCOMPARE(page.items().rebuilt().size(), std::size_t{3});
        const StorageTrack none = facts->follow(page.items().rebuilt());
        QTRY_COMPARE_WITH_TIMEOUT(page.curve().now().bytes, none.bytes, kPatience);
        QTest::mouseClick(buttons.front(), Qt::LeftButton);
        QVERIFY(page.items().rebuilt().empty());
        stage.view.setStorage(nullptr);
        QCOMPARE(page.items().rowCount(), 0);
    }

    void whatTheRunDidStandsBesideTheMarks()
    {
        Stage stage(VerificationView::Page::Memory);
        stage.view.setStorage(makeStorage());
        MemoryPage& page = stage.view.memory();
        const StorageModel& items = page.items();
        const QAbstractItemModelTester tester(&page.items(), QAbstractItemModelTester::FailureReportingMode::QtTest);
        const auto* table = page.findChild<QTableView*>();
        QVERIFY(table->isColumnHidden(StorageModel::ReasonColumn)); // nobody knows
        showForwardedRun(stage.context);
        stage.view.flush();
        QVERIFY(!table->isColumnHidden(StorageModel::ReasonColumn));
        const auto text = [&](int row, int column) { return items.index(row, column).data().toString(); };
        QCOMPARE(items.rowCount(), 4);
        QCOMPARE(text(0, StorageModel::FormColumn), QStringLiteral("packed"));
        QCOMPARE(text(1, StorageModel::FormColumn), QStringLiteral("stored"));
        QCOMPARE(text(1, StorageModel::ReasonColumn),
                 QStringLiteral("stored: the reverse rule of Mul squared reads all of it"));
        QCOMPARE(text(2, StorageModel::FormColumn), QStringLiteral("rebuilt"));
        QCOMPARE(text(3, StorageModel::ReasonColumn), QStringLiteral("checkpoint before iteration 4 of steps"));
        const auto brush = [&](int row) {
            return items.index(row, StorageModel::ReasonColumn).data(Qt::ForegroundRole);
        };
        QVERIFY(brush(1).isValid() && !brush(0).isValid()); // not as asked for
        QVERIFY(items.index(0, 0).data(Qt::CheckStateRole).isValid());
        QVERIFY(!items.index(3, 0).data(Qt::CheckStateRole).isValid()); // only the run knows it
        QTRY_VERIFY_WITH_TIMEOUT(stage.view.message().contains("0 of 3 rebuilt"), kPatience);
        const QString kept =
            QStringLiteral("This run kept %1 of %2, 1 not as asked for.").arg(bytesText(2624), bytesText(6656));
        QCOMPARE(page.detail(), kept + QStringLiteral(" v1 is not as asked for: stored: the reverse rule of Mul "
                                                      "squared reads all of it."));
        page.findChild<QTableView*>()->setCurrentIndex(items.index(0, 0));
        QCOMPARE(page.detail(), kept + QStringLiteral(" v0 is packed: its readers look at signs and winners alone."));
        const QTemporaryDir folder;
        const std::filesystem::path file = folder.filePath("page.csv").toStdString();
        QVERIFY(stage.view.exportTo(file).ok());
        const QString csv = QString::fromStdString(base::readTextFile(file, 1 << 20).value());
        QVERIFY2(csv.contains("v1,2048,10,store,store,2048,yes,stored: the reverse rule"), qPrintable(csv));
        stage.context.showTinyRun(); // a run that does not say
        stage.view.flush();
        QCOMPARE(items.rowCount(), 3);
        QVERIFY(table->isColumnHidden(StorageModel::ReasonColumn));
    }

    void aRecordedRunShowsWhatItDid()
    {
        Stage stage(VerificationView::Page::Memory);
        stage.view.setStorage(nullptr, "Open a model first.");
        QVERIFY(stage.says("Open a model first."));
        showForwardedRun(stage.context);
        stage.view.flush();
        MemoryPage& page = stage.view.memory();
        QVERIFY(page.isVisible() && !stage.says("Open a model first."));
        QVERIFY(!page.curve().isVisible() && page.findChild<QToolButton*>(QStringLiteral("run")) != nullptr);
        QVERIFY(!page.findChild<QToolButton*>(QStringLiteral("run"))->isVisible()); // there is no model to run
        QCOMPARE(page.items().rowCount(), 4);
        QVERIFY(stage.view.message().startsWith("This run kept"));
        QCOMPARE(page.items().nameAt(0),
                 QString::fromStdString(stage.context.model.graph().value(base::ValueId(std::uint32_t{1})).name));
        stage.view.showPage(VerificationView::Page::Properties);
        stage.view.showPage(VerificationView::Page::Memory);
        QVERIFY(page.isVisible());
        const QTemporaryDir folder;
        QVERIFY(stage.view.exportTo(folder.filePath("page.json").toStdString()).ok());
    }

    void theGradientIsAskedForByTheMarks()
    {
        Stage stage(VerificationView::Page::Memory);
        stage.view.setStorage(makeStorage());
        std::vector<std::vector<base::ValueId>> asked;
        std::vector<bool> packed;
        connect(&stage.view, &VerificationView::gradientRequested, this,
                [&](const std::vector<base::ValueId>& rebuilt, bool isPacked) {
                    asked.push_back(rebuilt);
                    packed.push_back(isPacked);
                });
        auto* run = stage.view.memory().findChild<QToolButton*>(QStringLiteral("run"));
        QVERIFY(run != nullptr && run->isVisible());
        QTest::mouseClick(run, Qt::LeftButton);
        stage.view.memory().items().setRebuilt({5, 7});
        stage.view.memory().findChild<QCheckBox*>()->setChecked(true);
        QTest::mouseClick(run, Qt::LeftButton);
        const base::ValueId first(std::uint32_t{1});
        const base::ValueId third(std::uint32_t{3});
        QCOMPARE(asked.size(), std::size_t{2});
        QVERIFY((packed == std::vector<bool>{false, true}));
        QVERIFY(asked[0].empty());
        QVERIFY((asked[1] == std::vector<base::ValueId>{first, third}));
    }

    void bothThemes()
    {
        Stage stage(VerificationView::Page::Memory);
        stage.view.setStorage(makeStorage());
        showForwardedRun(stage.context);
        stage.view.flush();
        QTRY_VERIFY_WITH_TIMEOUT(!stage.view.memory().curve().now().bytes.empty(), kPatience);
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            QVERIFY(tests::colorCount(tests::grab(stage.view, {760, 300}, kind, QStringLiteral("store-or-rebuild"))) >
                    8);
        }
        stage.view.setVerification(makeVerification());
        stage.view.showPage(VerificationView::Page::Nodes);
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            QVERIFY(tests::colorCount(tests::grab(stage.view, {760, 300}, kind, QStringLiteral("checked-nodes"))) > 8);
        }
    }
};

QTEST_MAIN(VerificationPagesTest)
#include "tst_verificationpages.moc"
