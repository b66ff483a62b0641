// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explain.h"

#include "core/base/cancel.h"
#include "core/base/leftovers.h"
#include "core/base/memoryaccount.h"
#include "core/engine/binding.h"
#include "core/engine/course.h"
#include "core/engine/forwarding/forwardedpass.h"
#include "core/engine/forwarding/forwardingsink.h"
#include "core/engine/inputrelevance.h"
#include "core/engine/launchsink.h"
#include "core/engine/ledgersink.h"
#include "core/engine/numericalstop.h"
#include "core/engine/plan/planevents.h"
#include "core/engine/plan/savingsink.h"
#include "core/engine/precision.h"
#include "core/engine/prepare.h"
#include "core/engine/programcache.h"
#include "core/engine/requestcheck.h"
#include "core/engine/runfacts.h"
#include "core/engine/stopwatch.h"
#include "core/execute/control/unroll.h"
#include "core/execute/forward.h"
#include "core/lrp/gradientorder.h"
#include "core/lrp/tensorarithmetic.h"
#include "core/ops/algebra.h"
#include "core/trace/recorder.h"
#include "core/trace/runprogram.h"

#include <algorithm>
#include <iterator>

namespace retro::engine
{

namespace
{

using base::Result;

/// One relevance pass, step by step; every step fills more of the result.
class Explanation
{
public:
    Explanation(const LoadedModel& model, const ExplainRequest& request, std::stop_token stop,
                const StageProgress& progress, ProgramCache* cache)
        : m_model(model), m_request(request), m_stop(std::move(stop)), m_progress(progress), m_cache(cache)
    {}

    Explanation(const Explanation&) = delete;
    Explanation& operator=(const Explanation&) = delete;
    ~Explanation()
    {
        if (m_stop.stop_requested()) {
            base::Leftovers::leave(std::move(m_result));
            base::Leftovers::add(std::move(m_prepared));
            base::Leftovers::leave(std::move(m_forward));
            base::Leftovers::add(std::move(m_recorded));
        }
    }

    /// What is not finite may come from a type of the model, which the error then says.
    Result<ExplainResult> run()
    {
        Result<ExplainResult> result = pass();
        const bool isOverflow = !result.ok() && result.error().code == base::ErrorCode::Engine && m_forward;
        if (isOverflow && m_forward->overflow) {
            base::Error error = result.error();
            error.message += "; " + overflowWarning(m_result.model->graph(), m_forward->overflow);
            return error;
        }
        return result;
    }

private:
    Result<ExplainResult> pass()
    {
        base::MemoryAccount::tensors().resetPeak();
        std::optional<tensor::StoragePool::Use> pool;
        if (m_cache != nullptr) {
            m_cache->pool().fillUpToPeak(m_request.inputsOnly);
            pool.emplace(m_cache->pool());
        }
        RETRO_CHECK(bind());
        RETRO_CHECK(runForward());
        const Stopwatch watch;
        RETRO_CHECK(base::checkStop(m_stop));
        RETRO_CHECK(runEngine());
        RETRO_CHECK(base::checkMappedFiles());
        if (!m_request.goesOnWhenNotFinite) {
            const auto isFinite = checkFinite({forwardPass(), m_result.relevance, m_result.ledger});
            if (!isFinite && m_inputPass) {
                return wholePass(); // has what its words are made of
            }
            RETRO_CHECK(isFinite);
        }
        RETRO_CHECK(takeParameters());
        if (m_forwarded) {
            m_result.forwarding = forwardingDone(*m_forwarded);
        }
        m_result.checkpoints =
            takenCheckpoints(m_checkpoints, m_snapshots, m_result.relevance, m_result.model->graph());
        if (m_result.composite.timesInput) {
            multiplyByInputs(m_request, m_result);
            if (!m_request.goesOnWhenNotFinite) {
                RETRO_CHECK(checkProducts(forwardPass(), m_result.relevance));
            }
        }
        dropUnwanted(m_request, m_result);
        m_result.relevanceInputs = relevanceOfInputs(m_result);
        m_result.secondsRelevance = watch.seconds() - m_result.secondsProgram;
        m_result.peakBytes = base::MemoryAccount::tensors().peak();
        finishRun();
        if (m_request.keepsForward && !m_inputPass && m_forward) {
            m_result.forward = std::make_shared<const execute::ForwardResult>(*m_forward);
        }
        return std::move(m_result);
    }

