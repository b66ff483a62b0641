// SPDX-License-Identifier: Apache-2.0
// Gradients of the samples by plans: bit by bit those of the tape, within the budget, and clear answers to wishes that
// cannot be met.
#include <QtTest>

#include "core/base/file.h"
#include "core/engine/input/inputs.h"
#include "core/engine/plan/plannedgradient.h"
#include "core/runtime/profile.h"
#include "core/schedule/planjson.h"
#include "tests/core/engine/samplequestion.h"

#include <QTemporaryDir>

#include <array>

using namespace retro;

namespace
{

constexpr std::array<const char*, 4> kSamples{"clever-hans/clever-hans", "marked-step/marked-step",
                                              "one-segment/one-segment", "silent-groups/silent-groups"};

using Question = tests::SampleQuestion<engine::GradientRequest>;

Question questionOf(const char* sample) { return tests::questionOf<engine::GradientRequest>(sample); }

bool isSame(const engine::GradientResult& a, const engine::GradientResult& b)
{
    bool isEqual = a.gradients.size() == b.gradients.size() && a.outputs.size() == b.outputs.size();
    for (std::size_t i = 0; isEqual && i < a.gradients.size(); ++i) {
        isEqual = a.gradients[i].bitEqual(b.gradients[i]);
    }
    for (std::size_t i = 0; isEqual && i < a.outputs.size(); ++i) {
        isEqual = a.outputs[i].bitEqual(b.outputs[i]);
    }
    return isEqual && a.target.index == b.target.index && a.target.logit == b.target.logit;
}

} // namespace

class PlannedGradientTest : public QObject
{
    Q_OBJECT

private slots:
    void everyPlanHasTheBitsOfTheTape_data()
    {
        QTest::addColumn<QString>("sample");
        for (const char* sample : kSamples) {
            QTest::newRow(sample) << QString(sample);
        }
    }

    void everyPlanHasTheBitsOfTheTape()
    {
        QFETCH(QString, sample);
        const Question question = questionOf(qPrintable(sample));
        QVERIFY(question.model && !question.request.inputs.empty());
        RETRO_MADE(tape, engine::gradient(*question.model, question.request));
        for (const char* strategy : {"store_all", "recompute_all", "chen_sqrt", "fast"}) {
            engine::PlanOptions wish;
            wish.strategy = strategy;
            RETRO_MADE(made, engine::plannedGradient(*question.model, question.request, wish));
            QVERIFY2(isSame(tape.value(), made->gradient), strategy);
            const runtime::Profile profile = runtime::profileOf(made->run);
            QCOMPARE(profile.measuredPeak, profile.predictedPeak);
            QCOMPARE(profile.measuredFlops, profile.predictedFlops);
            QVERIFY(profile.measuredRatio >= 1);
        }
    }

    void aBudgetIsKept()
    {
        const Question question = questionOf("one-segment/one-segment");
        engine::PlanOptions wish;
        RETRO_MADE(all, engine::plannedGradient(*question.model, question.request, wish));
        const std::uint64_t floor = all->chosen.search->floor;
        const std::uint64_t most = all->chosen.storeAllPeak;
        QVERIFY(floor < most);
        wish.budget = std::to_string(floor + (most - floor) / 2);
        RETRO_MADE(made, engine::plannedGradient(*question.model, question.request, wish));
        QVERIFY(made->run.peak <= std::stoull(wish.budget));
        QVERIFY(made->run.predicted.recomputations > 0);
        QVERIFY(isSame(all->gradient, made->gradient));

        // The same from a file, which is for this graph alone.
        const QTemporaryDir folder;
        wish = {};
        wish.file = folder.filePath("plan.json").toStdString();
        QVERIFY(base::writeFile(wish.file, schedule::toPlanJson(made->program->graph(), made->chosen.plan)).ok());
        RETRO_MADE(again, engine::plannedGradient(*question.model, question.request, wish));
        QCOMPARE(again->run.peak, made->run.peak);
        const Question other = questionOf("marked-step/marked-step");
        RETRO_REFUSED(engine::plannedGradient(*other.model, other.request, wish), "a plan is of one graph");
    }

    void whatCannotBeMetIsSaid()
    {
        const Question question = questionOf("clever-hans/clever-hans");
        const auto answer = [&](const engine::PlanOptions& wish) {
            const auto made = engine::plannedGradient(*question.model, question.request, wish);
            return made.ok() ? QString() : QString::fromStdString(made.error().text());
        };
        engine::PlanOptions wish;
        wish.budget = "1000";
        QVERIFY(answer(wish).contains("no plan needs less than"));
        wish.budget = "much";
        QVERIFY(answer(wish).contains("bytes such as"));
        wish = {};
        wish.strategy = "luck";
        QVERIFY(answer(wish).contains("luck"));
        wish = {};
        wish.order = "random";
        QVERIFY(answer(wish).contains("there are kahn"));
        wish = {};
        wish.file = "/no/such/plan.json";
        QVERIFY(answer(wish).contains("/no/such/plan.json"));
    }
};

QTEST_APPLESS_MAIN(PlannedGradientTest)
#include "plannedgradienttest.moc"
