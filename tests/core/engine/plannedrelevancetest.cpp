// SPDX-License-Identifier: Apache-2.0
// Explanations of samples by plans: the traversal with what a plan keeps and the oracle by a plan have the relevance of
// a pass that keeps everything, and say how dropped values were come by.
#include <QtTest>

#include "core/engine/input/inputs.h"
#include "core/engine/plan/carriedplan.h"
#include "core/engine/plan/plannedsaving.h"
#include "core/engine/results/results.h"
#include "tests/core/engine/samerelevance.h"
#include "tests/core/engine/samplequestion.h"

#include <nlohmann/json.hpp>

#include <map>

using namespace retro;
using tensor::Tensor;

namespace
{

using Question = tests::SampleQuestion<engine::ExplainRequest>;

Question questionOf(const char* sample) { return tests::questionOf<engine::ExplainRequest>(sample); }

/// Words of the text sample.
Question tokenQuestion()
{
    Question question = questionOf("planted-word/planted-word");
    const std::string path = RETRO_SOURCE_DIR "/samples/planted-word/good.npy";
    const auto inputs = engine::resolveInputs({path}, *question.model->graph(), {});
    question.request.inputs = inputs.ok() ? *inputs : std::vector<Tensor>();
    return question;
}

void addSamples()
{
    QTest::addColumn<QString>("sample");
    for (const char* sample : {"clever-hans/clever-hans", "one-segment/one-segment", "silent-groups/silent-groups",
                               "marked-step/marked-step", "lut-skips/lut-skips"}) {
        QTest::newRow(sample) << QString(sample);
    }
}

} // namespace

class PlannedRelevanceTest : public QObject
{
    Q_OBJECT

private slots:
    void theTraversalKeepsWhatThePlanKeeps_data() { addSamples(); }
    void theTraversalKeepsWhatThePlanKeeps()
    {
        QFETCH(QString, sample);
        Question question = questionOf(qPrintable(sample));
        QVERIFY(question.model && !question.request.inputs.empty());
        RETRO_MADE(expected, engine::explain(*question.model, question.request));
        QVERIFY(!expected->planSaving);
        std::map<std::string, std::int64_t> keptBytes;
        for (const char* strategy : {"store_all", "recompute_all", "chen_sqrt"}) {
            engine::PlanOptions wish;
            wish.strategy = strategy;
            question.request.save = execute::SavePolicy::Plan;
            question.request.keptByPlan = engine::keptBy(wish);
            question.request.record = true;
            const auto made = engine::explain(*question.model, question.request);
            if (!made.ok() && made.error().code == base::ErrorCode::Engine) {
                continue; // needs more than store-all: no plan of that strategy
            }
            RETRO_OK(made);
            QCOMPARE(tests::differenceOf(*expected, *made), std::string());
            QVERIFY(made->planSaving);
            keptBytes[strategy] = made->planSaving->keptBytes;
            const nlohmann::ordered_json summary = engine::summaryJson(*question.model, question.request, *made);
            QCOMPARE(summary["save"].get<std::string>(), std::string("plan"));
            QCOMPARE(summary["plan_saving"]["kept"].size(), made->planSaving->kept.size());
            if (std::string(strategy) == "store_all") {
                QVERIFY(made->planSaving->promised.empty());
            }
        }
        QVERIFY(keptBytes.contains("store_all"));
        QVERIFY(!keptBytes.contains("recompute_all") || keptBytes["recompute_all"] < keptBytes["store_all"]);
    }

    /// The plan carries out all of the pass: what is measured is what it says, and within the budget.
    void theBudgetIsKept_data() { addSamples(); }
    void theBudgetIsKept()
    {
        QFETCH(QString, sample);
        Question question = questionOf(qPrintable(sample));
        RETRO_MADE(expected, engine::explain(*question.model, question.request));
        question.request.save = execute::SavePolicy::Plan;
        std::size_t fitting = 0;
        for (const char* budget : {"100%", "85%", "70%", "1%"}) {
            for (const bool inputsOnly : {false, true}) {
                engine::PlanOptions wish;
                wish.budget = budget;
                question.request.keptByPlan = engine::keptBy(wish);
                question.request.inputsOnly = inputsOnly;
                const auto made = engine::explain(*question.model, question.request);
                if (!made.ok()) {
                    QCOMPARE(made.error().code, base::ErrorCode::Engine);
                    QVERIFY(made.error().text().find("no plan needs less") != std::string::npos ||
                            std::string(budget) != "1%");
                    continue;
                }
                ++fitting;
                for (std::size_t i = 0; i < expected->relevance.size(); ++i) {
                    const Tensor& one = made->relevance[i];
                    QVERIFY(one.isValid() ? one.bitEqual(expected->relevance[i])
                                          : inputsOnly || !expected->relevance[i].isValid());
                }
                const nlohmann::ordered_json summary = engine::summaryJson(*question.model, question.request, *made);
                QCOMPARE(summary["budget_bytes"].get<std::uint64_t>(), *made->carried->chosen.plan.budget);
                QCOMPARE(summary["peak_bytes"], summary["planned_peak_bytes"]);
                QVERIFY(summary["peak_bytes"] <= summary["budget_bytes"]);
                QVERIFY(summary["tensors_peak_bytes"] >= summary["peak_bytes"]);
                QVERIFY(!summary.contains("plan_saving"));
            }
        }
        QVERIFY(fitting >= 2 && fitting <= 6);
    }

