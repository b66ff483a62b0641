// SPDX-License-Identifier: Apache-2.0
// The graph in the colours of what verifying and the analysis of gradients found.
#include <QtTest>

#include "tests/views/graph/graphruns.h"
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/numbertext.h"
#include "views/graph/checkcolouring.h"
#include "views/graph/graphcanvas.h"
#include "views/graph/graphview.h"

#include <limits>

using namespace retro;
using namespace retro::views;
using layout::Index;

namespace
{

base::NodeId nodeOf(tests::TinyNode node) { return base::NodeId(std::uint32_t{node}); }

std::shared_ptr<const GraphScene> sceneOf(const RunHandle& handle, bool isClosed)
{
    const auto book = makeBook(handle.run, handle.run->graph, BoxMetrics::ofFonts());
    return tests::made(makeScene(book, std::vector<bool>(book->groupDepths.size(), isClosed)));
}

/// Every kind of answer: good, in doubt, wrong, a kink, not checked.
GraphChecks makeChecks()
{
    Verification made;
    made.nodes = {{nodeOf(tests::kConv1), 3e-10, false, {}, 1, 1e-8},
                  {nodeOf(tests::kRelu1), 0.5, true, {}, 12, 1e-7},
                  {nodeOf(tests::kConv2), 2e-4, false, {}, 900, 1e-6},
                  {nodeOf(tests::kAdd), 0.25, false, {}, 11'100, 1e-5},
                  {nodeOf(tests::kPool), {}, false, "none of its operands carries a gradient", {}, 0}};
    auto reach = std::make_shared<GradientReach>();
    reach->critical = 6;
    reach->leftOut = {{nodeOf(tests::kFlatten), WhyLeftOut::NoPath, "the outputs do not depend on it"}};
    return {std::make_shared<const Verification>(std::move(made)), reach};
}

/// "stem/conv1: 3e−10 (0)": what the boxes say, and their classes.
QStringList textsOf(const GraphScene& scene, const Colouring& colouring)
{
    QStringList texts;
    for (Index box = 0; box < scene.boxCount(); ++box) {
        texts << QStringLiteral("%1 (%2)")
                     .arg(classText(colouring, scene, box))
                     .arg(mainClass(colouring.boxes[static_cast<std::size_t>(box)]));
    }
    return texts;
}

QString textOf(const GraphScene& scene, const Colouring& colouring, tests::TinyNode node)
{
    return textsOf(scene, colouring)[static_cast<qsizetype>(scene.boxOf(nodeOf(node)))];
}

} // namespace

class CheckColouringTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void whatIsNotFiniteHasAWordOfItsOwn()
    {
        const RunHandle handle = tests::makeTinyRun();
        const auto scene = sceneOf(handle, false);
        Verification made;
        made.nodes = {{nodeOf(tests::kConv1), {}, false, "its difference is not finite", 1, 1e-8, true, false},
                      {nodeOf(tests::kConv2), 2e-9, false, {}, 3, 1e-8, false, true}};
        const GraphChecks checks{std::make_shared<const Verification>(std::move(made)), nullptr};
        const auto rules = makeColouring(ColourBy::Check, *scene, nullptr, checks);
        QCOMPARE(textOf(*scene, *rules, tests::kConv1), QStringLiteral("singular (5)"));
        QCOMPARE(textOf(*scene, *rules, tests::kConv2), valueText(2e-9, 2) + " (0)");
        const auto distances = makeColouring(ColourBy::Ulp, *scene, nullptr, checks);
        QCOMPARE(textOf(*scene, *distances, tests::kConv1), countText(1) + " (0)");
        QCOMPARE(textOf(*scene, *distances, tests::kConv2), QStringLiteral("overflow (4)"));
        QVERIFY(checkTip(checks, nodeOf(tests::kConv1)).contains("singular"));
        QVERIFY(checkTip(checks, nodeOf(tests::kConv2)).contains("overflow"));
    }

    void reverseRulesByTheirError()
    {
        const RunHandle handle = tests::makeTinyRun();
        const auto scene = sceneOf(handle, false);
        const auto colouring = makeColouring(ColourBy::Check, *scene, nullptr, makeChecks());
        QCOMPARE(textOf(*scene, *colouring, tests::kConv1), valueText(3e-10, 2) + " (0)");
        QCOMPARE(textOf(*scene, *colouring, tests::kRelu1), QStringLiteral("kink (4)"));
        QCOMPARE(textOf(*scene, *colouring, tests::kConv2), valueText(2e-4, 2) + " (2)");
        QCOMPARE(textOf(*scene, *colouring, tests::kAdd), QStringLiteral("0.25 (3)"));
        QCOMPARE(textOf(*scene, *colouring, tests::kPool), QStringLiteral(" (7)"));
        QCOMPARE(colouring->legend, (std::vector<std::size_t>{0, 2, 3, 4, 7}));
        QVERIFY(classSign(ColourBy::Check, 0).isEmpty()); // a figure stands there
        QCOMPARE(wordOf(ColourBy::Check), QStringLiteral("gradient check"));
    }

