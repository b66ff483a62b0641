// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/boundmodel.h"
#include "core/tape/gradientgraph/applicable.h"

#include <string>
#include <vector>

namespace retro::engine
{

/// The reverse rules that a node can have.
struct NodeRules
{
    base::NodeId node;
    std::string type;           ///< what the operator is ("element-wise"): the rule of that type runs on the tape
    bool passesGradient = true; ///< false: none of its operands carries one, or the operator stops it
    tape::Applicable onTape;    ///< the rule by type
    tape::Applicable asGraph;   ///< the rule by the operator's name, as nodes of the standard
    bool isInSteps = false;     ///< that of its steps: the operator has none, but is written out
};

/// Per node of a bound model, in order.
[[nodiscard]] std::vector<NodeRules> gradientRules(const execute::BoundModel& model);

} // namespace retro::engine
