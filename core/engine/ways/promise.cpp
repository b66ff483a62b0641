// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ways/promise.h"

#include "core/base/cancel.h"
#include "core/base/leftovers.h"
#include "core/engine/explain/inputrelevance.h"
#include "core/engine/explain/launchsink.h"
#include "core/event/sink.h"
#include "core/lrp/traversal/traversal.h"
#include "core/trace/recorder.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace retro::engine
{

using base::Result;

namespace
{

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

Result<void> walk(const Pass& pass, lrp::Traversal& traversal, std::size_t nodes)
{
    while (!traversal.finished()) {
        RETRO_CHECK(base::checkStop(pass.stop));
        RETRO_CHECK(traversal.step());
        pass.report("relevance", traversal.counts().visits, nodes);
    }
    return {};
}

void keepAll(const lrp::TraversalGraph& graph, const lrp::Traversal& traversal, const lrp::TensorArithmetic& arithmetic,
             ExplainResult& result)
{
    result.relevance.resize(result.model->graph().valueCount());
    for (const base::NodeId node : graph.postOrder()) {
        for (std::uint32_t k = 0; k < graph.outputCount(node); ++k) {
            const base::HandleId handle = traversal.relevance(node, k);
            if (handle.isValid()) {
                keepRelevance(node, k, arithmetic.tensor(handle), result);
            }
        }
    }
}

} // namespace

bool keepsPass(const Pass& pass)
{
    return pass.request.keepsPass && !pass.request.inputsOnly && pass.cache != nullptr &&
           pass.request.engine == EngineKind::Promise && pass.request.save != execute::SavePolicy::Plan &&
           !pass.request.forwarding && !pass.request.followsDocument;
}

// The forward pass of the explanation before, when it is of the same inputs; else one is made.
Result<execute::ForwardResult> PromiseWay::forward(Pass& pass)
{
    const ops::LaunchScope launches(pass.request.record ? &m_launches : nullptr);
    if (!keepsPass(pass)) {
        return Way::forward(pass);
    }
    const ForwardNeed need = needs(pass);
    m_last = pass.cache->lastPass().get();
    pass.result.forwardReused =
        m_last != nullptr && m_last->isOf(pass.result.model, pass.inputs, need.policy, need.alsoKept);
    if (pass.result.forwardReused) {
        return m_last->forward;
    }
    RETRO_TRY(execute::ForwardResult made, Way::forward(pass));
    base::Leftovers::leave(std::move(pass.cache->lastPass()));
    pass.cache->lastPass() = std::make_unique<LastPass>(
        LastPass{pass.result.model, pass.inputs, need.policy, need.alsoKept, {}, {}, made, lrp::PassMemory()});
    m_last = pass.cache->lastPass().get();
    return made;
}

Result<void> PromiseWay::run(Pass& pass)
{
    if (m_last != nullptr) {
        m_last->take(pass.targets, pass.starts);
        m_last->memory.begin();
    }
    RETRO_TRY(const lrp::TraversalGraph graph, pass.graph());
    return carry(pass, graph);
}

Result<void> PromiseWay::carry(Pass& pass, const lrp::TraversalGraph& graph)
{
    if (pass.request.record) {
        return record(pass, graph);
    }
    LedgerSink sink;
    RETRO_CHECK(carryTo(pass, graph, sink));
    pass.result.ledger = std::move(sink.rows);
    pass.snapshots = std::move(sink.snapshots);
    return {};
}

Result<void> PromiseWay::record(Pass& pass, const lrp::TraversalGraph& graph)
{
    trace::Recorder recorder;
    recorder.expect(graph.postOrder().size() + graph.inEdgeCount());
    LaunchSink launches(recorder, m_launches);
    launches.tell(0, event::Mode::None); // of the forward pass
    if (pass.profiler) {
        pass.profiler->setPosition([&recorder] { return recorder.eventCount(); });
    }
    const Result<void> ran = carryTo(pass, graph, launches);
    if (pass.profiler) {
        pass.profiler->setPosition({});
    }
    if (!ran) {
        base::Leftovers::leave(std::move(recorder));
        return ran;
    }
    pass.recorded = std::make_shared<trace::Run>(std::move(recorder).take());
    pass.result.ledger = pass.recorded->ledger;
    std::ranges::copy_if(pass.recorded->events, std::back_inserter(pass.snapshots),
                         [](const event::Event& event) { return event.kind == event::EventKind::Snapshot; });
    return {};
}

Result<void> PromiseWay::carryTo(Pass& pass, const lrp::TraversalGraph& graph, event::Sink& sink)
{
    const auto held = std::make_shared<lrp::TensorArithmetic>(pass.forward->saved, *pass.prepared->rules, graph, sink,
                                                              true, m_last != nullptr ? &m_last->memory : nullptr);
    lrp::TensorArithmetic& arithmetic = *held;
    std::vector<base::HandleId> starts;
    for (const tensor::Tensor& start : pass.starts) {
        starts.push_back(arithmetic.adopt(start));
    }
    lrp::Traversal traversal(graph, arithmetic, sink, starts,
                             {outputsOf(pass.checkpoints, pass.result.model->graph()), pass.request.stopAtCheckpoints,
                              pass.request.followsDocument});
    if (auto walked = walk(pass, traversal, graph.postOrder().size()); !walked) {
        base::Leftovers::add(held); // its tensors: most of what a stopped pass leaves
        return walked;
    }
    if (pass.request.record) {
        m_origins = arithmetic.origins();
    }
    pass.result.counts = traversal.counts();
    pass.result.stoppedEarly = traversal.stoppedEarly();
    if (m_last != nullptr) {
        pass.result.rulesApplied = m_last->memory.applied();
        pass.result.rulesReused = m_last->memory.reused();
    }
    keepAll(graph, traversal, arithmetic, pass.result);
    return {};
}

} // namespace retro::engine
