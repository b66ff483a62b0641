// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/criticalsubgraph.h"
#include "core/execute/boundmodel.h"

#include <span>
#include <string>
#include <vector>

namespace retro::engine
{

/// An operator that a gradient does not visit, and why.
struct LeftOutNode
{
    std::string node;
    std::string op;
    analysis::LeftOut reason = analysis::LeftOut::NoPath;
};

/// What a gradient has to visit.
struct CriticalNodes
{
    std::size_t critical = 0; ///< operators in the critical subgraph
    std::vector<LeftOutNode> leftOut;
};

/// The critical subgraph of a bound model between `target` and its floating inputs, or those of them that `from` names:
/// an operand passes a gradient when it is floating and the operator is differentiable.
[[nodiscard]] CriticalNodes criticalNodes(const execute::BoundModel& model, base::ValueId target,
                                          std::span<const base::ValueId> from = {});

} // namespace retro::engine
