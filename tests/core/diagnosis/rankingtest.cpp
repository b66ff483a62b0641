// SPDX-License-Identifier: Apache-2.0
// Order and grouping of findings, and how they are told.
#include <QtTest>

#include "core/diagnosis/ranking.h"
#include "core/diagnosis/registry.h"
#include "tests/core/diagnosis/diagnosed.h"

#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include <set>

using namespace retro;
using namespace retro::tests;

namespace
{

/// x → a → b → c, each a Relu.
SharedGraph chain()
{
    Writer writer;
    ValueId value = writer.input("x", {1, 4});
    for (const char* name : {"a", "b", "c"}) {
        value = writer.node("Relu", name, {value});
    }
    writer.output(value);
    return writer.finish();
}

const Asked kOnes{{floats({1, 4}, {1, 1, 1, 1})}};

Finding finding(const diagnosis::Facts& facts, const std::string& id, Level level, double base, const char* node)
{
    Finding made;
    made.id = id;
    made.level = level;
    made.base = base;
    made.place = {diagnosis::PlaceKind::Node, node, facts.nodeOfPass(node)};
    made.what = "is found";
    return made;
}

std::vector<std::string> idsOf(const std::vector<Finding>& findings)
{
    std::vector<std::string> ids;
    std::ranges::transform(findings, std::back_inserter(ids), &Finding::id);
    return ids;
}

} // namespace

class RankingTest : public QObject
{
    Q_OBJECT

private slots:
    void worstComesFirst()
    {
        const auto facts = factsFor(chain(), kOnes);
        const auto order = diagnosis::ranked(*facts, {finding(*facts, "rule.odd", Level::Note, 1, "a"),
                                                      finding(*facts, "model.training", Level::Error, 3, "c"),
                                                      finding(*facts, "flow.bias", Level::Warning, 2.1, "b"),
                                                      finding(*facts, "diff.node", Level::Difference, 2.75, "b")});
        const std::vector<std::string> wanted{"model.training", "diff.node", "flow.bias", "rule.odd"};
        QCOMPARE(idsOf(order), wanted);
    }

    void oneFindingPerPlaceAndFamilyRemains()
    {
        const auto facts = factsFor(chain(), kOnes);
        const auto order = diagnosis::ranked(*facts, {finding(*facts, "flow.bias", Level::Warning, 2.1, "b"),
                                                      finding(*facts, "flow.growth", Level::Warning, 2.5, "b"),
                                                      finding(*facts, "flow.bias", Level::Warning, 2.1, "c")});
        const std::vector<std::string> wanted{"flow.growth", "flow.bias"};
        QCOMPARE(idsOf(order), wanted);
        QCOMPARE(idsOf(order.front().also), std::vector<std::string>{"flow.bias"});
    }

    void cutFollowsFromWhatTakesAll()
    {
        const auto facts = factsFor(chain(), kOnes);
        Finding cut = finding(*facts, "flow.cut", Level::Warning, 2.8, "b");
        cut.action.arguments["input"] = "x";
        const auto order = diagnosis::ranked(*facts, {cut, finding(*facts, "rule.stop", Level::Warning, 2.2, "c")});
        QCOMPARE(idsOf(order), std::vector<std::string>{"rule.stop"});
        QCOMPARE(idsOf(order.front().also), std::vector<std::string>{"flow.cut"});
        QCOMPARE(order.front().score(), 2.7);
    }

    void faultOfTheFileTakesItsEffects()
    {
        const auto facts = factsFor(chain(), kOnes);
        const auto order =
            diagnosis::ranked(*facts, {finding(*facts, "flow.growth", Level::Warning, 2.9, "c"),
                                       finding(*facts, "model.channel-outlier", Level::Warning, 2.4, "b"),
                                       finding(*facts, "forward.dead", Level::Warning, 2.9, "a")});
        const std::vector<std::string> wanted{"forward.dead", "model.channel-outlier"};
        QCOMPARE(idsOf(order), wanted);
        QCOMPARE(idsOf(order.back().also), std::vector<std::string>{"flow.growth"});
    }

