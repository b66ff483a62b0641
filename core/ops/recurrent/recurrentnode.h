// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/ops/recurrent/recurrentform.h"

namespace retro::ops
{

/// Per direction of a recurrent node whether it goes backwards in time. Errors (Input, without a place): an unknown
/// direction.
[[nodiscard]] base::Result<std::vector<bool>> recurrentDirections(const graph::Node& node);

/// f, g and h of each direction of a recurrent node, as far as its kind has them: the activations that it names with
/// the parameters that its lists give in order, or the usual ones. Errors (Input, without a place): an unknown name.
[[nodiscard]] base::Result<std::vector<std::array<GateActivation, 3>>>
recurrentActivations(const graph::Node& node, RecurrentKind kind, std::size_t directions);

} // namespace retro::ops
