// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/forwarding/forwarding.h"
#include "core/engine/gradient/gradient.h"
#include "core/engine/plan/planwish.h"
#include "core/execute/control/decisions.h"
#include "core/tape/gradientgraph/gradientgraph.h"

#include <filesystem>
#include <optional>
#include <vector>

namespace retro::engine
{

/// The gradient graph of the target (the whole value: which element counts is said by its seed) for inputs of these
/// shapes, of the model as its file says it, without rewrites but for operators of many steps, which are written out
/// where shapes are known. Errors as tape::gradientGraph().
[[nodiscard]] base::Result<tape::GradientGraph> gradientGraph(const LoadedModelPointer& model,
                                                              const GradientRequest& request, bool isJoined,
                                                              const std::stop_token& stop = {});

/// A gradient graph as it was written, what was done to the model first, and what passes made of it: `gradient.graph`
/// is `passes.graph`.
struct WrittenGradientGraph
{
    tape::GradientGraph gradient;
    /// The model in steps that have reverse rules: operators written out (`expand-functions`), nodes that other
    /// runtimes have not (`standard-nodes`), If, Loop and Scan as they ran (`write-out`). One per graph that this made.
    std::vector<rewrite::Rewritten> stages;
    rewrite::Rewritten passes;
    std::vector<execute::ControlDecision> decisions; ///< how If, Loop and Scan ran
    std::optional<ChosenPlan> chosen;                ///< what the nodes follow, where that was asked for
    std::filesystem::path forwardFile;               ///< of a plan without the forward graph: where that was written
};

/// How a gradient graph is written.
struct GradientGraphForm
{
    bool isJoined = false;       ///< together with the forward graph
    bool foldsConstants = false; ///< where all floating numbers are float32 or float64
    bool keepsFunctions = false; ///< operators of many steps stay whole, so that a gradient through one is refused
    std::optional<PlanOptions> plan = {};             ///< nodes in the order of a plan
    std::optional<ForwardingOptions> forwarding = {}; ///< the same, of forms of forward values
};

/// The passes behind a gradient graph: the optional rewrites that the model was loaded with, with them `remove-unused`
/// unless it is switched off, and `fold-constants` where the form says so.
[[nodiscard]] rewrite::RewriteOptions passesBehind(const tape::GradientGraph& gradient,
                                                   const rewrite::RewriteOptions& asked, bool foldsConstants);

/// Writes it as ONNX, graph JSON or DOT, as the ending says, behind passesBehind(); the model itself is taken without
/// rewrites but for the stages. With a plan, or forms, as plannedGradientGraph(): joined one file, else the forward
/// graph goes into NAME.forward.ENDING beside it; no pass runs behind it. Errors: also Usage (another ending, a pass
/// that leaves the standard with ONNX, a pass behind a plan), Output.
[[nodiscard]] base::Result<WrittenGradientGraph> writeGradientGraph(const std::filesystem::path& file,
                                                                    const LoadedModelPointer& model,
                                                                    const GradientRequest& request,
                                                                    const GradientGraphForm& form);

} // namespace retro::engine
