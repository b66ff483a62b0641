// SPDX-License-Identifier: Apache-2.0
// Relevance under plans: the oracle carried out by a plan, and the traversal with what a plan keeps, have the bits of
// the oracle that keeps everything.
#include <QtTest>

#include "core/analysis/report.h"
#include "core/engine/plan/planwish.h"
#include "core/engine/plan/relevancehalf.h"
#include "core/runtime/planrun.h"
#include "tests/core/lrp/randomgraph.h"
#include "tests/core/lrp/tensorrun.h"
#include "tests/core/runtime/relevancerun.h"

#include <random>

using namespace retro;
using tensor::Tensor;

namespace
{

bool hasTokens(const lrptest::TensorCase& one)
{
    return std::ranges::any_of(one.model->graph().inputs(), [&](base::ValueId input) {
        return one.model->isTracked(input) && !tensor::isFloating(one.model->typeOf(input).dtype);
    });
}

} // namespace

class RelevancePlanTest : public QObject
{
    Q_OBJECT

private slots:
    void theOracleByAPlanHasItsBits()
    {
        int cases = 0;
        int withTokens = 0;
        int withSeveral = 0;
        for (std::uint64_t seed = 1; seed <= 80; ++seed) {
            const auto one = lrptest::tensorCaseOf(lrptest::randomGraph(seed, 4 + seed % 30), {});
            if (!one.ok()) {
                continue;
            }
            const auto expected = lrptest::runOracle(*one);
            const std::vector<base::ValueId> targets = runtimetest::relevanceTargets(*one);
            RETRO_MADE(program, engine::jointProgram(runtimetest::relevanceSubject(*one)));
            QVERIFY(expected.ok());
            ++cases;
            withTokens += hasTokens(*one) ? 1 : 0;
            withSeveral += targets.size() > 1 ? 1 : 0;
            for (const char* name : {"store_all", "recompute_all", "chen_sqrt", "dtr", "shave", "min_cut"}) {
                schedule::PlanRequest request;
                request.graph = &program->graph();
                request.budget = analysis::storeAllPeak(program->graph()) * 7 / 10;
                const auto draft = schedule::findPlanner(name)->draft(request);
                if (draft.ok()) {
                    const auto plan = schedule::planOf(*request.graph, draft->sequence);
                    QCOMPARE(QString("%1 %2: %3")
                                 .arg(seed)
                                 .arg(name, runtimetest::faultOfRelevance(*one, *program, plan, *expected)),
                             QString("%1 %2: ").arg(seed).arg(name));
                }
            }
        }
        QVERIFY2(cases >= 40, qPrintable(QString::number(cases)));
        QVERIFY2(withTokens >= 3, qPrintable(QString::number(withTokens)));
        QVERIFY2(withSeveral >= 3, qPrintable(QString::number(withSeveral)));
    }

    /// Whatever is kept: promises bring the rest, or it is computed again.
    void theTraversalHasTheSameBitsWhateverIsKept()
    {
        std::mt19937_64 random(5);
        std::size_t promises = 0;
        for (std::uint64_t seed = 1; seed <= 150; ++seed) {
            const auto one = lrptest::tensorCaseOf(lrptest::randomGraph(seed, 4 + seed % 40), {});
            if (!one.ok()) {
                continue;
            }
            RETRO_MADE(expected, lrptest::runOracle(*one));
            for (const unsigned share : {0U, 30U, 70U}) {
                std::vector<base::ValueId> kept;
                for (std::size_t i = 0; i < one->model->graph().valueCount(); ++i) {
                    const bool isResult = one->model->graph().value(base::ValueId(i)).producer.isValid();
                    if (isResult && random() % 100 < share) {
                        kept.push_back(base::ValueId(i));
                    }
                }
                const auto run =
                    lrptest::runTensors(*one, std::make_shared<const execute::SavePlan>(*one->model, kept));
                RETRO_OK(run);
                const std::string difference = lrptest::firstDifference(*one, run->relevance, *expected);
                QVERIFY2(difference.empty(), qPrintable(QString("graph %1, %2 % kept: %3")
                                                            .arg(seed)
                                                            .arg(share)
                                                            .arg(QString::fromStdString(difference))));
                promises += run->counts.promises;
            }
        }
        QVERIFY(promises > 100);
    }
};

QTEST_APPLESS_MAIN(RelevancePlanTest)
#include "relevanceplantest.moc"