    Result<ExplainResult> wholePass()
    {
        m_inputPass.reset();
        m_forward.reset();
        ExplainRequest whole = m_request;
        whole.inputsOnly = false;
        return Explanation(m_model, whole, m_stop, m_progress, m_cache).run();
    }

    void report(const char* stage, std::size_t done, std::size_t total) const
    {
        if (m_progress) {
            m_progress(stage, done, total);
        }
    }

    [[nodiscard]] ForwardPass forwardPass() const { return {m_result.model, m_inputs, m_result.rules, m_stop}; }

    Result<void> bind()
    {
        const Stopwatch watch;
        report("bind", 0, 1);
        RETRO_TRY(m_prepared, prepare(m_model, m_request, m_cache, m_stop));
        RETRO_CHECK(takeRules(*m_prepared, m_result));
        m_result.secondsBind = watch.seconds();
        return {};
    }

    /// The value of every target, in their order; m_targets has each value once.
    Result<std::vector<base::ValueId>> findTargets()
    {
        std::vector<base::ValueId> values;
        for (const TargetRequest& target : targetsOf(m_request)) {
            std::string note;
            RETRO_TRY(const base::ValueId value, targetValue(target, *m_result.model, &note));
            if (!note.empty()) {
                m_result.warnings.push_back(std::move(note));
            }
            values.push_back(value);
            if (std::find(m_targets.begin(), m_targets.end(), value) == m_targets.end()) {
                m_targets.push_back(value);
            }
        }
        return values;
    }

    /// What the forward pass keeps beside what the policy says.
    [[nodiscard]] std::vector<base::ValueId> keptBeside(std::vector<base::ValueId> values) const
    {
        if (m_runner) {
            values.insert(values.end(), m_runner->alsoKept().begin(), m_runner->alsoKept().end());
        }
        if (m_runner && m_request.record) {
            const std::vector<base::ValueId>& told = m_course->recorded->values;
            values.insert(values.end(), told.begin(), told.end());
        }
        return values;
    }

    Result<void> runForward()
    {
        const Stopwatch watch;
        const graph::Graph& graph = m_result.model->graph();
        RETRO_TRY(const std::vector<base::ValueId> values, findTargets());
        m_starts.resize(m_targets.size());
        m_policy = m_request.engine == EngineKind::Oracle ? execute::SavePolicy::All : m_request.save;
        RETRO_CHECK(findCourse());
        RETRO_CHECK(forwardWith(keptBeside(values)));
        if (std::string warning = overflowWarning(graph, m_forward->overflow); !warning.empty()) {
            m_result.warnings.push_back(std::move(warning));
        }
        m_result.outputs = m_forward->outputs;
        m_result.secondsForward = watch.seconds();
        for (std::size_t i = 0; i < values.size(); ++i) {
            const tensor::Tensor known = m_forward->value(values[i]);
            RETRO_TRY(ResolvedTarget target,
                      resolveTargetOf(forwardPass(), targetsOf(m_request)[i], m_request.start, values[i], known));
            addStart(target);
            std::ranges::move(targetHints(*m_result.model, target), std::back_inserter(m_result.warnings));
            (i == 0 ? m_result.target : m_result.alsoTargets.emplace_back()) = std::move(target);
        }
        if (m_result.composite.dividesStart) {
            RETRO_CHECK(divideStarts(graph));
        }
        if (m_last != nullptr) {
            m_last->take(m_targets, m_starts);
            m_last->memory.begin();
        }
        return {};
    }

    [[nodiscard]] bool keepsPass() const
    {
        return m_request.keepsPass && m_cache != nullptr && m_request.engine == EngineKind::Promise &&
               m_request.save != execute::SavePolicy::Plan && !m_request.forwarding;
    }

