// SPDX-License-Identifier: Apache-2.0
// Plans on real tensors: under every plan of every planner, and with values moved to every kind of tier, gradients have
// the bits of a tape that keeps everything, and the tensor store holds at every step what the simulator says.
#include <QtTest>

#include "core/analysis/report.h"
#include "core/engine/gradient/modelrules.h"
#include "core/engine/plan/plannedgradient.h"
#include "tests/core/lrp/randomgraph.h"
#include "tests/core/lrp/tensorrun.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

using namespace retro;
using runtime::JointProgram;
using schedule::Plan;
using schedule::planOf;
using schedule::StepKind;
using schedule::storeAllSequence;
using tensor::Tensor;

namespace
{

/// A random real model, its joint graph, and the gradients that a tape finds.
struct Case
{
    lrptest::TensorCase model;
    engine::GradientRequest request;
    std::vector<Tensor> expected; ///< per input
    std::shared_ptr<const JointProgram> program;
};

std::optional<Case> caseOf(std::uint64_t seed, std::size_t operations)
{
    auto model = lrptest::tensorCaseOf(lrptest::randomGraph(seed, operations), {});
    if (!model.ok()) {
        return std::nullopt;
    }
    Case made{std::move(*model), {}, {}, nullptr};
    const graph::Graph& graph = made.model.model->graph();
    const base::ValueId target = graph.outputsOf(made.model.graph.root())[made.model.graph.rootOutput()];
    made.request.inputs = made.model.inputs;
    made.request.precision = execute::Precision::Double;
    made.request.target = {engine::TargetRequest::Kind::Value, 0, graph.value(target).name, {}};
    auto byTape = engine::gradient(made.model.model, made.request);
    auto program = engine::jointProgram(engine::PassSubject::gradient(made.model.model, {target}));
    if (!byTape.ok() || !program.ok()) {
        return std::nullopt;
    }
    made.expected = byTape->gradients;
    made.program = std::make_shared<const JointProgram>(std::move(*program));
    return made;
}

/// What a run of a plan says, as text; empty when gradients and memory are right.
QString faultOf(const Case& one, const Plan& plan, const runtime::TierMap& tiers = runtime::standardTiers())
{
    const graph::Graph& graph = one.model.model->graph();
    std::vector<Tensor> found(graph.inputs().size());
    runtime::ReverseHalf half;
    half.rule = engine::gradientRule(one.model.model);
    half.partsOf = [&](base::ValueId value) { return runtime::gradientParts(*one.model.model, value); };
    half.startAt = [&](base::ValueId value, const Tensor& forward) -> base::Result<Tensor> {
        RETRO_TRY(const auto target,
                  engine::resolveTarget(one.request.target, {engine::StartKind::One, {}}, value, forward));
        return target.start;
    };
    runtime::PlanRunOptions options;
    options.tiers = tiers;
    options.onMade = [&](const runtime::Made& made) {
        const auto at = std::ranges::find(graph.inputs(), made.value);
        if (made.isGradient && at != graph.inputs().end()) {
            found[static_cast<std::size_t>(at - graph.inputs().begin())] = made.tensor;
        }
    };
    const auto run = runtime::runPlan(*one.program, plan, one.model.inputs, half, options);
    if (!run.ok()) {
        return QString::fromStdString(run.error().text());
    }
    for (const runtime::StepRecord& row : run->steps) {
        if (row.measured.transient != row.predicted.transient || row.measured.after != row.predicted.after) {
            return QString("step %1 held %2 and %3 bytes, predicted %4 and %5")
                .arg(row.index)
                .arg(row.measured.transient)
                .arg(row.measured.after)
                .arg(row.predicted.transient)
                .arg(row.predicted.after);
        }
    }
    if (run->peak != run->predicted.peak) {
        return QString("peak %1, predicted %2").arg(run->peak).arg(run->predicted.peak);
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
        // Nothing was made where the target does not depend on the input: the tape says zeros.
        const Tensor& wanted = one.expected[i];
        if (!wanted.isValid()) {
            continue; // tokens
        }
        const Tensor made = found[i].isValid() ? found[i] : Tensor::zeros(wanted.dtype(), wanted.shape());
        if (!made.bitEqual(wanted)) {
            return "gradient of " + QString::fromStdString(graph.value(graph.inputs()[i]).name);
        }
    }
    return {};
}

Plan storeAll(const Case& one) { return planOf(one.program->graph(), storeAllSequence(one.program->graph())); }

/// A tier of its own: what core/runtime does not know is plugged in from outside.
class ReversingTier final : public runtime::StorageTier
{
public:
    base::Result<void> put(std::uint32_t key, const Tensor& tensor) override
    {
        ++puts;
        m_kept[key] = tensor;
        return isFull ? base::Result<void>(base::outputError("the test's tier is full")) : base::Result<void>();
    }
    base::Result<Tensor> get(std::uint32_t key) override { return m_kept.at(key); }
    void drop(std::uint32_t key) override { m_kept.erase(key); }
    [[nodiscard]] std::uint64_t bytes() const override { return 0; }

