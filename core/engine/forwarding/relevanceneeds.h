// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/forwarding/forwardneeds.h"
#include "core/lrp/composite.h"
#include "core/lrp/traversalgraph.h"

namespace retro::engine
{

/// What the rules of a relevance pass read of the forward pass, each as Rule::reads() says it for its node. Of a pass
/// by the composite `gradient` these are the values of GradientNeeds.
class RelevanceNeeds final : public ForwardNeeds
{
public:
    /// `rules` by node; `graph` is that of the pass, of `model`.
    RelevanceNeeds(std::shared_ptr<const execute::BoundModel> model, const lrp::RuleAssignment& rules,
                   const lrp::TraversalGraph& graph, std::vector<base::ValueId> targets);
};

} // namespace retro::engine
