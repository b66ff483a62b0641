// SPDX-License-Identifier: Apache-2.0
// One observer sees every kind of pass; what it saw is the profile of a run, and goes through run files.
#include "core/trace/profile.h"
#include "core/engine/explain/explain.h"
#include "core/engine/gradient/gradient.h"
#include "core/engine/model/loadmodel.h"
#include "core/engine/plan/plannedforward.h"
#include "core/engine/plan/plannedgradient.h"
#include "core/engine/plan/plannedsaving.h"
#include "core/event/observer.h"
#include "core/tensor/npy.h"
#include "core/trace/profiletext.h"
#include "core/trace/runfile.h"
#include "tests/core/engine/samplequestion.h"

#include <QTemporaryDir>
#include <QtTest>

#include <algorithm>

using namespace retro;
using tensor::Tensor;

namespace
{

engine::LoadedModelPointer sample()
{
    const auto loaded = engine::loadModel(RETRO_SOURCE_DIR "/samples/clever-hans/clever-hans.onnx");
    return loaded.ok() ? *loaded : nullptr;
}

engine::ExplainRequest question()
{
    engine::ExplainRequest request;
    std::vector<float> values(3 * 96 * 96);
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<float>((i * 2654435761U) % 1000) / 500.0F - 1.0F;
    }
    request.inputs = {Tensor::of<float>({1, 3, 96, 96}, values)};
    request.composite = "epsilon_plus";
    return request;
}

std::size_t count(const trace::Profile& profile, event::Half half, bool isRepeat)
{
    return static_cast<std::size_t>(std::ranges::count_if(profile.rows, [&](const trace::ProfileRow& row) {
        return row.work.half == half && row.work.isRepeat == isRepeat;
    }));
}

std::size_t count(const trace::Profile& profile, event::MemoryChoice choice)
{
    return static_cast<std::size_t>(std::ranges::count(profile.decisions, choice, &trace::DecisionRow::choice));
}

/// Times and steps rise, and nothing is negative.
bool isInOrder(const trace::Profile& profile, std::uint64_t events)
{
    double last = 0;
    for (const trace::ProfileRow& row : profile.rows) {
        const double end = row.begin + row.work.seconds;
        if (row.begin < 0 || end < last || row.step > events || row.work.flops < 0 || row.work.bytes < 0) {
            return false;
        }
        last = end;
    }
    return std::ranges::all_of(profile.decisions, [&](const trace::DecisionRow& row) {
        return row.bytes > 0 && !row.reason.empty() && row.step <= events;
    });
}

} // namespace

class ProfileTest : public QObject
{
    Q_OBJECT

private slots:
    void aTraversalIsSeenWhole()
    {
        RETRO_MADE(model, sample());
        engine::ExplainRequest request = question();
        request.record = request.keepValues = true;
        RETRO_MADE(result, engine::explain(*model, request));
        const trace::Run& run = *result->run;
        QVERIFY(run.profile != nullptr && run.profile == result->profile);
        QCOMPARE(count(*run.profile, event::Half::Forward, false), run.graph->nodeCount());
        std::size_t rules = 0;
        for (std::size_t step = 0; step < run.events.size(); ++step) {
            if (run.events[step].kind != event::EventKind::Rule) {
                continue;
            }
            ++rules; // each rule has its row, which ended just before the event that tells of it
            const auto row = std::ranges::find_if(run.profile->rows, [&](const trace::ProfileRow& one) {
                return one.work.half == event::Half::Reverse && one.node.value == run.events[step].node;
            });
            QVERIFY(row != run.profile->rows.end() && row->step <= step && run.visitOf(row->step) == run.visitOf(step));
        }
        QCOMPARE(count(*run.profile, event::Half::Reverse, false), rules);
        QVERIFY(isInOrder(*run.profile, run.eventCount()));
        QVERIFY(count(*run.profile, event::MemoryChoice::Keep) > 0);
    }

    /// Without a wish nobody listens, and the numbers are the same.
    void watchingChangesNothing()
    {
        const auto model = sample();
        const auto plain = engine::explain(*model, question());
        engine::ExplainRequest watched = question();
        watched.profile = true;
        const auto seen = engine::explain(*model, watched);
        QVERIFY(plain.ok() && seen.ok());
        QVERIFY(plain->profile == nullptr && seen->profile != nullptr && seen->run == nullptr);
        const base::ValueId input = model->graph()->inputs()[0];
        QVERIFY(plain->relevance[input.index()].bitEqual(seen->relevance[input.index()]));
    }

