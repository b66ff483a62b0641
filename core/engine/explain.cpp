// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explain.h"

#include "core/base/cancel.h"
#include "core/base/file.h"
#include "core/base/leftovers.h"
#include "core/base/memoryaccount.h"
#include "core/engine/binding.h"
#include "core/engine/inputfacts.h"
#include "core/engine/stopwatch.h"
#include "core/execute/forward.h"
#include "core/lrp/tensorarithmetic.h"
#include "core/ops/algebra.h"
#include "core/trace/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

namespace retro::engine
{

namespace
{

using base::Result;

/// Largest composite file that is read.
constexpr std::uint64_t kMaxCompositeBytes = 16ULL << 20;

/// Keeps ledger rows and snapshots, drops everything else: for runs that are not recorded.
class LedgerSink final : public event::Sink
{
public:
    void onEvent(const event::Event& event) override
    {
        if (event.kind == event::EventKind::Snapshot) {
            snapshots.push_back(event);
        }
    }
    void onLedger(const event::LedgerEntry& entry) override { rows.push_back(entry); }
    void onTensor(base::HandleId, const tensor::Tensor&) override {}
    std::vector<event::LedgerEntry> rows;
    std::vector<event::Event> snapshots;
};

std::vector<trace::NodeRule> inWords(const lrp::RuleAssignment& rules, const execute::BoundModel& model)
{
    std::vector<trace::NodeRule> words;
    for (std::size_t i = 0; i < rules.size(); ++i) {
        words.push_back({rules[i].rule ? rules[i].rule->text() : "", rules[i].matcher,
                         std::string(ops::nameOf(model.op(base::NodeId(i)).structure().kind()))});
    }
    return words;
}

/// Forward value of the target: an output of the graph, or a kept value.
tensor::Tensor valueOf(base::ValueId value, const execute::ForwardResult& forward, const graph::Graph& graph)
{
    for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
        if (graph.outputs()[i] == value) {
            return forward.outputs[i];
        }
    }
    return forward.saved.anyValue(value);
}

/// One relevance pass, step by step; every step fills more of the result.
class Explanation
{
public:
    Explanation(const LoadedModel& model, const ExplainRequest& request, std::stop_token stop,
                const StageProgress& progress)
        : m_model(model), m_request(request), m_stop(std::move(stop)), m_progress(progress)
    {}

    Explanation(const Explanation&) = delete;
    Explanation& operator=(const Explanation&) = delete;
    ~Explanation()
    {
        if (m_stop.stop_requested()) {
            base::Leftovers::leave(std::move(m_result));
            base::Leftovers::leave(std::move(m_rules));
            base::Leftovers::leave(std::move(m_forward));
            base::Leftovers::add(std::move(m_recorded));
        }
    }

    Result<ExplainResult> run()
    {
        base::MemoryAccount::tensors().resetPeak();
        RETRO_CHECK(bind());
        RETRO_CHECK(runForward());
        const Stopwatch watch;
        RETRO_CHECK(base::checkStop(m_stop));
        RETRO_TRY(const lrp::TraversalGraph graph, lrp::TraversalGraph::build(*m_result.model, m_targets));
        m_result.nodes = graph.postOrder().size();
        RETRO_CHECK(findCheckpoints(graph));
        RETRO_CHECK(m_request.engine == EngineKind::Oracle ? runOracle(graph) : runPromise(graph));
        takeCheckpoints();
        if (m_result.composite.timesInput) {
            multiplyByInputs();
        }
        sumUp();
        m_result.secondsRelevance = watch.seconds();
        m_result.peakBytes = base::MemoryAccount::tensors().peak();
        finishRun();
        return std::move(m_result);
    }

private:
    void report(const char* stage, std::size_t done, std::size_t total) const
    {
        if (m_progress) {
            m_progress(stage, done, total);
        }
    }

