// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/core/lrp/specgraph.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace retro::lrptest
{

/// A random graph over 2 × 2 and 2-element values: shared operands, x + x, dense skips, unbind and stack, constants,
/// negation, sums, softmax, checkpoints. Same seed, same graph. `operations` counts without the nodes that join loose
/// ends into one result.
[[nodiscard]] SpecGraph randomGraph(std::uint64_t seed, std::size_t operations);

/// The graph with operation `node` turned into a leaf; nothing when that is no smaller graph of the same kind.
[[nodiscard]] std::optional<SpecGraph> withLeafAt(const SpecGraph& spec, std::size_t node);
/// The graph in which readers of operation `node` read its first operand; nothing when the ranks differ.
[[nodiscard]] std::optional<SpecGraph> withoutNode(const SpecGraph& spec, std::size_t node);
/// A small graph that still fails, from one that does.
[[nodiscard]] SpecGraph smallest(SpecGraph failing, const std::function<bool(const SpecGraph&)>& fails);

/// What is wrong with a graph, by some check; empty when all is well. Gets the seed of the graph.
using GraphCheck = std::function<std::string(const SpecGraph&, std::uint64_t)>;
/// Checks `count` random graphs: every 16th has up to `most` operations, the others up to 60. Returns the first fault
/// with a small graph that shows it, as text; empty when all is well.
[[nodiscard]] std::string firstFailure(std::uint64_t firstSeed, std::size_t count, std::size_t most,
                                       const GraphCheck& check);

/// The graph as text, one node per line.
[[nodiscard]] std::string toText(const SpecGraph& spec);

} // namespace retro::lrptest