    void theOracleByAPlanHasItsBits_data() { addSamples(); }
    void theOracleByAPlanHasItsBits()
    {
        QFETCH(QString, sample);
        const Question question = questionOf(qPrintable(sample));
        QVERIFY(question.model && !question.request.inputs.empty());
        compareOracles(question);
    }

    /// Tokens get the relevance of their embedding, within the plan's memory.
    void tokensByAPlanHaveTheOraclesBits()
    {
        Question text = tokenQuestion();
        QVERIFY(text.model);
        compareOracles(text);
    }

    /// Two classes of one value start as one sum; a value that another target depends on starts where its edge stands.
    void severalTargetsByAPlanHaveTheOraclesBits_data()
    {
        QTest::addColumn<QString>("sample");
        QTest::addColumn<QStringList>("targets");
        QTest::newRow("classes") << QString("clever-hans/clever-hans") << QStringList{"0", "1", "0"};
        QTest::newRow("inner") << QString("clever-hans/clever-hans")
                               << QStringList{"1", QStringLiteral("/block3/first/norm/BatchNormalization_output_0")};
        QTest::newRow("inner first") << QString("clever-hans/clever-hans")
                                     << QStringList{QStringLiteral("/block3/first/norm/BatchNormalization_output_0"),
                                                    "0"};
    }
    void severalTargetsByAPlanHaveTheOraclesBits()
    {
        QFETCH(QString, sample);
        QFETCH(QStringList, targets);
        Question question = questionOf(qPrintable(sample));
        for (qsizetype i = 0; i < targets.size(); ++i) {
            RETRO_MADE(target, engine::parseTarget(targets[i].toStdString()));
            (i == 0 ? question.request.target : question.request.alsoTargets.emplace_back()) = *target;
        }
        compareOracles(question);
        // The traversal with what such a plan keeps, too.
        RETRO_MADE(expected, engine::explain(*question.model, question.request));
        question.request.save = execute::SavePolicy::Plan;
        engine::PlanOptions wish;
        wish.strategy = "chen_sqrt";
        question.request.keptByPlan = engine::keptBy(wish);
        question.request.record = true;
        RETRO_MADE(made, engine::explain(*question.model, question.request));
        QCOMPARE(tests::differenceOf(*expected, *made), std::string());
        QVERIFY(made->planSaving);
    }

    void aTraversalByAPlanNeedsOne()
    {
        Question none = questionOf("clever-hans/clever-hans");
        none.request.save = execute::SavePolicy::Plan;
        QVERIFY(!engine::explain(*none.model, none.request).ok());
    }

    void rulesNeedSomethingSaved()
    {
        Question none = questionOf("clever-hans/clever-hans");
        none.request.save = execute::SavePolicy::Nothing;
        for (const engine::EngineKind kind :
             {engine::EngineKind::Promise, engine::EngineKind::Oracle, engine::EngineKind::Compiled}) {
            none.request.engine = kind;
            RETRO_REFUSED(engine::explain(*none.model, none.request), base::ErrorCode::Usage, "nothing is to be saved");
        }
    }

private:
    static void compareOracles(Question question)
    {
        question.request.engine = engine::EngineKind::Oracle;
        RETRO_MADE(expected, engine::explain(*question.model, question.request));
        for (const char* strategy : {"store_all", "fast"}) {
            engine::PlanOptions wish;
            wish.strategy = strategy;
            std::size_t seen = 0;
            std::string wrong;
            question.request.save = execute::SavePolicy::Plan;
            question.request.keptByPlan = engine::keptBy(wish);
            question.request.onRelevance = [&](const execute::BoundModel& model, base::ValueId value,
                                               const Tensor& relevance) {
                const Tensor& wanted = expected->relevance[value.index()];
                if (!wanted.isValid() || !relevance.bitEqual(wanted)) {
                    wrong = model.graph().value(value).name;
                }
                ++seen;
                return base::Result<void>();
            };
            RETRO_MADE(made, engine::explain(*question.model, question.request));
            QCOMPARE(wrong, std::string());
            QCOMPARE(seen, static_cast<std::size_t>(std::ranges::count_if(
                               expected->relevance, [](const Tensor& one) { return one.isValid(); })));
            QCOMPARE(made->carried->run->peak, made->carried->predicted.peak);
            QCOMPARE(made->relevanceInputs, expected->relevanceInputs);
            QCOMPARE(made->ledger.size(), expected->ledger.size());
        }
    }
};

QTEST_APPLESS_MAIN(PlannedRelevanceTest)
#include "plannedrelevancetest.moc"
