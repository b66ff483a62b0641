// SPDX-License-Identifier: Apache-2.0
// Checks of rules: each fires on its fault and is silent without it.
#include <QtTest>

#include "tests/core/diagnosis/diagnosed.h"

#include <QFile>
#include <QTemporaryDir>

using namespace retro;
using namespace retro::tests;

namespace
{

/// x → four layers with a Relu between them; the second and third share their weight where that is asked.
SharedGraph layers(bool isShared = false)
{
    Writer writer;
    ValueId value = writer.input("x", {1, 4});
    const ValueId shared = writer.constant("shared", randomTensor({4, 4}, 20, 0.1, 1));
    for (const char* name : {"fc1", "fc2", "fc3", "fc4"}) {
        const std::string text = name;
        const bool takesShared = isShared && (text == "fc2" || text == "fc3");
        const ValueId weight =
            takesShared ? shared
                        : writer.constant(text + ".w", randomTensor({4, 4}, static_cast<unsigned>(text[2]), 0.1, 1));
        value = writer.node("Relu", text + ".relu", {writer.node("Gemm", text, {value, weight})});
    }
    writer.output(value);
    return writer.finish();
}

Asked ones(const std::string& composite = "epsilon_plus") { return {{floats({1, 4}, {1, 1, 1, 1})}, composite}; }

/// Writes a composite file with one entry before rules for everything.
std::string compositeFile(const QTemporaryDir& folder, const std::string& entry)
{
    const QString path = folder.filePath("rules.json");
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly)) {
        qFatal("no file");
    }
    file.write(("{\"format\": \"retrograde-composite/1\", \"entries\": [" + entry +
                ", {\"match\": {\"structure\": \"linear map\"}, \"rule\": {\"name\": \"epsilon\"}}, {\"rule\": "
                "{\"name\": \"pass\"}}]}")
                   .c_str());
    return path.toStdString();
}

/// x → BatchNormalization with a shift → Conv with or without padding → Relu → mean.
SharedGraph beforeConvolution(float shift, std::int64_t pad)
{
    Writer writer;
    const ValueId x = writer.input("x", {1, 2, 4, 4});
    const ValueId ones = writer.constant("ones", floats({2}, {1, 1}));
    const ValueId zeros = writer.constant("zeros", floats({2}, {0, 0}));
    const ValueId first =
        writer.node("Relu", "relu0",
                    {writer.node("Conv", "conv0", {x, writer.constant("w0", randomTensor({2, 2, 1, 1}, 3, 0.1, 1))})});
    const ValueId bn = writer.node("BatchNormalization", "bn",
                                   {first, ones, writer.constant("shift", floats({2}, {shift, shift})), zeros, ones});
    const ValueId conv = writer.node("Conv", "conv", {bn, writer.constant("w", randomTensor({2, 2, 3, 3}, 4, 0.1, 1))},
                                     {{"pads", Whole{pad, pad, pad, pad}}});
    const ValueId relu = writer.node("Relu", "relu", {conv});
    writer.output(writer.node("Flatten", "flat", {writer.node("GlobalAveragePool", "mean", {relu})}));
    return writer.finish();
}

Asked positive() { return {{randomTensor({1, 2, 4, 4}, 5, 0.5, 1)}}; }

} // namespace