    Result<void> bind()
    {
        const Stopwatch watch;
        report("bind", 0, 1);
        RETRO_TRY(m_result.model,
                  bindModel(m_model, m_request.inputs, m_request.precision, &m_result.writtenOut, m_stop));
        RETRO_TRY(m_result.composite, resolveComposite(m_request.composite, *m_result.model));
        RETRO_TRY(m_rules, lrp::assignRules(m_result.composite, *m_result.model, m_model.rewritten.fused, m_stop));
        RETRO_CHECK(checkTimesInput());
        m_result.rules = inWords(m_rules, *m_result.model);
        m_result.secondsBind = watch.seconds();
        return {};
    }

    // The relevance of tokens is a sum over their embeddings; their numbers are names, not magnitudes.
    Result<void> checkTimesInput() const
    {
        const execute::BoundModel& model = *m_result.model;
        for (const base::ValueId input : model.graph().inputs()) {
            if (m_result.composite.timesInput && model.isTracked(input) &&
                !tensor::isFloating(model.typeOf(input).dtype)) {
                return base::usageError(fmt::format("gradient × input has no meaning for the input \"{}\", whose "
                                                    "elements are {}; choose another composite (gradient, attnlrp)",
                                                    model.graph().value(input).name,
                                                    tensor::nameOf(model.typeOf(input).dtype)),
                                        "composite");
            }
        }
        return {};
    }

    Result<void> runForward()
    {
        const Stopwatch watch;
        const graph::Graph& graph = m_result.model->graph();
        std::vector<base::ValueId> values;
        for (const TargetRequest& target : allTargets()) {
            RETRO_TRY(const base::ValueId value, targetValue(target, graph));
            values.push_back(value);
        }
        const auto policy = m_request.engine == EngineKind::Oracle ? execute::SavePolicy::All : m_request.save;
        const auto forwardProgress = [this](std::size_t done, std::size_t total) { report("forward", done, total); };
        RETRO_TRY(m_forward, execute::forward(m_result.model, inPrecision(m_request.inputs, m_request.precision),
                                              policy, m_stop, forwardProgress, values));
        m_result.outputs = m_forward->outputs;
        m_result.secondsForward = watch.seconds();
        for (std::size_t i = 0; i < values.size(); ++i) {
            const tensor::Tensor known = valueOf(values[i], *m_forward, graph);
            RETRO_TRY(ResolvedTarget target, resolveTarget(allTargets()[i], m_request.start, values[i], known));
            addStart(target);
            (i == 0 ? m_result.target : m_result.alsoTargets.emplace_back()) = std::move(target);
        }
        return {};
    }

    std::vector<TargetRequest> allTargets() const
    {
        std::vector<TargetRequest> all{m_request.target};
        all.insert(all.end(), m_request.alsoTargets.begin(), m_request.alsoTargets.end());
        return all;
    }

