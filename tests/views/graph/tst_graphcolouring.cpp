// SPDX-License-Identifier: Apache-2.0
#include <QTest>

#include "tests/views/graph/graphruns.h"
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/graph/graphcolouring.h"

#include <cmath>

using namespace retro;
using namespace retro::views;
using layout::Index;

namespace
{

/// A scene with every group open or closed.
std::shared_ptr<const GraphScene> sceneOf(const RunHandle& handle, bool isClosed)
{
    const auto book = makeBook(handle.run, handle.run->graph, BoxMetrics::ofFonts());
    return tests::made(makeScene(book, std::vector<bool>(book->groupDepths.size(), isClosed)));
}

/// "epsilon 1e-06: 5, z-plus: 41": what is in the legend, with its boxes.
QString legendOf(const Colouring& colouring)
{
    QStringList parts;
    for (const std::size_t which : colouring.legend) {
        Index boxes = 0;
        for (const ClassCounts& counts : colouring.boxes) {
            boxes += counts[which];
        }
        parts.append(QStringLiteral("%1: %2").arg(colouring.names[which]).arg(boxes));
    }
    return parts.join(QStringLiteral(", "));
}

} // namespace

class GraphColouringTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void modesNeedNone()
    {
        QVERIFY(makeColouring(ColourBy::Mode, *sceneOf(tests::makeTinyRun(), false), nullptr) == nullptr);
    }

    void rulesAreRankedByTheirNumber()
    {
        const RunHandle handle = tests::makeTransformerRun();
        const auto scene = sceneOf(handle, false);
        const auto colouring = makeColouring(ColourBy::Rule, *scene, nullptr);
        QCOMPARE(legendOf(*colouring), QStringLiteral("z-plus: 40, epsilon 1e-06: 5, no rule: 1"));
        const Index add = scene->boxOf(tests::nodeNamed(handle, "encoder/layer.0/Add_1"));
        QCOMPARE(mainClass(colouring->boxes[static_cast<std::size_t>(add)]), std::size_t{1});
        QCOMPARE(classText(*colouring, *scene, add), QStringLiteral("epsilon 1e-06"));
        QCOMPARE(classSign(ColourBy::Rule, 1), QStringLiteral("2"));
    }

    // What chose the rules: one class per entry of the composite.
    void matchersAreRankedByTheirNumber()
    {
        const RunHandle handle = tests::makeTransformerRun();
        auto run = std::make_shared<trace::Run>(*handle.run);
        for (std::size_t node = 0; node < run->rules.size(); ++node) {
            trace::NodeRule& rule = run->rules[node];
            rule.matcher = rule.rule.empty() ? "" : rule.rule.starts_with("epsilon") ? "op Add" : "everything";
        }
        RunHandle changed = handle;
        changed.run = run;
        const auto scene = sceneOf(changed, false);
        const auto colouring = makeColouring(ColourBy::Matcher, *scene, nullptr);
        QCOMPARE(legendOf(*colouring), QStringLiteral("everything: 40, op Add: 5, no rule: 1"));
        const Index add = scene->boxOf(tests::nodeNamed(changed, "encoder/layer.0/Add_1"));
        QCOMPARE(classText(*colouring, *scene, add), QStringLiteral("op Add"));
        QCOMPARE(wordOf(ColourBy::Matcher), QStringLiteral("matcher"));
    }

    void rareOperatorsShareAClass()
    {
        const RunHandle handle = tests::makeTransformerRun();
        const auto colouring = makeColouring(ColourBy::Operator, *sceneOf(handle, false), nullptr);
        QCOMPARE(legendOf(*colouring),
                 QStringLiteral("Gemm: 13, Transpose: 9, Add: 5, LayerNormalization: 5, MatMul: 4, 7 others: 10"));
    }

    void aGroupCountsItsNodes()
    {
        const RunHandle handle = tests::makeTransformerRun();
        const auto scene = sceneOf(handle, true);
        const auto colouring = makeColouring(ColourBy::Rule, *scene, nullptr);
        const auto encoder = static_cast<std::size_t>(scene->boxOf(tests::nodeNamed(handle, "encoder/layer.0/Add_1")));
        QCOMPARE(colouring->boxes[encoder], (ClassCounts{34, 4}));
        QVERIFY(classText(*colouring, *scene, static_cast<Index>(encoder)).isEmpty());
    }

    void theLedgerFollowsTheState()
    {
        RunHandle handle = tests::makeTransformerRun(2, true);
        const auto scene = sceneOf(handle, false);
        const auto at = [&](std::uint64_t position) {
            handle.timeline->seek(position);
            return makeColouring(ColourBy::Ledger, *scene, &handle.timeline->state());
        };
        const auto box = static_cast<std::size_t>(scene->boxOf(tests::nodeNamed(handle, "head/FC")));
        QVERIFY(std::isnan(at(0)->shares[box]));
        QCOMPARE(mainClass(at(0)->boxes[box]), kColourClasses - 1);
        const auto end = at(handle.run->eventCount());
        QVERIFY(std::abs(end->shares[box] - 0.01) < 1e-9); // the rules of this run keep a hundredth
        QCOMPARE(classText(*end, *scene, static_cast<Index>(box)), QStringLiteral("1.0 %"));
        double total = 0;
        for (const double share : end->shares) {
            total += std::isnan(share) ? 0 : share;
        }
        QVERIFY2(total > 0.1 && total < 1, qPrintable(QString::number(total)));
        // The share of a closed group is the sum of its nodes.
        const auto whole = sceneOf(handle, true);
        const auto closed = makeColouring(ColourBy::Ledger, *whole, &handle.timeline->state());
        double again = 0;
        for (const double share : closed->shares) {
            again += std::isnan(share) ? 0 : share;
        }
        QVERIFY(std::abs(total - again) < 1e-9);
    }

    void classesDifferInBothThemes()
    {
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            const Theme& theme = Theme::of(kind);
            for (const ColourBy by : {ColourBy::Rule, ColourBy::Ledger}) {
                Colouring colouring;
                colouring.by = by;
                const std::size_t count = by == ColourBy::Rule ? 6 : 5;
                for (std::size_t a = 0; a < count; ++a) {
                    QVERIFY(contrastRatio(theme[Role::Text], classTint(&colouring, a, theme)) >= 4.5);
                    for (std::size_t b = 0; b < a; ++b) {
                        QVERIFY(classColor(&colouring, a, theme) != classColor(&colouring, b, theme));
                    }
                }
            }
        }
    }
};

QTEST_MAIN(GraphColouringTest)
#include "tst_graphcolouring.moc"