    int puts = 0;
    bool isFull = false;

private:
    std::map<std::uint32_t, Tensor> m_kept;
};

/// Moves values that wait for a reader to a tier drawn by chance, right after the reader before, and back before or
/// some steps before the next one.
Plan withMoves(const Case& one, std::vector<std::string> tierNames, std::mt19937_64& random)
{
    Plan plan = storeAll(one);
    const std::vector<schedule::Step> steps = plan.steps;
    const analysis::OpGraph& graph = one.program->graph();
    std::map<schedule::OpValueId, std::vector<std::size_t>> uses; // steps that make or read it
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (steps[i].kind == StepKind::Compute) {
            const auto note = [&](schedule::OpValueId id) { uses[id].push_back(i); };
            std::ranges::for_each(graph.op(steps[i].id).outputs, note);
            std::ranges::for_each(graph.reads(steps[i].id), note);
        }
    }
    std::map<std::size_t, std::vector<schedule::Step>> before;
    for (const auto& [id, at] : uses) {
        const bool mayMove = !graph.value(id).isPinned && graph.value(id).producer != analysis::kNone;
        for (std::size_t k = 0; mayMove && k + 1 < at.size(); ++k) {
            if (at[k + 1] >= at[k] + 2 && random() % 2 == 0) {
                const auto tier = static_cast<std::uint32_t>(random() % tierNames.size());
                before[at[k] + 1].push_back({StepKind::Offload, id, tier});
                before[at[k] + 2 + random() % (at[k + 1] - at[k] - 1)].push_back({StepKind::Prefetch, id, 0});
            }
        }
    }
    plan.steps.clear();
    for (std::size_t i = 0; i < steps.size(); ++i) {
        plan.steps.insert(plan.steps.end(), before[i].begin(), before[i].end());
        plan.steps.push_back(steps[i]);
    }
    for (std::string& name : tierNames) {
        plan.tiers.push_back({std::move(name), 1.0 + static_cast<double>(random() % 1000)});
    }
    return plan;
}

} // namespace

class PlanRunTest : public QObject
{
    Q_OBJECT

private slots:
    void everyPlanOfEveryPlannerHasTheGradientsOfTheTape()
    {
        std::set<std::string> used;
        int repeated = 0;
        int cases = 0;
        for (std::uint64_t seed = 1; seed <= 36; ++seed) {
            const std::optional<Case> one = caseOf(seed, seed % 3 == 0 ? 1 + seed % 2 : 4 + seed % 24);
            if (!one) {
                continue; // nothing depends on an input
            }
            ++cases;
            QCOMPARE(faultOf(*one, storeAll(*one)), QString());
            const std::uint64_t most = analysis::storeAllPeak(one->program->graph());
            for (const schedule::Planner& planner : schedule::planners()) {
                if (!planner.isFast && one->program->graph().size() > 24) {
                    continue; // searches take their time
                }
                schedule::PlanRequest request;
                request.graph = &one->program->graph();
                request.budget = most * (50 + 10 * (seed % 6)) / 100;
                request.seconds = 0.01;
                const auto draft = planner.draft(request);
                if (draft.ok()) {
                    const Plan plan = planOf(*request.graph, draft->sequence);
                    QCOMPARE(QString("%1 of %2: %3").arg(planner.name.data()).arg(seed).arg(faultOf(*one, plan)),
                             QString("%1 of %2: ").arg(planner.name.data()).arg(seed));
                    used.insert(std::string(planner.name));
                    repeated += draft->sequence.size() > request.graph->size() ? 1 : 0;
                }
            }
        }
        QVERIFY(cases > 24);
        QVERIFY(repeated > 30);
        for (const schedule::Planner& planner : schedule::planners()) {
            QVERIFY2(!planner.isFast || used.contains(std::string(planner.name)), planner.name.data());
        }
    }

