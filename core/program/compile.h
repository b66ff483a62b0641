// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/hash128.h"
#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/program/firstpass.h"
#include "core/program/program.h"

#include <cstdint>
#include <span>

namespace retro::program
{

/// Flattens a first pass into a program. ARGS: promises by increasing post-order index of their start; for each
/// argument the value where the search ended, carried up through the nodes that the search crossed; for a promise that
/// answered others, its forward value. A value that several promises ask for is made once. REL: nodes by decreasing
/// post-order index; parts summed in in-edge order, then the rule. Cost O(nodes + edges + arguments), times log for
/// the order of the promises. Errors (Input): the events do not make up a whole pass over this graph from
/// these explained values. A pass that stopped at its checkpoints has a program that stops there.
[[nodiscard]] base::Result<Program> compile(const FirstPass& pass, const graph::Graph& graph,
                                            std::span<const ValueId> targets, base::Hash128 key);

} // namespace retro::program
