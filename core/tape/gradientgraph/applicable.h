// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/boundmodel.h"

#include <cstdint>
#include <string>

namespace retro::tape
{

/// Whether a reverse rule can be applied to a node.
struct Applicable
{
    bool isApplicable = false;
    std::string reason; ///< why not, and what to do; empty when it can
};

/// Gradient graphs are written in this operator set or a later one: the rules write Where, Expand and sums that
/// broadcast, which older ones have not.
inline constexpr std::int64_t kLeastGradientOpset = 9;

/// True for a model of such an operator set, or of none.
[[nodiscard]] bool isGradientOpset(const execute::BoundModel& model);

/// Whether the reverse rule of a node can be written as nodes of the standard (gradientGraph()), found by the
/// operator's name. A node that passes no gradient needs no rule: it is applicable.
[[nodiscard]] Applicable canBeWritten(const execute::BoundModel& model, graph::NodeId node);

} // namespace retro::tape