    // Each value is a root once: what several targets start there is added.
    void addStart(const ResolvedTarget& target)
    {
        m_result.relevanceStart += ops::algebra::sum(target.start);
        const auto at = std::find(m_targets.begin(), m_targets.end(), target.value);
        if (at == m_targets.end()) {
            m_targets.push_back(target.value);
            m_starts.push_back(target.start);
        } else {
            tensor::Tensor& start = m_starts[static_cast<std::size_t>(at - m_targets.begin())];
            start = ops::algebra::add(start, target.start);
        }
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

    // The visits are those of the snapshots, which come in another order than the checkpoints.
    void takeCheckpoints()
    {
        const graph::Graph& graph = m_result.model->graph();
        for (const base::ValueId value : m_checkpoints) {
            TakenCheckpoint taken{value, std::nullopt, m_result.relevance[value.index()]};
            for (const event::Event& snapshot : m_snapshots) {
                if (snapshot.node == graph.nodeOf(value).value && snapshot.slot == graph.value(value).producerOutput) {
                    taken.visit = snapshot.visit;
                }
            }
            m_result.checkpoints.push_back(std::move(taken));
        }
    }

    Result<void> runOracle(const lrp::TraversalGraph& graph)
    {
        RETRO_TRY(const lrp::RelevanceTable table,
                  lrp::oracle(m_forward->saved, m_rules, graph, m_starts, m_stop, &m_result.ledger));
        m_result.relevance.resize(m_result.model->graph().valueCount());
        for (const base::NodeId node : graph.postOrder()) {
            for (std::size_t k = 0; k < table[node.index()].size(); ++k) {
                keep(node, k, table[node.index()][k]);
            }
        }
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
        trace::Recorder recorder;
        LedgerSink ledger;
        event::Sink& sink = m_request.record ? static_cast<event::Sink&>(recorder) : ledger;
        lrp::TensorArithmetic arithmetic(m_forward->saved, m_rules, graph, sink, true);
        std::vector<base::HandleId> starts;
        for (const tensor::Tensor& start : m_starts) {
            starts.push_back(arithmetic.adopt(start));
        }
        lrp::Traversal traversal(graph, arithmetic, sink, starts,
                                 {outputsOf(m_checkpoints, m_result.model->graph()), m_request.stopAtCheckpoints});
        RETRO_CHECK(walk(traversal, graph.postOrder().size()));
        m_result.counts = traversal.counts();
        m_result.stoppedEarly = traversal.stoppedEarly();
        m_result.relevance.resize(m_result.model->graph().valueCount());
        for (const base::NodeId node : graph.postOrder()) {
            for (std::uint32_t k = 0; k < graph.outputCount(node); ++k) {
                const base::HandleId handle = traversal.relevance(node, k);
                if (handle.isValid()) {
                    keep(node, k, arithmetic.tensor(handle));
                }
            }
        }
        if (m_request.record) {
            m_recorded = std::make_shared<trace::Run>(std::move(recorder).take());
            m_result.ledger = m_recorded->ledger;
            std::ranges::copy_if(m_recorded->events, std::back_inserter(m_snapshots),
                                 [](const event::Event& event) { return event.kind == event::EventKind::Snapshot; });
        } else {
            m_snapshots = std::move(ledger.snapshots);
            m_result.ledger = std::move(ledger.rows);
        }
        return {};
    }

    void keep(base::NodeId node, std::size_t k, const tensor::Tensor& relevance)
    {
        const auto outputs = m_result.model->graph().outputsOf(node);
        if (k < outputs.size() && outputs[k].isValid()) {
            m_result.relevance[outputs[k].index()] = relevance;
        }
    }

    void multiplyByInputs()
    {
        const auto inputs = inPrecision(m_request.inputs, m_request.precision);
        const auto ids = m_result.model->graph().inputs();
        for (std::size_t i = 0; i < ids.size(); ++i) {
            tensor::Tensor& relevance = m_result.relevance[ids[i].index()];
            if (relevance.isValid()) {
                relevance = ops::algebra::multiply(relevance, inputs[i]);
            }
        }
    }

    void sumUp()
    {
        for (const base::ValueId input : m_result.model->graph().inputs()) {
            if (m_result.relevance[input.index()].isValid()) {
                m_result.relevanceInputs += ops::algebra::sum(m_result.relevance[input.index()]);
            }
        }
    }

    void finishRun()
    {
        if (!m_recorded) {
            return;
        }
        const graph::Graph& graph = m_result.model->graph();
        m_recorded->graph = m_result.model->sharedGraph();
        m_recorded->rules = m_result.rules;
        m_recorded->values.resize(graph.valueCount());
        for (std::size_t i = 0; i < graph.valueCount(); ++i) {
            m_recorded->shapes.push_back(m_result.model->typeOf(base::ValueId(i)).shape);
            if (m_request.keepValues) {
                m_recorded->values[i] = m_forward->saved.anyValue(base::ValueId(i));
            }
        }
        const auto inputs = inPrecision(m_request.inputs, m_request.precision);
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            m_recorded->values[graph.inputs()[i].index()] = inputs[i];
        }
        for (std::size_t i = 0; i < m_result.outputs.size(); ++i) {
            m_recorded->values[graph.outputs()[i].index()] = m_result.outputs[i];
        }
        fillFacts(m_recorded->facts);
        m_result.run = std::move(m_recorded);
    }