    // The forward pass of the explanation before, when it is of the same inputs; else one is made.
    Result<void> forwardWith(const std::vector<base::ValueId>& alsoKept)
    {
        std::vector<tensor::Tensor> inputs = m_inputs =
            inPrecision(m_result.model->graph(), m_request.inputs, m_request.precision);
        if (keepsPass()) {
            m_last = m_cache->lastPass().get();
            m_result.forwardReused = m_last != nullptr && m_last->isOf(m_result.model, inputs, m_policy, alsoKept);
        }
        if (m_result.forwardReused) {
            m_forward = m_last->forward;
            return {};
        }
        const auto forwardProgress = [this](std::size_t done, std::size_t total) { report("forward", done, total); };
        if (m_inputPass) {
            RETRO_TRY(m_forward, m_inputPass->forward(m_result.model, inputs, m_targets, m_stop, forwardProgress));
            return {};
        }
        if (m_request.forwarding) {
            return forwardChosen(inputs, alsoKept, forwardProgress);
        }
        RETRO_TRY(const auto plan, savePlan(m_request, m_policy, m_targets, m_result));
        RETRO_TRY(m_forward, execute::forward(m_result.model, inputs, plan, m_stop, forwardProgress, alsoKept));
        if (keepsPass()) {
            base::Leftovers::leave(std::move(m_cache->lastPass()));
            m_cache->lastPass() = std::make_unique<LastPass>(
                LastPass{m_result.model, std::move(inputs), m_policy, alsoKept, {}, {}, *m_forward, lrp::PassMemory()});
            m_last = m_cache->lastPass().get();
        }
        return {};
    }

    Result<void> forwardChosen(const std::vector<tensor::Tensor>& inputs, const std::vector<base::ValueId>& alsoKept,
                               const execute::Progress& progress)
    {
        RETRO_TRY(const lrp::TraversalGraph graph, traversalGraph());
        RETRO_TRY(m_forwarded, forwardedStore(m_model, *m_prepared, graph, *m_request.forwarding, m_targets, alsoKept));
        RETRO_TRY(m_forward, forwardInForms(m_forwarded, inputs, m_stop, progress));
        return {};
    }

    // Of a gradient that is multiplied by its value to be a relevance, the start is what makes it the start relevance.
    Result<void> divideStarts(const graph::Graph& graph)
    {
        for (std::size_t i = 0; i < m_targets.size(); ++i) {
            RETRO_TRY(m_starts[i],
                      dividedStart(m_starts[i], m_forward->value(m_targets[i]), graph.value(m_targets[i]).name));
        }
        return {};
    }

    // Each value is a root once: what several targets start there is added.
    void addStart(const ResolvedTarget& target)
    {
        m_result.relevanceStart += ops::algebra::sum(target.start);
        const auto at = std::find(m_targets.begin(), m_targets.end(), target.value) - m_targets.begin();
        tensor::Tensor& start = m_starts[static_cast<std::size_t>(at)];
        start = start.isValid() ? ops::algebra::add(start, target.start) : target.start;
    }

    Result<void> findCheckpoints(const lrp::TraversalGraph& graph)
    {
        RETRO_TRY(m_checkpoints, checkpointValues(m_request.checkpoints, *m_result.model, graph));
        if (m_request.stopAtCheckpoints && m_checkpoints.empty()) {
            return base::usageError("there is no checkpoint to stop at; name one with --checkpoint VALUE",
                                    "--stop-at-checkpoints");
        }
        return {};
    }

    [[nodiscard]] bool usesPrograms() const
    {
        return m_cache != nullptr && m_request.engine != EngineKind::Oracle && !keepsPass() &&
               m_request.save != execute::SavePolicy::Plan && // a course is not known by what a plan keeps
               !m_request.forwarding;
    }

    /// What is known of the course that this pass will take: before the forward pass, which can keep what the program
    /// would have to make.
    Result<void> findCourse()
    {
        if (!usesPrograms()) {
            return {};
        }
        if (!m_request.checkpoints.empty() || m_request.stopAtCheckpoints || m_prepared->hasCheckpoints) {
            RETRO_CHECK(traversalGraph());
        }
        m_key = keyOfCourse();
        m_course = m_cache->course(m_key);
        const bool isForInputs = goesForInputsAlone(m_request, m_prepared->hasCheckpoints);
        if (isForInputs && !m_course) {
            RETRO_CHECK(findCourseAhead());
        } else if (m_course && !m_course->isChecked && !isForInputs) {
            m_course = nullptr;
        }
        findRunner(isForInputs);
        return {};
    }

