// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/forwarding/forwarding.h"
#include "core/engine/gradient/plannedgraph.h"

namespace retro::engine
{

/// Chosen forms of forward values as a plan of a gradient's joint graph: the forward operators once, then the
/// gradients, before each of them what it reads and what is not stored, from what is. Nothing that is computed again is
/// kept for another gradient, but for the segment of a loop, which is computed as a whole. Compressed values are
/// packed. Values that no form was chosen for are stored unless `rebuildsOthers`.
[[nodiscard]] GraphPlan planOfForms(const runtime::JointProgram& program, const ForwardingPlan& forms,
                                    bool rebuildsOthers);

} // namespace retro::engine
