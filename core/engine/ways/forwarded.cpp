// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ways/forwarded.h"

#include "core/engine/forwarding/forwardedpass.h"
#include "core/engine/forwarding/forwardingsink.h"

namespace retro::engine
{

using base::Result;

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

} // namespace retro::engine
