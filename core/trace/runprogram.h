// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/program/program.h"
#include "core/trace/run.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace retro::trace
{

/// Key of the programs of runs over `graph` (core/program/key.h) with these shapes of its values, rules of its nodes,
/// saving policy ("autograd", "all"), explained values, and checkpoints in any order.
[[nodiscard]] base::Hash128 courseKey(const graph::Graph& graph, std::span<const tensor::Shape> shapes,
                                      std::span<const NodeRule> rules, std::string_view save,
                                      std::span<const ValueId> targets, std::vector<ValueId> checkpoints = {},
                                      bool stopsAtCheckpoints = false);

/// The program of a recorded run, derived from its events. Errors (Input): the run did not end, is damaged, was
/// recorded before its events told through which operand each part came, or starts at a node with several outputs
/// beside the first target.
[[nodiscard]] base::Result<program::Program> programOf(const Run& run);

} // namespace retro::trace
