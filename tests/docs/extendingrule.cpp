// SPDX-License-Identifier: Apache-2.0
// The example of docs/extending/rule.md: it compiles, it does what the page says, and the page shows this code.
#include "tests/core/lrp/rules/rulefixture.h"
#include "tests/docs/snippet.h"
#include "tests/docs/squareshare.h"
#include <QTest>

using namespace retro;
using namespace retro::tests;

class ExtendingRuleTest : public QObject
{
    Q_OBJECT

private slots:
    void thePageShowsTheCode()
    {
        const QString code = sourceText("tests/docs/squareshare.h");
        const QString page = sourceText("docs/extending/rule.md");
        QVERIFY(!code.isEmpty());
        QVERIFY(page.contains("```cpp\n" + code + "```\n"));
    }

    void theRuleSharesBySquares()
    {
        lrp::RuleParameters parameters{{"epsilon", 0.0}};
        lrp::ParameterReader reader(parameters);
        const lrp::RulePointer rule = lrp::kSquareShareRule.read(reader);
        QVERIFY(reader.finish().ok());
        QCOMPARE(QString::fromStdString(rule->text()), QStringLiteral("square-share 0"));
        OneNode node("Sub", {
                                {doubles({2}, {3, 1})},
                                {doubles({1}, {-1})},
                            });
        const std::vector<Tensor> parts = node.apply(rule, {doubles({2}, {10, 4})});
        QVERIFY(distance(valuesOf(parts[0]), {9, 2}) < 1e-12);
        QVERIFY(distance(valuesOf(parts[1]), {1 + 2}) < 1e-12);
        OneNode shifted("Add", {{doubles({1}, {3})}, {doubles({1}, {1}), true}});
        static_cast<void>(shifted.apply(rule, {doubles({1}, {10})}));
        QVERIFY(std::abs(shifted.lost(event::Cause::Constant) - 1) < 1e-12);
        QVERIFY(!rule->accepts(OneNode("Relu", {{doubles({1}, {1})}}).op().structure()));
        QCOMPARE(lrp::kSquareShareRule.name, rule->name());
        QCOMPARE(lrp::kSquareShareRule.formula({rule->text(), "sum of operands"}),
                 std::string("R_k = R·x_k²/stab(Σx²)"));
    }
};

QTEST_GUILESS_MAIN(ExtendingRuleTest)
#include "extendingrule.moc"
