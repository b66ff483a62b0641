// SPDX-License-Identifier: Apache-2.0
#include "core/engine/forwarding/forwardedpass.h"
#include "core/engine/forwarding/forwardedstore.h"
#include "core/engine/ways/promise.h"
#include "core/event/planevent.h"
#include "core/event/sink.h"

#include <algorithm>
#include <memory>

namespace retro::engine
{

using base::Result;

namespace
{

/// Hands a pass on, with an event for every operator that is computed again, in the visit that asks for its result.
class ForwardingSink final : public event::Sink
{
public:
    /// Borrowed for the life of the sink. `forgets`: what no rule will read any more is let go.
    ForwardingSink(event::Sink& to, ForwardedStore& store, bool forgets);
    ~ForwardingSink() override;
    ForwardingSink(const ForwardingSink&) = delete;
    ForwardingSink& operator=(const ForwardingSink&) = delete;

    void onEvent(const event::Event& event) override;
    void onLedger(const event::LedgerEntry& entry) override { m_to.onLedger(entry); }
    void onTensor(base::HandleId handle, const tensor::Tensor& tensor) override { m_to.onTensor(handle, tensor); }

private:
    void tellRebuild(base::NodeId node);
    void forgetResults(base::NodeId node);

    event::Sink& m_to;
    ForwardedStore& m_store;
    bool m_forgets;
    std::uint32_t m_visit = 0; ///< of the last event
};

using base::NodeId;
using base::ValueId;
using event::EventKind;

ForwardingSink::ForwardingSink(event::Sink& to, ForwardedStore& store, bool forgets)
    : m_to(to), m_store(store), m_forgets(forgets)
{
    m_store.listen([this](NodeId node) { tellRebuild(node); });
}

ForwardingSink::~ForwardingSink() { m_store.listen({}); }

void ForwardingSink::onEvent(const event::Event& event)
{
    m_visit = event.visit;
    m_to.onEvent(event);
    if (m_forgets && event.kind == EventKind::Rule) {
        forgetResults(NodeId(event.node));
    }
}

/// The rule that asked for it holds it, or the segment of its loop; it is let go after use.
void ForwardingSink::tellRebuild(NodeId node)
{
    const auto outputs = m_store.needs().model().graph().outputsOf(node);
    const auto made = std::ranges::find_if(outputs, &ValueId::isValid);
    if (made == outputs.end()) {
        return;
    }
    event::Event again = event::valueEvent(EventKind::Recompute, {node.value, made->value, false},
                                           static_cast<std::uint32_t>(made - outputs.begin()), base::HandleId());
    again.visit = m_visit;
    again.extra = 1;
    m_to.onEvent(again);
}

/// A node's rule runs when all that read its results have had theirs.
void ForwardingSink::forgetResults(NodeId node)
{
    const graph::Graph& graph = m_store.needs().model().graph();
    if (graph.isInput(node)) {
        return;
    }
    for (const ValueId output : graph.outputsOf(node)) {
        if (output.isValid()) {
            m_store.forget(output);
        }
    }
}

/// The traversal over forward values in chosen forms: every rule gets what it reads, so that no promise is raised.
class ForwardedWay final : public PromiseWay
{
public:
    base::Result<execute::ForwardResult> forward(Pass& pass) override;
    base::Result<void> run(Pass& pass) override;
    [[nodiscard]] std::string_view saving(const Pass& pass) const override;
    [[nodiscard]] const execute::SavedValues* saved(const Pass&) const override { return nullptr; }

protected:
    base::Result<void> carryTo(Pass& pass, const lrp::TraversalGraph& graph, event::Sink& sink) override;

private:
    std::shared_ptr<ForwardedStore> m_store;
};

Result<execute::ForwardResult> ForwardedWay::forward(Pass& pass)
{
    const ForwardNeed need = needs(pass);
    const ops::LaunchScope launches(pass.request.record ? &m_launches : nullptr);
    RETRO_TRY(const lrp::TraversalGraph graph, pass.graph());
    RETRO_TRY(m_store,
              forwardedStore(pass.model, *pass.prepared, graph, *pass.request.forwarding, pass.targets, need.alsoKept));
    return forwardInForms(m_store, pass.result.model, pass.inputs, pass.stop, pass.progressOf("forward"));
}

Result<void> ForwardedWay::run(Pass& pass)
{
    RETRO_CHECK(PromiseWay::run(pass));
    pass.result.forwarding = forwardingDone(*m_store);
    return {};
}

std::string_view ForwardedWay::saving(const Pass&) const { return kForwardedSaving; }

Result<void> ForwardedWay::carryTo(Pass& pass, const lrp::TraversalGraph& graph, event::Sink& sink)
{
    ForwardingSink forwarding(sink, *m_store, !pass.request.keepValues);
    return PromiseWay::carryTo(pass, graph, forwarding);
}

} // namespace

std::unique_ptr<Way> forwardedWay() { return std::make_unique<ForwardedWay>(); }

} // namespace retro::engine
