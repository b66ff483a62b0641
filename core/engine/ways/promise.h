// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/launchsink.h"
#include "core/engine/ways/way.h"
#include "core/event/sink.h"
#include "core/lrp/arithmetic/tensorarithmetic.h"

#include <vector>

namespace retro::engine
{

/// The traversal with promises. Of a request that keeps its pass, what the pass before it computed is used again.
class PromiseWay : public Way
{
public:
    base::Result<execute::ForwardResult> forward(Pass& pass) override;
    base::Result<void> run(Pass& pass) override;

protected:
    /// Carries relevance through the graph and takes what the events say; records them where that is asked.
    base::Result<void> carry(Pass& pass, const lrp::TraversalGraph& graph);
    /// Carries relevance through the graph; events go to `sink`.
    virtual base::Result<void> carryTo(Pass& pass, const lrp::TraversalGraph& graph, event::Sink& sink);

    std::vector<lrp::HandleOrigin> m_origins; ///< of a recorded pass, by HandleId
    LaunchBook m_launches;                    ///< of a recorded pass

private:
    base::Result<void> record(Pass& pass, const lrp::TraversalGraph& graph);

    LastPass* m_last = nullptr; ///< what this pass reuses and adds to; null when nothing is kept
};

/// True for a request whose pass the next one may use (ExplainRequest::keepsPass), where there is a place for it.
[[nodiscard]] bool keepsPass(const Pass& pass);

} // namespace retro::engine