    void fillFacts(trace::RunFacts& facts) const
    {
        facts.kind = "explain";
        facts.modelName = m_model.name;
        facts.composite = m_result.composite.name;
        facts.engine = "promise";
        facts.save = m_request.save == execute::SavePolicy::All ? "all" : "autograd";
        facts.precision = std::string(tensor::nameOf(execute::dtypeOf(m_request.precision)));
        facts.start = nameOf(m_request.start);
        facts.targetValue = m_result.target.value;
        facts.targetIndex = m_result.target.index;
        facts.targetLogit = m_result.target.logit;
        facts.numbers = {{"relevance_start", m_result.relevanceStart},
                         {"relevance_inputs", m_result.relevanceInputs},
                         {"seconds_load", m_model.seconds},
                         {"seconds_forward", m_result.secondsForward},
                         {"seconds_relevance", m_result.secondsRelevance},
                         {"peak_bytes", static_cast<double>(m_result.peakBytes)}};
        if (m_result.composite.timesInput) {
            facts.numbers["times_input"] = 1; // relevance of an input is to be read as gradient × input
        }
        facts.input = inputFacts(m_model.card ? &*m_model.card : nullptr, m_request);
        if (m_model.card) {
            facts.labels = m_model.card->labels;
            facts.title = m_model.card->title;
            facts.scores = m_model.card->scores;
        }
    }

    const LoadedModel& m_model;
    const ExplainRequest& m_request;
    std::stop_token m_stop;
    const StageProgress& m_progress;
    ExplainResult m_result;
    lrp::RuleAssignment m_rules;
    std::optional<execute::ForwardResult> m_forward;
    std::vector<base::ValueId> m_targets; // each once
    std::vector<tensor::Tensor> m_starts; // of each
    std::vector<base::ValueId> m_checkpoints;
    std::vector<event::Event> m_snapshots;
    std::shared_ptr<trace::Run> m_recorded;
};

} // namespace

Result<ExplainResult> explain(const LoadedModel& model, const ExplainRequest& request, std::stop_token stop,
                              const StageProgress& progress)
{
    if (request.record && request.engine == EngineKind::Oracle) {
        return base::usageError(
            "the oracle makes no events, so there is nothing to record; use --engine promise with --run");
    }
    if (request.stopAtCheckpoints && request.engine == EngineKind::Oracle) {
        return base::usageError("the oracle makes no visits and cannot stop at checkpoints; use --engine promise",
                                "--stop-at-checkpoints");
    }
    return Explanation(model, request, std::move(stop), progress).run();
}

Result<lrp::Composite> resolveComposite(const std::string& text, const execute::BoundModel& model)
{
    if (!text.ends_with(".json")) {
        return lrp::builtinComposite(text, model);
    }
    RETRO_TRY(const std::string json, base::readTextFile(text, kMaxCompositeBytes));
    return lrp::parseComposite(json, text);
}

std::map<std::string, double> causeTotals(std::span<const event::LedgerEntry> ledger)
{
    std::map<std::string, double> totals;
    double unexplained = 0;
    for (const event::LedgerEntry& row : ledger) {
        unexplained += row.unexplained();
        for (std::size_t i = 0; i < event::kCauseCount; ++i) {
            if (row.causes[i] != 0) {
                totals[std::string(event::nameOf(static_cast<event::Cause>(i)))] += row.causes[i];
            }
        }
    }
    totals["unexplained"] = unexplained;
    return totals;
}

Result<std::vector<RuleLine>> listRules(const LoadedModel& model, const ExplainRequest& request, lrp::Composite* chosen)
{
    RETRO_TRY(const std::shared_ptr<const execute::BoundModel> bound,
              bindModel(model, request.inputs, request.precision));
    RETRO_TRY(const lrp::Composite composite, resolveComposite(request.composite, *bound));
    RETRO_TRY(const lrp::RuleAssignment rules, lrp::assignRules(composite, *bound, model.rewritten.fused));
    std::vector<RuleLine> lines;
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const graph::Node& node = bound->graph().node(base::NodeId(i));
        lines.push_back(
            {base::NodeId(i), node.name, node.op, rules[i].rule ? rules[i].rule->text() : "-", rules[i].matcher});
    }
    if (chosen != nullptr) {
        *chosen = composite;
    }
    return lines;
}

} // namespace retro::engine
