// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/boundmodel.h"

#include <memory>
#include <span>

namespace retro::lrp
{

/// The operator of `node`, which stands in the graph of `model` as `id` (or is that node with fewer operands), bound as
/// if its constant operands in the slots `open` were computed: then it knows its gradient by them. Errors (Input): the
/// operator has no such form.
[[nodiscard]] base::Result<std::unique_ptr<ops::BoundOperator>> openedOperator(const execute::BoundModel& model,
                                                                               execute::NodeId id,
                                                                               const graph::Node& node,
                                                                               std::span<const std::size_t> open);

} // namespace retro::lrp