    Result<void> findCourseAhead()
    {
        RETRO_TRY(const lrp::TraversalGraph graph, traversalGraph());
        RETRO_TRY(m_course, courseAhead(*m_prepared, m_policy, graph, m_targets, m_key, m_stop));
        m_cache->keep(m_key, m_course);
        return {};
    }

    void findRunner(bool isForInputs)
    {
        if (m_course && m_course->program && (!m_request.record || m_course->recorded)) {
            m_runner = m_cache->runner(m_prepared, *m_course, m_policy);
        }
        if (m_runner && isForInputs) {
            m_inputPass.emplace(*m_runner);
        }
    }

    Result<void> runEngine()
    {
        if (m_runner) {
            RETRO_CHECK(runProgram());
            if (!m_request.record || m_recorded) {
                return {};
            }
            m_snapshots.clear();
            m_result.ledger.clear(); // it cannot be told again: a first pass
            m_result.program.reset();
            m_result.programReused = false;
        }
        RETRO_TRY(const lrp::TraversalGraph graph, traversalGraph());
        if (m_request.engine == EngineKind::Oracle) {
            return runOracle(graph);
        }
        if (usesPrograms() && !m_course) {
            RETRO_CHECK(newCourse(graph));
        } else {
            RETRO_CHECK(runPromise(graph));
            keepRecording();
        }
        if (m_request.engine == EngineKind::Compiled && !m_course->program) {
            return base::Error{base::ErrorCode::Bug,
                               m_course->fault + "; use --engine promise, and please report this with the model",
                               "compiled program"};
        }
        return {};
    }

    Result<void> takeParameters()
    {
        if (!m_request.parameters) {
            return {};
        }
        const bool keptAll = m_policy != execute::SavePolicy::Plan && !m_forwarded;
        RETRO_TRY(m_result.parameters,
                  parameterRelevance({m_result.model, *m_prepared->rules, m_targets, m_result.relevance, m_inputs,
                                      keptAll ? &m_forward->saved : nullptr, m_result.composite.timesInput,
                                      m_request.goesOnWhenNotFinite, m_stop}));
        return {};
    }

    /// The graph from all targets; finds the checkpoints in it.
    Result<lrp::TraversalGraph> traversalGraph()
    {
        RETRO_TRY(lrp::TraversalGraph graph,
                  lrp::TraversalGraph::build(*m_result.model, m_targets, lrp::edgeOrder(*m_prepared->rules)));
        m_result.nodes = graph.postOrder().size();
        RETRO_CHECK(findCheckpoints(graph));
        return graph;
    }

    [[nodiscard]] std::uint64_t keyOfCourse() const
    {
        return keyOf({m_prepared, m_policy, m_targets, m_checkpoints, m_request.stopAtCheckpoints}, *m_cache);
    }

    /// A first pass, whose relevance is the result, and its program, checked against it bit for bit.
    Result<void> newCourse(const lrp::TraversalGraph& graph)
    {
        const Stopwatch watch;
        CourseSink sink(m_result.model->graph());
        if (m_request.record) {
            RETRO_CHECK(runPromise(graph));
            std::ranges::for_each(m_recorded->events, [&sink](const event::Event& event) { sink.onEvent(event); });
        } else {
            RETRO_CHECK(runPromise(graph, sink));
            m_result.ledger = std::move(sink.rows);
            m_snapshots = std::move(sink.snapshots);
        }
        const double secondsPass = watch.seconds();
        auto course = std::make_shared<Course>();
        course->counts = m_result.counts;
        course->stoppedEarly = m_result.stoppedEarly;
        course->snapshots = m_snapshots;
        RETRO_TRY(const double secondsRun, makeProgram({sink, *m_prepared, m_policy, m_forward->saved, m_targets,
                                                        m_starts, m_result.relevance, m_key},
                                                       *course, m_stop));
        m_cache->keep(m_key, course);
        m_result.program = course->program;
        m_course = std::move(course);
        keepRecording();
        // The relevance is that of the pass and of the program alike; the time stated is that of the engine asked for.
        m_result.secondsProgram =
            watch.seconds() - (m_request.engine == EngineKind::Compiled ? secondsRun : secondsPass);
        return {};
    }

