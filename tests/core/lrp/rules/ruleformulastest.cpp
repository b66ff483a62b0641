// SPDX-License-Identifier: Apache-2.0
// The formula of a rule says what it computes with its parameters at a structure, and something else where it computes
// something else.
#include "core/lrp/rules/ruleformulas.h"
#include "core/lrp/rules/parametertext.h"
#include "core/lrp/rules/rules.h"

#include <QTest>

using namespace retro;

namespace
{

QString formula(const char* rule, const char* parameters = "", const char* structure = "linear map")
{
    const auto made = lrp::makeRule(rule, lrp::parseParameters(parameters, "here").value());
    return made.ok() ? QString::fromStdString(lrp::formulaOf((*made)->text(), structure)) : QString();
}

} // namespace

class RuleFormulasTest : public QObject
{
    Q_OBJECT

private slots:
    void everyRuleHasOne()
    {
        for (const std::string_view name : lrp::ruleNames()) {
            QVERIFY2(!lrp::formulaOf(name).empty(), std::string(name).c_str());
            QVERIFY(!lrp::formulaOf((*lrp::makeRule(name, {}))->text(), "linear map").empty());
        }
        QVERIFY(lrp::formulaOf("no such").empty() && lrp::formulaOf("").empty() && lrp::formulaOf("epsilons").empty());
    }

    void exactly_data()
    {
        QTest::addColumn<QString>("given");
        QTest::addColumn<QString>("wanted");
        const auto add = [](const char* name, const QString& given, const char* wanted) {
            QTest::newRow(name) << given << QString::fromUtf8(wanted);
        };
        add("epsilon", formula("epsilon"), "D = xW + b; R_in = x·(s·Wᵀ), s = R/stab(D)");
        add("no bias", formula("epsilon", "bias=zero"), "D = xW; R_in = x·(s·Wᵀ), s = R/stab(D)");
        add("spread", formula("epsilon", "bias=spread"),
            "D = xW + b; R_in = x·(s·Wᵀ) + (R − s·xW)/N for each of the N inputs, s = R/stab(D)");
        add("part of it spread", formula("epsilon", "bias=spread,bias_factor=0.5"),
            "D = xW + b; R_in = x·(s·Wᵀ) + 0.5 of (R − s·xW)/N for each of the N inputs, s = R/stab(D)");
        add("bilinear", formula("epsilon", "", "bilinear"),
            "z = ab; R_a = ½·a·(s·bᵀ), R_b = ½·b·(aᵀ·s), s = R/stab(z); whole where only one of the two carries "
            "relevance");
        add("bilinear, full", formula("epsilon", "bilinear=full", "bilinear"),
            "z = ab; R_a = a·(s·bᵀ), R_b = b·(aᵀ·s), s = R/stab(z)");
        add("z-plus", formula("z-plus"), "D = x⁺W⁺ + x⁻W⁻ + b⁺; R_in = x⁺·(s·W⁺ᵀ) + x⁻·(s·W⁻ᵀ), s = R/stab(D)");
        add("z-plus raw", formula("z-plus", "form=raw,bias=zero"), "D = xW⁺; R_in = x·(s·W⁺ᵀ), s = R/stab(D)");
        add("gamma", formula("gamma"),
            "D = x⁺(W + γW⁺) + x⁻(W + γW⁻) + (b + γb⁺); R_in = x⁺·(s·(W + γW⁺)ᵀ) + x⁻·(s·(W + γW⁻)ᵀ), s = R/stab(D) "
            "where z > 0; W⁺ and W⁻, b⁺ and b⁻ change places where z < 0");
        add("gamma original", formula("gamma", "form=original"),
            "D = x(W + γW⁺) + (b + γb⁺); R_in = x·(s·(W + γW⁺)ᵀ), s = R/stab(D)");
        add("gamma of captum", formula("gamma", "form=original,scale_bias=false"),
            "D = x(W + γW⁺) + b; R_in = x·(s·(W + γW⁺)ᵀ), s = R/stab(D)");
        add("signal of a product of matrices", formula("signal-take-all", "", "bilinear"),
            "z = ab; R_a = a·(s·bᵀ), R_b = 0, s = R/stab(z)");
        add("the second", formula("signal-take-all", "signal=1", "bilinear"),
            "z = ab; R_b = b·(aᵀ·s), R_a = 0, s = R/stab(z)");
        add("winner", formula("winner-take-all", "", "max pool"), "R_in = R at the first maximum");
        add("winners", formula("winner-take-all", "", "shape map"), "R_in = R, each element where it came from");
        add("signal", formula("signal-take-all", "", "product"), "R_in = R for the signal, 0 for its gate");
    }
    void exactly()
    {
        QFETCH(QString, given);
        QFETCH(QString, wanted);
        QCOMPARE(given, wanted);
    }

    // Whatever changes the numbers changes the formula.
    void parametersAreSeen_data()
    {
        QTest::addColumn<QString>("usual");
        QTest::addColumn<QString>("changed");
        const auto add = [](const char* rule, const char* parameters, const char* structure = "linear map") {
            const QByteArray name = QByteArray(rule) + ":" + parameters + " " + structure;
            QTest::newRow(name.constData()) << formula(rule, "", structure) << formula(rule, parameters, structure);
        };
        for (const char* rule : {"epsilon", "z-plus", "alpha-beta", "gamma", "w-square"}) {
            for (const char* parameters : {"bias=zero", "bias=spread", "stabiliser=clip", "stabiliser=rms",
                                           "signed=false", "stabiliser=clip,signed=false", "filter=0.1"}) {
                add(rule, parameters);
            }
        }
        add("alpha-beta", "bias_parts=both");
        add("gamma", "scale_bias=false");
        add("gamma", "form=original");
        add("z-plus", "form=raw");
        add("epsilon", "bias=zero", "normalisation");
        add("epsilon", "bilinear=full", "bilinear");
        add("gradient", "share=equal", "bilinear");
        add("gradient", "share=first", "product");
        add("gradient", "share=second", "product");
        add("gradient", "times_embedding=true", "shape map");
        add("softmax-taylor", "causal=true", "softmax");
        add("signal-take-all", "signal=1", "bilinear");
        add("lut", "share=shapley", "table lookup");
        add("norm", "stabiliser=clip", "reduction");
    }
    void parametersAreSeen()
    {
        QFETCH(QString, usual);
        QFETCH(QString, changed);
        QVERIFY(!usual.isEmpty() && !changed.isEmpty());
        QVERIFY2(usual != changed, qPrintable(usual));
    }

    void structuresAreSeen()
    {
        QVERIFY(formula("pass", "", "quotient") != formula("pass", "", "element-wise"));
        QVERIFY(formula("secant", "", "quotient") != formula("secant", "", "element-wise"));
        QVERIFY(formula("norm", "", "sum of operands") != formula("norm", "", "reduction"));
        QVERIFY(formula("abs-ratio", "", "reduction") != formula("abs-ratio", "", "product"));
    }
};

QTEST_APPLESS_MAIN(RuleFormulasTest)
#include "ruleformulastest.moc"