    void whatAPlanDoesHasItsReason()
    {
        // No plan for the other sample needs less than keeping all: one of its operators alone fills that peak.
        const auto [model, asked] = tests::questionOf<engine::ExplainRequest>("silent-groups/silent-groups");
        QVERIFY(model != nullptr);
        engine::ExplainRequest request = asked;
        request.composite = "epsilon_plus";
        engine::PlanOptions wish;
        wish.seconds = 2;
        std::size_t again = 0;
        base::Result<engine::PlannedGradient> made = base::usageError("no budget was tried");
        for (const char* budget : {"60%", "70%", "80%", "90%"}) {
            wish.budget = budget;
            made = engine::recordedPlannedGradient(*model, request, wish);
            again = !made.ok() ? 0
                               : static_cast<std::size_t>(
                                     std::ranges::count_if(made->run.steps, [&](const runtime::StepRecord& step) {
                                         return step.isRecompute && step.step.kind == schedule::StepKind::Compute &&
                                                made->program->isForward(step.step.id);
                                     }));
            if (again > 0) {
                break;
            }
        }
        RETRO_OK(made);
        const trace::Profile& profile = *made->recorded->profile;
        QVERIFY(again > 0);
        QCOMPARE(count(profile, event::Half::Forward, true), again);
        QVERIFY(count(profile, event::MemoryChoice::Recompute) >= again);
        QVERIFY(count(profile, event::MemoryChoice::Drop) > 0);
        QVERIFY(isInOrder(profile, made->recorded->eventCount()));
        // A traversal by a plan: what it lacks comes by promises, or is computed again.
        request.save = execute::SavePolicy::Plan;
        wish.budget = "80%";
        request.keptByPlan = engine::keptBy(wish);
        request.record = true;
        RETRO_MADE(planned, engine::explain(*model, request));
        const trace::Profile& traversed = *planned->run->profile;
        QVERIFY(count(traversed, event::Half::Forward, true) > 0);
        QVERIFY(count(traversed, event::MemoryChoice::Promise) + count(traversed, event::MemoryChoice::Recompute) > 0);
        QVERIFY(isInOrder(traversed, planned->run->eventCount()));
        QVERIFY(std::ranges::any_of(traversed.rows, [](const trace::ProfileRow& row) {
            return row.work.half == event::Half::Forward && row.step > 0; // told behind the forward steps of the plan
        }));
    }

    void tapeAndForwardPassAreSeen()
    {
        const auto model = sample();
        trace::ProfileRecorder recorder;
        {
            const event::ObserverScope observed(&recorder);
            QVERIFY(engine::gradient(*model, {question().inputs, {}, execute::Precision::Float, {}}).ok());
        }
        const trace::Profile profile = std::move(recorder).take();
        QVERIFY(count(profile, event::Half::Forward, false) >= model->graph()->nodeCount());
        QVERIFY(count(profile, event::Half::Reverse, false) > 0);
    }

    /// The forward pass alone by a plan: its outputs are those of any forward pass, and memory is as predicted.
    void theForwardPassAloneRunsByItsPlan()
    {
        const auto model = sample();
        engine::PlanOptions wish;
        wish.seconds = 2;
        RETRO_MADE(made, engine::recordedPlannedForward(*model, question(), wish));
        engine::ExplainRequest plain = question();
        RETRO_MADE(explained, engine::explain(*model, plain));
        QVERIFY(made->outputs[0].bitEqual(explained->outputs[0]));
        QVERIFY(made->recorded->eventCount() > 0 && made->runPlan != nullptr);
        QVERIFY(std::ranges::none_of(made->recorded->events, [](const event::Event& one) {
            return one.kind == event::EventKind::Rule || one.kind == event::EventKind::Relevance;
        }));
        for (const runtime::StepRecord& step : made->run.steps) {
            QCOMPARE(step.measured.transient, step.predicted.transient);
            QCOMPARE(step.measured.after, step.predicted.after);
        }
        QCOMPARE(made->run.peak, made->run.predicted.peak);
        QTemporaryDir folder;
        const std::filesystem::path file = (folder.path() + "/forward.retro").toStdString();
        QVERIFY(trace::writeRecorded(file, {made->recorded, {}, made->runPlan}).ok());
        RETRO_MADE(back, trace::readRecorded(file));
        QVERIFY(*back->plan == *made->runPlan && back->run->events.size() == made->recorded->events.size());
    }

    /// A cell that a rule takes apart is one node of the pass: nodes within it are none of the run's.
    void aCellTakenApartIsOneNode()
    {
        RETRO_MADE(model, engine::loadModel(RETRO_SOURCE_DIR "/samples/marked-step/marked-step.onnx"));
        RETRO_MADE(series, tensor::readNpy(RETRO_SOURCE_DIR "/samples/marked-step/middle.npy"));
        engine::ExplainRequest request;
        request.inputs = {*series};
        request.composite = "epsilon";
        request.record = true;
        RETRO_MADE(result, engine::explain(**model, request));
        const trace::Run& run = *result->run;
        QCOMPARE(count(*run.profile, event::Half::Forward, false), run.graph->nodeCount());
        for (const trace::ProfileRow& row : run.profile->rows) {
            QVERIFY(row.node.index() < run.graph->runNodeCount());
        }
        QVERIFY(count(*run.profile, event::Half::Reverse, false) <= run.graph->nodeCount());
        QTemporaryDir folder;
        const std::filesystem::path file = (folder.path() + "/run.retro").toStdString();
        QVERIFY(trace::writeRun(file, run).ok());
        RETRO_MADE(back, trace::readRun(file));
        QVERIFY(*(*back)->profile == *run.profile);
    }

    void runFilesKeepIt()
    {
        const auto model = sample();
        engine::ExplainRequest request = question();
        request.record = true;
        RETRO_MADE(result, engine::explain(*model, request));
        QTemporaryDir folder;
        const std::filesystem::path file = (folder.path() + "/run.retro").toStdString();
        QVERIFY(trace::writeRun(file, *result->run).ok());
        RETRO_MADE(back, trace::readRun(file));
        QVERIFY((*back)->profile != nullptr);
        QVERIFY(*(*back)->profile == *result->run->profile);
        const auto rows = trace::profileJson(*(*back)->graph, *(*back)->profile);
        QCOMPARE(rows.size(), (*back)->graph->nodeCount());
        const QString csv = QString::fromStdString(trace::profileCsv(*(*back)->graph, *(*back)->profile));
        QCOMPARE(csv.count('\n'), static_cast<int>((*back)->profile->rows.size()) + 1);
    }
};

QTEST_GUILESS_MAIN(ProfileTest)
#include "profiletest.moc"
