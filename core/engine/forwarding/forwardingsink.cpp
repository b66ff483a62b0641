// SPDX-License-Identifier: Apache-2.0
#include "core/engine/forwarding/forwardingsink.h"

#include "core/event/planevent.h"

#include <algorithm>

namespace retro::engine
{

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

} // namespace retro::engine