    void aGroupHasTheClassOfItsWorst()
    {
        const RunHandle handle = tests::makeTinyRun();
        const auto scene = sceneOf(handle, true);
        const auto colouring = makeColouring(ColourBy::Check, *scene, nullptr, makeChecks());
        QCOMPARE(textOf(*scene, *colouring, tests::kConv2), QStringLiteral("0.25 (3)"));   // with the sum, in block1
        QCOMPARE(textOf(*scene, *colouring, tests::kConv1), valueText(3e-10, 2) + " (0)"); // a kink says nothing
        GraphChecks checks = makeChecks();
        Verification worse = *checks.verification;
        worse.nodes.front().error = std::numeric_limits<double>::quiet_NaN();
        checks.verification = std::make_shared<const Verification>(std::move(worse));
        const auto nan = makeColouring(ColourBy::Check, *scene, nullptr, checks);
        QVERIFY(textOf(*scene, *nan, tests::kConv1).endsWith("(3)")); // beyond every limit
    }

    void valuesByTheirDistanceInUlp()
    {
        const RunHandle handle = tests::makeTinyRun();
        const auto scene = sceneOf(handle, false);
        const auto colouring = makeColouring(ColourBy::Ulp, *scene, nullptr, makeChecks());
        QCOMPARE(textOf(*scene, *colouring, tests::kConv1), QStringLiteral("1 (0)"));
        QCOMPARE(textOf(*scene, *colouring, tests::kRelu1), QStringLiteral("12 (1)"));
        QCOMPARE(textOf(*scene, *colouring, tests::kConv2), QStringLiteral("900 (2)"));
        QCOMPARE(textOf(*scene, *colouring, tests::kAdd), QStringLiteral("11,100 (3)"));
        QCOMPARE(textOf(*scene, *colouring, tests::kPool), QStringLiteral(" (7)"));
    }

    void whatAGradientVisits()
    {
        const RunHandle handle = tests::makeTinyRun();
        const auto scene = sceneOf(handle, false);
        const auto colouring = makeColouring(ColourBy::Reach, *scene, nullptr, makeChecks());
        QCOMPARE(textOf(*scene, *colouring, tests::kConv1), QStringLiteral(" (0)"));
        QCOMPARE(textOf(*scene, *colouring, tests::kFlatten), QStringLiteral("no path to the output (2)"));
        QCOMPARE(textOf(*scene, *colouring, tests::kImage), QStringLiteral(" (7)")); // no operator
        QCOMPARE(classSign(ColourBy::Reach, 2), QStringLiteral("3"));
        QVERIFY(makeChecks().reach->find(nodeOf(tests::kConv1)) == nullptr);
    }

    void withoutFactsTheLegendSaysWhatToDo()
    {
        const auto scene = sceneOf(tests::makeTinyRun(), false);
        const auto colouring = makeColouring(ColourBy::Check, *scene, nullptr);
        QCOMPARE(colouring->legend, std::vector<std::size_t>{7});
        QVERIFY(colouring->names[7].contains("Verify"));
        QVERIFY(makeColouring(ColourBy::Reach, *scene, nullptr)->names[7].contains("run the model"));
    }

    void tipsSayWhatWasFound()
    {
        const GraphChecks checks = makeChecks();
        QVERIFY(checkTip(checks, nodeOf(tests::kConv2)).contains("900 ulp"));
        QVERIFY(checkTip(checks, nodeOf(tests::kRelu1)).contains("at a kink"));
        QVERIFY(checkTip(checks, nodeOf(tests::kFlatten)).contains("no gradient"));
        QVERIFY(checkTip({}, nodeOf(tests::kConv2)).isEmpty());
    }

    void bothThemes_data()
    {
        QTest::addColumn<int>("by");
        for (const ColourBy by : {ColourBy::Check, ColourBy::Ulp, ColourBy::Reach}) {
            QTest::addRow("%s", qPrintable(wordOf(by))) << int(by);
        }
    }
    void bothThemes()
    {
        QFETCH(int, by);
        tests::TinyContext context;
        GraphView view(context.model, context.cursor, context.selection);
        tests::showAt(view, 640, 560);
        QTRY_VERIFY_WITH_TIMEOUT(!view.isLayoutRunning() && view.canvas().scene() != nullptr, 30'000);
        view.setColourBy(kColourings[static_cast<std::size_t>(by)]);
        const QImage before = view.grab().toImage();
        view.setChecks(makeChecks());
        QVERIFY(view.grab().toImage() != before);
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            const QString name = QStringLiteral("graph-by-%1").arg(wordOf(kColourings[std::size_t(by)]));
            QVERIFY(tests::colorCount(tests::grab(view, {640, 560}, kind, name)) > 8);
        }
        view.setChecks({});
        GraphView other(context.model, context.cursor, context.selection);
        other.restoreState(view.saveState());
        QCOMPARE(static_cast<int>(other.colourBy()), by);
    }
};

QTEST_MAIN(CheckColouringTest)
#include "tst_checkcolouring.moc"
