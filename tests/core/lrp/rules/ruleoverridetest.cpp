// SPDX-License-Identifier: Apache-2.0
// Rules that a person puts before a composite, as text.
#include "core/lrp/composite/ruleoverride.h"
#include "core/lrp/rules/rules.h"

#include <QtTest>

using namespace retro;

namespace
{

QString text(const std::string& string) { return QString::fromStdString(string); }

} // namespace

class RuleOverrideTest : public QObject
{
    Q_OBJECT

private slots:
    void specificationsArePartedAndJoined()
    {
        const std::string whole = "epsilon_plus:epsilon=0.1 | op:Conv=gamma | name:\"a | b\"=stop";
        const lrp::Specification parted = lrp::splitSpecification(whole);
        QCOMPARE(text(parted.base), QStringLiteral("epsilon_plus:epsilon=0.1"));
        QCOMPARE(parted.overrides.size(), std::size_t(2));
        QCOMPARE(text(parted.overrides[1]), QStringLiteral("name:\"a | b\"=stop"));
        QCOMPARE(text(lrp::joinSpecification(parted)), text(whole));
        QCOMPARE(text(lrp::splitSpecification("auto").base), QStringLiteral("auto"));
        QVERIFY(lrp::splitSpecification("auto").overrides.empty());
    }

    void everyConditionIsRead()
    {
        const auto entry =
            lrp::parseOverride("first & op:Conv,ConvTranspose & scope:\"a b\" & name:/x/*=gamma:gamma=0.5");
        RETRO_OK(entry);
        QCOMPARE(text(entry->matcher.text()), QStringLiteral("first Conv, ConvTranspose and name /x/* and scope a b"));
        QCOMPARE(text(entry->rule->text()).left(5), QStringLiteral("gamma"));
        QCOMPARE(std::get<double>(entry->rule->parameters().at("gamma")), 0.5);
        RETRO_MADE(gate, lrp::parseOverride("structure:bilinear&from:Softmax&operand:0=signal-take-all:signal=1"));
        QCOMPARE(text(gate->matcher.text()), QStringLiteral("structure bilinear and operand 0 from Softmax"));
        RETRO_MADE(box, lrp::parseOverride("first=z-box:low=-2/-1/-1.5,high=3"));
        RETRO_MADE(chosen, lrp::parseOverride("first:\"depth 0\"&op:Conv=flat"));
        QCOMPARE(text(chosen->matcher.text()), QStringLiteral("first Conv from input \"depth 0\""));
        const std::string again = lrp::overrideText(chosen->matcher, chosen->rule->name(), chosen->rule->parameters());
        QVERIFY2(again.starts_with("first:\"depth 0\"&op:Conv=flat"), again.c_str());
        QVERIFY(!lrp::parseOverride("first:=flat").ok());
    }

    // What is written is read back, whatever a node is called.
    void textsGoRound()
    {
        for (const char* name : {"plain", "/a/b.c[0]:1", "with \"quotes\" and \\", "a=b&c|d, e"}) {
            lrp::Matcher matcher;
            matcher.nameGlob = name;
            matcher.ops = {"Conv", name};
            matcher.structure = ops::StructureKind::SumOfOperands;
            const lrp::RulePointer rule = lrp::alphaBetaRule(3, 2);
            const std::string written = lrp::overrideText(matcher, rule->name(), rule->parameters());
            const std::string joined = lrp::joinSpecification({"auto", {written, written}});
            QCOMPARE(lrp::splitSpecification(joined).overrides, std::vector<std::string>({written, written}));
            RETRO_MADE(read, lrp::parseOverride(written));
            QCOMPARE(text(read->matcher.nameGlob), text(name));
            QCOMPARE(read->matcher.ops, matcher.ops);
            QVERIFY(read->matcher.structure == matcher.structure);
            QVERIFY(read->rule->parameters() == rule->parameters());
        }
    }

    void mistakesAreNamed_data()
    {
        QTest::addColumn<QString>("override");
        QTest::addColumn<QString>("message");
        QTest::newRow("no rule") << "op:Conv"
                                 << "write MATCHER=RULE";
        QTest::newRow("no condition") << "Conv=stop"
                                      << "\"Conv\" is no condition";
        QTest::newRow("unknown condition") << "kind:Conv=stop"
                                           << "there is no condition \"kind\"";
        QTest::newRow("empty value") << "op:=stop"
                                     << "is no condition";
        QTest::newRow("structure") << "structure:conv=stop"
                                   << "known are linear map";
        QTest::newRow("operand") << "from:Softmax&operand:x=stop"
                                 << "no operand";
        QTest::newRow("operand alone") << "operand:1=stop"
                                       << "goes with from:";
        QTest::newRow("rule") << "op:Conv=gama"
                              << "gama";
        QTest::newRow("parameter") << "op:Conv=gamma:gam=1"
                                   << "there is no such parameter";
        QTest::newRow("empty") << ""
                               << "write MATCHER=RULE";
    }
    void mistakesAreNamed()
    {
        QFETCH(QString, override);
        QFETCH(QString, message);
        const auto entry = lrp::parseOverride(override.toStdString());
        QVERIFY(!entry.ok());
        QVERIFY2(text(entry.error().text()).contains(message), entry.error().text().c_str());
        QVERIFY(text(entry.error().text()).contains("'" + override + "'"));
    }

    void overridesComeFirst()
    {
        lrp::Composite composite;
        composite.name = "base";
        composite.entries = {{lrp::Matcher{}, lrp::gradientRule()}};
        const std::vector<std::string> overrides{"op:Conv=stop", "op:Relu=pass"};
        RETRO_MADE(changed, lrp::withOverrides(composite, overrides));
        QCOMPARE(changed->entries.size(), std::size_t(3));
        QCOMPARE(text(std::string(changed->entries[0].rule->name())), QStringLiteral("stop"));
        QCOMPARE(text(std::string(changed->entries[2].rule->name())), QStringLiteral("gradient"));
        QCOMPARE(text(changed->name), QStringLiteral("base | op:Conv=stop | op:Relu=pass"));
    }
};

QTEST_GUILESS_MAIN(RuleOverrideTest)
#include "ruleoverridetest.moc"
