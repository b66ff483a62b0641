// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/boundmodel.h"

#include <cstdint>
#include <memory>
#include <span>

namespace retro::engine
{

/// A graph in which everything that is needed for one row alone is computed for this row alone: from the Gather
/// `choice`, which picks row `row` along its axis, back through layers, norms, sums and gates to the queries of the
/// last attention. Keys and values, and what other nodes read, stay whole; a row is picked in front of each node that
/// needs no more. Forward values of the row, and relevance, have the bits of the whole graph. Null where there is
/// nothing to leave out. `model` is the graph, bound: extents are those of its inputs.
[[nodiscard]] std::shared_ptr<const graph::Graph> withRowAlone(const execute::BoundModel& model, base::NodeId choice,
                                                               std::int64_t row);

/// A graph of withRowAlone(), bound, in which what leads to tokens up to `last` alone, of `count`, is computed for
/// these alone. Attentions whose mask hides what lies behind, of one operator or written out, keep their extents, with
/// 0 there, so that forward values and relevance have the bits of the whole graph. So do new caches of keys and values,
/// which are then no outputs of the graph. `inputs` (per graph input, in the run's precision) decide masks that are
/// computed: the graph is for these alone. Null where there is nothing to leave out.
[[nodiscard]] std::shared_ptr<const graph::Graph> withPrefixAlone(const execute::BoundModel& model,
                                                                  std::span<const tensor::Tensor> inputs,
                                                                  std::int64_t last, std::int64_t count);

} // namespace retro::engine