    void explosionOfOneNodeFollowsFromItsGrowth()
    {
        const auto facts = factsFor(chain(), kOnes);
        Finding growth = finding(*facts, "flow.growth", Level::Warning, 2.5, "b");
        growth.numbers = {{"factor", 1e4}};
        Finding explodes = finding(*facts, "flow.explodes", Level::Warning, 2.9, "a");
        explodes.numbers = {{"decades", 4.2}};
        QCOMPARE(idsOf(diagnosis::ranked(*facts, {growth, explodes})), std::vector<std::string>{"flow.growth"});
        explodes.numbers = {{"decades", 9}};
        QCOMPARE(diagnosis::ranked(*facts, {growth, explodes}).size(), std::size_t{2});
    }

    void otherRulesAreWhatToDoAboutAnExplosion()
    {
        const auto facts = factsFor(chain(), kOnes);
        Finding better = finding(*facts, "rule.better", Level::Note, 1, "a");
        better.what = "with other rules it grows less";
        better.action.option = "--rule op:Conv=z-plus";
        const auto order =
            diagnosis::ranked(*facts, {finding(*facts, "flow.explodes", Level::Warning, 2.5, "b"), better});
        QCOMPARE(idsOf(order), std::vector<std::string>{"flow.explodes"});
        QVERIFY(hasAll(order.front().meaning(), {"With other rules", "--rule op:Conv=z-plus"}));
    }

    void whereForwardValuesPartFollowsFromTheDifference()
    {
        const auto facts = factsFor(chain(), kOnes);
        const auto order = diagnosis::ranked(*facts, {finding(*facts, "diff.forward", Level::Difference, 2.4, "c"),
                                                      finding(*facts, "diff.weight", Level::Difference, 2.7, "b")});
        QCOMPARE(idsOf(order), std::vector<std::string>{"diff.weight"});
        QCOMPARE(idsOf(order.front().also), std::vector<std::string>{"diff.forward"});
    }

    void everyCheckSaysWhatItMeasures()
    {
        std::set<std::string_view> ids;
        const QString page = QString::fromUtf8(tests::bytesIn(QStringLiteral(RETRO_SOURCE_DIR "/docs/diagnosis.md")));
        for (const diagnosis::Check* check : diagnosis::checks()) {
            QVERIFY2(ids.insert(check->id).second, std::string(check->id).c_str());
            QVERIFY(check->id.find('.') != std::string_view::npos);
            QVERIFY(!check->statistic.empty() && !check->healthy.empty() && check->run != nullptr);
            QCOMPARE(diagnosis::findCheck(check->id), check);
            const QString heading = QStringLiteral("\n### `%1`\n").arg(QString::fromStdString(std::string(check->id)));
            QVERIFY2(page.contains(heading), qPrintable("docs/diagnosis.md lacks" + heading));
        }
    }

    void healthyModelHasItsHeadlineAndAnOffer()
    {
        const std::vector<std::string> lines = diagnosis::textOf(diagnosed(chain(), kOnes));
        QCOMPARE(lines.size(), std::size_t{2});
        QVERIFY(lines.front().starts_with("Score "));
        QVERIFY(lines.back().find("othing unusual by ") != std::string::npos);
        QVERIFY(lines.back().find("--against") != std::string::npos);
    }

    void moreThanTenLinesAreBehindTheFold()
    {
        const auto facts = factsFor(chain(), kOnes);
        Diagnosis told;
        for (const char* id : {"flow.bias", "flow.growth", "rule.stop"}) {
            Finding one = finding(*facts, id, Level::Warning, 2.1, "b");
            one.means = fmt::format("{0:w<280} {0:w<80} {0:w<80}", ""); // three lines
            told.findings.push_back(one);
        }
        const std::vector<std::string> lines = diagnosis::textOf(told);
        QCOMPARE(lines.size(), std::size_t{9}); // two findings of four lines, and the counts
        QVERIFY(lines.back().starts_with("3 findings (3 warnings);"));
        QCOMPARE(diagnosis::textOf(told, 0).size(), std::size_t{13}); // all of them
    }

