// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/plan/planwish.h"
#include "core/tape/gradientgraph/gradientgraph.h"

#include <functional>
#include <memory>
#include <set>
#include <span>

namespace retro::engine
{

/// A gradient graph whose nodes stand in the order of a plan.
struct PlannedGradientGraph
{
    tape::GradientGraph gradient;
    std::shared_ptr<const runtime::JointProgram> program; ///< what the plan is of
    ChosenPlan chosen;
};

/// What a gradient graph is to keep to.
struct GraphPlan
{
    ChosenPlan chosen;
    std::set<base::ValueId> packed = {}; ///< values of which rules get signs and winners alone
};

/// Makes or reads the plan of a joint graph.
using ChooseForGraph = std::function<base::Result<GraphPlan>(const runtime::JointProgram&)>;

/// Metadata key of a node: the step of the plan that it belongs to, as a decimal number; "-1" for what follows from
/// constants alone and runs once, before.
inline constexpr const char* kStepKey = "retrograde.step";

/// As tape::gradientGraph() with the forward graph, by a plan: the nodes of a step together, in its order. A
/// computation that repeats is written again, its results named NAME~2, NAME~3 and so on, and each reader reads the
/// copy that is in memory at its step. Every operand that the written rules read is read by the operators of the plan's
/// joint graph, so that the plan says what is live in the file. The numbers are those of the graph without a plan, bit
/// for bit. Of packed values, signs are bool and winners int64, made in the step of the value. `from`: the inputs that
/// get a gradient, every one for none. Errors: as tape::gradientGraph(), those of
/// `choose`; Input: the plan fails (with the simulator's words); Usage: a plan that moves values to a tier, which a
/// graph cannot say.
[[nodiscard]] base::Result<PlannedGradientGraph>
plannedGradientGraph(const std::shared_ptr<const execute::BoundModel>& model, base::ValueId target,
                     std::span<const base::ValueId> from, const ChooseForGraph& choose);

/// A joint graph of plannedGradientGraph() in two: what runs before the first gradient, which gives what the rest reads
/// as further outputs, and the rest, which takes it.
struct SplitGradientGraph
{
    std::shared_ptr<const graph::Graph> forward;
    tape::GradientGraph gradient;
};

/// Splits it. Errors (Engine): a graph without steps.
[[nodiscard]] base::Result<SplitGradientGraph> splitAtTurn(const PlannedGradientGraph& made);

} // namespace retro::engine