    void movedValuesComeBackAsTheyWent()
    {
        std::mt19937_64 random(7);
        const auto own = std::make_shared<ReversingTier>();
        std::uint64_t moved = 0;
        for (std::uint64_t seed = 1; seed <= 30; ++seed) {
            const std::optional<Case> one = caseOf(seed, 6 + seed % 20);
            if (!one) {
                continue;
            }
            runtime::TierMap tiers = runtime::standardTiers();
            tiers["own"] = own;
            const Plan plan = withMoves(*one, {"memory", "compressed", "disk", "own"}, random);
            moved += plan.steps.size();
            QCOMPARE(QString("%1: %2").arg(seed).arg(faultOf(*one, plan, tiers)), QString("%1: ").arg(seed));
        }
        QVERIFY(moved > 0);
        QVERIFY(own->puts > 10);
    }

    /// What the planner moves is moved for real, with the bits of a pass that keeps everything.
    void plansThatMoveAreRun()
    {
        std::uint64_t moved = 0;
        for (std::uint64_t seed = 1; seed <= 30; ++seed) {
            const std::optional<Case> one = caseOf(seed, 6 + seed % 20);
            if (!one) {
                continue;
            }
            schedule::PlanRequest request;
            request.graph = &one->program->graph();
            request.budget = analysis::storeAllPeak(*request.graph) * 7 / 10;
            request.tier = schedule::Tier{seed % 2 == 0 ? "memory" : "disk", 1e9};
            request.secondsPerCost = 1e-9;
            RETRO_MADE(made, schedule::planWith("offload", request));
            if (made->plan) {
                moved += made->movedBytes;
                QCOMPARE(QString("%1: %2").arg(seed).arg(faultOf(*one, *made->plan)), QString("%1: ").arg(seed));
            }
        }
        QVERIFY(moved > 0);
    }

    void whatCannotBeRunIsRefusedByName()
    {
        RETRO_MADE(one, caseOf(3, 12));
        Plan torn = storeAll(*one);
        torn.steps.erase(torn.steps.begin());
        QVERIFY(faultOf(*one, torn).contains("the plan fails: step "));
        Plan tight = storeAll(*one);
        tight.budget = 1;
        QVERIFY(faultOf(*one, tight).contains("the budget is 1"));
        std::mt19937_64 random(1);
        QVERIFY(faultOf(*one, withMoves(*one, {"attic"}, random)).contains("attic"));
        const auto full = std::make_shared<ReversingTier>();
        full->isFull = true;
        QCOMPARE(faultOf(*one, withMoves(*one, {"full"}, random), {{"full", full}}),
                 QString("the test's tier is full"));
    }

    void aStopEndsTheRun()
    {
        RETRO_MADE(one, caseOf(3, 12));
        std::stop_source stop;
        std::size_t steps = 0;
        runtime::PlanRunOptions options;
        options.stop = stop.get_token();
        options.onStep = [&](const runtime::StepRecord& row) {
            QCOMPARE(row.index, steps);
            if (++steps == 3) {
                stop.request_stop();
            }
        };
        RETRO_REFUSED(engine::plannedGradient(one->model.model, one->request, {}, options), base::ErrorCode::Cancelled);
        QCOMPARE(steps, std::size_t{3});
    }
};

QTEST_APPLESS_MAIN(PlanRunTest)
#include "planruntest.moc"