class RuleChecksTest : public QObject
{
    Q_OBJECT

private slots:
    void alphaAndBetaThatDoNotFitAreNamed()
    {
        QTemporaryDir folder;
        const std::string bad = compositeFile(folder, R"({"match": {"name": "fc2"}, "rule": {"name": "alpha-beta",
                                                          "params": {"alpha": 2, "beta": 0}}})");
        const Diagnosis found = diagnosed(layers(), ones(bad), "rule.invalid");
        QVERIFY(hasAll(firstText(found), {"error fc2 entry 0 of rules.json: alpha − beta is 2"}));
        QVERIFY(isDocumented(found));
        const std::string good = compositeFile(folder, R"({"match": {"name": "fc2"}, "rule": {"name": "alpha-beta",
                                                           "params": {"alpha": 2, "beta": 1}}})");
        QVERIFY(isSilent(diagnosed(layers(), ones(good), "rule.invalid")));
    }

    void ruleOnTheCommandLineIsLookedAt()
    {
        const Asked bad = ones("epsilon_plus | name:fc2=alpha-beta:alpha=2,beta=0");
        QVERIFY(hasAll(firstText(diagnosed(layers(), bad, "rule.invalid")),
                       {"error fc2 --rule name:fc2=alpha-beta:alpha=2,beta=0: alpha − beta is 2"}));
        QVERIFY(
            isSilent(diagnosed(layers(), ones("epsilon_plus | name:fc2=alpha-beta:alpha=2,beta=1"), "rule.invalid")));
    }

    void parameterOutsideOfItsDomainIsNamed()
    {
        QTemporaryDir folder;
        const std::string bad =
            compositeFile(folder, R"({"match": {"name": "fc3"}, "rule": {"name": "gamma", "params": {"gamma": -1}}})");
        QVERIFY(hasAll(firstText(diagnosed(layers(), ones(bad), "rule.invalid")), {"error fc3", "gamma"}));
    }

    void boxThatDoesNotHoldItsInputIsNamed()
    {
        const Diagnosis outside = diagnosed(layers(), ones("epsilon_plus | name:fc1=z-box:low=2,high=3"), "rule.box");
        QVERIFY(hasAll(firstText(outside), {"warning fc1 z-box: 100 %", "bounds 2 … 3", "--rule name:fc1=z-box"}));
        const Diagnosis wide = diagnosed(layers(), ones("epsilon_plus | name:fc1=z-box:low=0,high=255"), "rule.box");
        QVERIFY(hasAll(firstText(wide), {"bounds 0 … 255"}));
        QVERIFY(isDocumented(wide));
        Asked spread{{floats({1, 4}, {-1, 0, 0.5F, 1})}, "epsilon_plus | name:fc1=z-box:low=-1,high=1"};
        QVERIFY(isSilent(diagnosed(layers(), spread, "rule.box")));
    }

    void ruleThatLosesMoreThanAnotherIsNamed()
    {
        const Diagnosis found = diagnosed(layers(), ones("epsilon_plus | name:fc3=epsilon:epsilon=8"), "rule.loss");
        QVERIFY(hasAll(firstText(found), {"warning fc3 its rule (epsilon 8) loses ",
                                          "of what started to its stabiliser; epsilon in its "
                                          "place would lose hardly any",
                                          "--rule name:fc3=epsilon"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(layers(), ones(), "rule.loss")));
    }

    // What the whole run lost, and rules at the wrong place, stand before every finding.
    void whatTheRunLostStandsFirst()
    {
        const auto headline = [](const std::string& composite) {
            return diagnosis::headlineOf(diagnosed(layers(), ones(composite)).head);
        };
        QVERIFY(hasAll(headline("epsilon_plus"),
                       {"Score ", " of class ", "probability ", "100 % of the score arrives at the inputs"}));
        QVERIFY(hasAll(headline("epsilon_plus | name:fc3=epsilon:epsilon=50"), {"! stabilisers (epsilon) take "}));
        QVERIFY(hasAll(headline("epsilon_plus | name:fc3=z-box:low=0,high=3"),
                       {"! fc3 has a z-box, which is for layers that read the input"}));
        QVERIFY(headline("epsilon_plus | name:fc1=z-box:low=0,high=3").find("z-box") == std::string::npos);
    }

    void ruleThatStopsIsNamed()
    {
        const Diagnosis found = diagnosed(layers(), ones("epsilon_plus | name:fc2=stop"), "rule.stop");
        QVERIFY(hasAll(firstText(found), {"warning fc2 its rule \"stop\"", "stops 100 % of Σ|R|"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(layers(), ones(), "rule.stop")));
    }

    void sharedWeightUnderTwoRulesIsNamed()
    {
        const Diagnosis found = diagnosed(layers(true), ones("epsilon_plus | name:fc2=gamma"), "rule.shared");
        QVERIFY(hasAll(firstText(found), {"warning fc2 shares its weight (shared) with fc3", "gamma 0.25"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(layers(true), ones(), "rule.shared")));
    }

    void shiftOfAnUnmergedNormalisationIsNamed()
    {
        const Diagnosis found = diagnosed(beforeConvolution(8, 1), positive(), "rule.unmerged-bn");
        QVERIFY(hasAll(firstText(found), {"warning bn is not merged (before the padded conv)"}));
        QVERIFY(isDocumented(found));
        QVERIFY(found.findings.front().number("shift_share_of_magnitude") > 0.7);
        QVERIFY(isSilent(diagnosed(beforeConvolution(0.01F, 1), positive(), "rule.unmerged-bn")));
    }

    void ruleOfOneLayerAloneIsANote()
    {
        const Diagnosis found = diagnosed(layers(), ones("epsilon_plus | name:fc3=gamma:gamma=0.05"), "rule.odd");
        QVERIFY(hasAll(firstText(found), {"note fc3 has rule gamma 0.05; 3 of the 4 Gemm nodes have"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(layers(), ones(), "rule.odd")));
        QVERIFY(isSilent(diagnosed(layers(), ones("epsilon_plus | name:fc1=gamma"), "rule.odd")));
    }

    void nodeThatARewriteTookInIsNamedWithWhereItIs()
    {
        Writer writer;
        const ValueId x = writer.input("x", {1, 2, 4, 4});
        const ValueId conv =
            writer.node("Conv", "conv", {x, writer.constant("w", randomTensor({2, 2, 1, 1}, 3, 0.1, 1))});
        const ValueId bn = writer.batchNorm("bn", conv, 2);
        writer.output(writer.node("Flatten", "flat", {writer.node("GlobalAveragePool", "mean", {bn})}));
        const Asked asked{{randomTensor({1, 2, 4, 4}, 5, 0.5, 1)}, "epsilon_plus | name:bn=stop"};
        QVERIFY(hasAll(firstText(diagnosed(writer.finish(), asked, "rule.unused")), {"bn is in conv now"}));
    }

    void optionThatChangesNothingIsNamed()
    {
        const Diagnosis found = diagnosed(layers(), ones("epsilon_plus | name:fc9=gamma"), "rule.unused");
        QVERIFY(hasAll(firstText(found), {"warning", "fc9", "matches no node"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(layers(), ones(), "rule.unused")));
    }
};

QTEST_APPLESS_MAIN(RuleChecksTest)
#include "rulecheckstest.moc"