    /// The events of this pass are those of every input that takes the same course.
    void keepRecording()
    {
        if (m_recorded && m_course && m_course->program && !m_course->recorded) {
            auto course = std::make_shared<Course>(*m_course);
            course->recorded = recordedCourse(*m_recorded, std::move(m_origins));
            m_cache->keep(m_key, std::move(course));
        }
    }

    Result<void> runProgram()
    {
        const auto progress = [this](std::size_t done, std::size_t total) { report("relevance", done, total); };
        lrp::MadeTensors made;
        if (m_inputPass) {
            RETRO_CHECK(m_inputPass->run(m_forward->saved, m_starts, m_stop, progress, m_result));
        } else {
            RETRO_TRY(const lrp::RelevanceTable table,
                      m_runner->run(m_forward->saved, m_starts, m_stop, &m_result.ledger, progress,
                                    m_request.record ? &made : nullptr));
            takeTable(table, m_result);
        }
        m_result.program = m_course->program;
        m_result.programReused = true;
        m_result.counts = m_course->counts;
        m_result.nodes = m_course->program->nodes;
        m_result.stoppedEarly = m_course->stoppedEarly;
        m_snapshots = m_course->snapshots;
        if (m_request.record) {
            takeRetold(retell(*m_course->recorded, {made, m_starts, m_forward->saved, m_result.ledger}));
        }
        return {};
    }

    void takeRetold(std::optional<trace::Run> run)
    {
        if (run) {
            m_recorded = std::make_shared<trace::Run>(std::move(*run));
            m_result.ledger = m_recorded->ledger;
        }
    }

    Result<void> runOracle(const lrp::TraversalGraph& graph)
    {
        RETRO_TRY(const lrp::RelevanceTable table,
                  lrp::oracle(m_forward->saved, *m_prepared->rules, graph, m_starts, m_stop, &m_result.ledger));
        takeTable(table, m_result);
        m_result.counts.visits = m_result.counts.normal = static_cast<std::uint32_t>(graph.postOrder().size());
        m_result.counts.visitsMax = 1;
        return {};
    }

    Result<void> walk(lrp::Traversal& traversal, std::size_t nodes) const
    {
        while (!traversal.finished()) {
            RETRO_CHECK(base::checkStop(m_stop));
            RETRO_CHECK(traversal.step());
            report("relevance", traversal.counts().visits, nodes);
        }
        return {};
    }

    Result<void> runPromise(const lrp::TraversalGraph& graph)
    {
        if (!m_request.record) {
            LedgerSink sink;
            RETRO_CHECK(runPromise(graph, sink));
            m_result.ledger = std::move(sink.rows);
            m_snapshots = std::move(sink.snapshots);
            return {};
        }
        trace::Recorder recorder;
        recorder.expect(graph.postOrder().size() + graph.inEdgeCount());
        LaunchSink launches(recorder, *m_result.model, *m_prepared->rules);
        if (auto ran = runPromise(graph, launches); !ran) {
            base::Leftovers::leave(std::move(recorder));
            return ran;
        }
        m_recorded = std::make_shared<trace::Run>(std::move(recorder).take());
        m_result.ledger = m_recorded->ledger;
        std::ranges::copy_if(m_recorded->events, std::back_inserter(m_snapshots),
                             [](const event::Event& event) { return event.kind == event::EventKind::Snapshot; });
        return {};
    }

    Result<void> runPromise(const lrp::TraversalGraph& graph, event::Sink& to)
    {
        SavingSink saving(to, *m_forward, m_result);
        std::optional<ForwardingSink> forwarding;
        if (m_forwarded) {
            forwarding.emplace(saving, *m_forwarded, !m_request.keepValues);
        }
        event::Sink& sink = forwarding ? static_cast<event::Sink&>(*forwarding) : saving;
        const auto held = std::make_shared<lrp::TensorArithmetic>(m_forward->saved, *m_prepared->rules, graph, sink,
                                                                  true, m_last != nullptr ? &m_last->memory : nullptr);
        lrp::TensorArithmetic& arithmetic = *held;
        std::vector<base::HandleId> starts;
        for (const tensor::Tensor& start : m_starts) {
            starts.push_back(arithmetic.adopt(start));
        }
        lrp::Traversal traversal(graph, arithmetic, sink, starts,
                                 {outputsOf(m_checkpoints, m_result.model->graph()), m_request.stopAtCheckpoints});
        if (auto walked = walk(traversal, graph.postOrder().size()); !walked) {
            base::Leftovers::add(held); // its tensors: most of what a stopped pass leaves
            return walked;
        }
        if (m_request.record) {
            m_origins = arithmetic.origins();
        }
        m_result.counts = traversal.counts();
        m_result.stoppedEarly = traversal.stoppedEarly();
        if (m_last != nullptr) {
            m_result.rulesApplied = m_last->memory.applied();
            m_result.rulesReused = m_last->memory.reused();
        }
        keepAll(graph, traversal, arithmetic);
        return {};
    }

