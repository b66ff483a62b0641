// SPDX-License-Identifier: Apache-2.0
// A thousand random models: plans of their relevance hold at every step the bytes that the
// simulator says, and give the bits of the oracle. What an operator does not say that it reads, it does not get.
#include <QtTest>

#include "core/analysis/report.h"
#include "core/engine/plan/planwish.h"
#include "core/schedule/planner.h"
#include "tests/core/lrp/randomgraph.h"
#include "tests/core/runtime/relevancerun.h"
#include "tests/parts.h"

using namespace retro;

namespace
{

constexpr int kModels = 1000;

/// Faults of a few plans of one model; `ran` counts the plans that were carried out.
QString faultOfModel(std::uint64_t seed, int& ran)
{
    const auto one = lrptest::tensorCaseOf(lrptest::randomGraph(seed, 4 + seed % 36), {});
    if (!one.ok()) {
        return {}; // the draw is no model
    }
    const auto expected = lrptest::runOracle(*one);
    const auto program = engine::jointProgram(runtimetest::relevanceSubject(*one));
    if (!expected.ok() || !program.ok()) {
        return "no program";
    }
    for (const char* name : {"store_all", "recompute_all", "min_cut"}) {
        schedule::PlanRequest request;
        request.graph = &program->graph();
        request.budget = analysis::storeAllPeak(program->graph()) * (4 + seed % 6) / 10;
        const auto draft = schedule::findPlanner(name)->draft(request);
        if (!draft.ok()) {
            continue;
        }
        const schedule::Plan plan = schedule::planOf(*request.graph, draft->sequence);
        const QString fault = runtimetest::faultOfRelevance(*one, *program, plan, *expected);
        if (!fault.isEmpty()) {
            return QString("model %1, %2: %3").arg(seed).arg(name, fault);
        }
        ++ran;
    }
    return {};
}

} // namespace

class PlanManyRunTest : public QObject
{
    Q_OBJECT

private slots:
    void bytesAndBitsOfAThousandModels()
    {
        int ran = 0;
        for (const int number : tests::numbersOfThisPart(kModels)) {
            QCOMPARE(faultOfModel(static_cast<std::uint64_t>(number) + 1, ran), QString());
        }
        QVERIFY2(ran >= 200, qPrintable(QString::number(ran)));
    }
};

QTEST_GUILESS_MAIN(PlanManyRunTest)
#include "planmanyruntest.moc"