    void textBeginsWithTheFindingAndSaysWhatToType()
    {
        const auto facts = factsFor(chain(), kOnes);
        Diagnosis told;
        Finding bias = finding(*facts, "flow.bias", Level::Warning, 2.1, "b");
        bias.means = "Little of it is about the input.";
        bias.remedy = "See what remains";
        bias.action.option = "--rule name:b=z-plus:bias=zero";
        bias.also = {finding(*facts, "flow.cut", Level::Warning, 2.8, "a")};
        told.findings = {bias};
        const std::vector<std::string> lines = diagnosis::textOf(told);
        QCOMPARE(lines[0], std::string("warning  b  is found  [flow.bias]"));
        QCOMPARE(lines[1], std::string("         Little of it is about the input. See what remains: "
                                       "--rule name:b=z-plus:bias=zero"));
        QCOMPARE(lines[2], std::string("         also: a [flow.cut]"));
        QVERIFY(lines[3].starts_with("1 finding (1 warning);"));
    }

    void jsonHasEveryCheckWithItsLargestStatistic()
    {
        const nlohmann::ordered_json json = diagnosis::jsonOf(diagnosed(chain(), kOnes));
        QCOMPARE(json["format"], "retrograde-diagnosis/1");
        QCOMPARE(json["checks"].size(), diagnosis::checks().size());
        for (const auto& check : json["checks"]) {
            QVERIFY(check.contains("largest") && check.contains("state") && check.contains("seconds"));
        }
    }

    void unknownChecksAndFamiliesAreRefused()
    {
        const auto facts = factsFor(chain(), kOnes);
        QCOMPARE(diagnosis::diagnose(*facts, {{"flows"}, {}}).error().code, base::ErrorCode::Usage);
        QCOMPARE(diagnosis::diagnose(*facts, {{}, {"flow.biass"}}).error().code, base::ErrorCode::Usage);
    }

    void explosionsAreAlwaysSaid()
    {
        Diagnosis diagnosis;
        diagnosis.findings.resize(2);
        diagnosis.findings[0].level = Level::Error;
        diagnosis.findings[0].base = 3;
        diagnosis.findings[1].id = "flow.growth";
        diagnosis.findings[1].level = Level::Warning;
        QCOMPARE(diagnosis.said().size(), std::size_t{1});
        Finding explodes;
        explodes.id = "flow.explodes";
        explodes.level = Level::Warning;
        diagnosis.findings[1].also = {explodes};
        QCOMPARE(diagnosis.said().size(), std::size_t{2});
        QCOMPARE(diagnosis.said().back()->id, std::string("flow.explodes"));
        diagnosis.findings = {explodes};
        diagnosis.findings[0].base = 2.5;
        QCOMPARE(diagnosis.said().size(), std::size_t{1});
    }

    void effectsOfABiasFollowFromIt()
    {
        const auto facts = factsFor(chain(), kOnes);
        const Finding bias = finding(*facts, "flow.bias", Level::Warning, 2.1, "a");
        const Finding clipped = finding(*facts, "forward.clipped", Level::Warning, 2.6, "b");
        const auto order = diagnosis::ranked(*facts, {clipped, bias});
        QCOMPARE(idsOf(order), std::vector<std::string>{"flow.bias"});
        QCOMPARE(order.front().also.size(), std::size_t{1});
        QVERIFY(order.front().score() > clipped.score() - 1e-9);
    }
};

QTEST_APPLESS_MAIN(RankingTest)
#include "rankingtest.moc"