    void keepAll(const lrp::TraversalGraph& graph, const lrp::Traversal& traversal,
                 const lrp::TensorArithmetic& arithmetic)
    {
        m_result.relevance.resize(m_result.model->graph().valueCount());
        for (const base::NodeId node : graph.postOrder()) {
            for (std::uint32_t k = 0; k < graph.outputCount(node); ++k) {
                const base::HandleId handle = traversal.relevance(node, k);
                if (handle.isValid()) {
                    keepRelevance(node, k, arithmetic.tensor(handle), m_result);
                }
            }
        }
    }

    void finishRun()
    {
        if (!m_recorded) {
            return;
        }
        m_recorded->rules = m_result.rules;
        fillValues(*m_recorded,
                   {*m_result.model, m_request.keepValues ? &m_forward->saved : nullptr, m_inputs, m_result.outputs});
        const std::string_view save = m_forwarded ? kForwardedSaving : nameOf(m_policy);
        fillFacts(m_recorded->facts, {m_model, m_request, m_result, std::string(save)});
        m_result.run = std::move(m_recorded);
    }

    const LoadedModel& m_model;
    const ExplainRequest& m_request;
    std::stop_token m_stop;
    const StageProgress& m_progress;
    ExplainResult m_result;
    ProgramCache* m_cache; // null: nothing is kept
    std::shared_ptr<const Prepared> m_prepared;
    std::vector<tensor::Tensor> m_inputs;                         // in the run's precision
    execute::SavePolicy m_policy = execute::SavePolicy::Autograd; // of the forward pass
    std::uint64_t m_key = 0;                                      // of the course, where programs are used
    std::shared_ptr<const Course> m_course;                       // what is known of it
    std::shared_ptr<lrp::ProgramRunner> m_runner;                 // its program, when there is one already
    std::optional<InputPass> m_inputPass;                         // when its relevance is all that is wanted
    std::optional<execute::ForwardResult> m_forward;
    std::shared_ptr<ForwardedStore> m_forwarded; // its values, of a request that says how they are forwarded
    LastPass* m_last = nullptr;                  // what this pass reuses and adds to; null when nothing is kept
    std::vector<base::ValueId> m_targets;        // each once
    std::vector<tensor::Tensor> m_starts;        // of each
    std::vector<base::ValueId> m_checkpoints;
    std::vector<event::Event> m_snapshots;
    std::shared_ptr<trace::Run> m_recorded;
    std::vector<lrp::HandleOrigin> m_origins; // of a recorded pass, by HandleId
};

} // namespace

Result<ExplainResult> explain(const LoadedModel& model, const ExplainRequest& request, std::stop_token stop,
                              const StageProgress& progress)
{
    RETRO_CHECK(checkRequest(request));
    ProgramCache cache;
    const bool usesProgram = request.engine == EngineKind::Compiled || request.inputsOnly;
    return Explanation(model, request, std::move(stop), progress, usesProgram ? &cache : nullptr).run();
}

Explainer::Explainer(LoadedModelPointer model) : m_model(std::move(model)), m_cache(std::make_unique<ProgramCache>()) {}

Explainer::~Explainer() = default;

Explainer::Explainer(Explainer&&) noexcept = default;

Explainer& Explainer::operator=(Explainer&&) noexcept = default;

Result<ExplainResult> Explainer::explain(const ExplainRequest& request, std::stop_token stop,
                                         const StageProgress& progress)
{
    RETRO_CHECK(checkRequest(request));
    return Explanation(*m_model, request, std::move(stop), progress, m_cache.get()).run();
}

} // namespace retro::engine
