// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/gradient/critical.h"
#include "core/engine/verify/verify.h"
#include "views/common/run/gradientreach.h"
#include "views/common/run/verification.h"
#include "views/verify/rewritediff.h"

namespace retro::app
{

/// What the window shows of a verification, with names turned into the nodes (and inputs) of `graph`; what `graph` does
/// not have stays without a node.
[[nodiscard]] views::Verification verificationFacts(const engine::VerifyResult& result, const graph::Graph& graph);

/// What a gradient from `from` (invalid: every floating input) to `to` has to visit, about the nodes of the model's
/// graph.
[[nodiscard]] views::GradientReach reachFacts(const execute::BoundModel& model, base::ValueId from, base::ValueId to);

/// What the rewrites of a model changed; nodes that stand there now are those of `shown`, the graph on screen.
[[nodiscard]] views::RewriteDiff rewriteDiff(const rewrite::Rewritten& rewritten, const graph::Graph& shown);

} // namespace retro::app
