// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/core/lrp/specgraph.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace retro::lrptest
{

/// What one operation of a random graph is drawn from: the same number gives the same operation, as far as the values
/// before it allow. Lists of them can be shortened and still give a graph.
using OperationCode = std::uint64_t;

/// A graph over values of the shapes [2, 2], [1, 2] and [2], one operation per code: shared operands, x + x, dense
/// skips, unbind, split, stack and concatenation, broadcasts, slices backwards, gathers, padding, masks, embeddings,
/// constants, negation, sums, softmax, checkpoints, and up to three roots. Same codes, same graph.
[[nodiscard]] SpecGraph graphOf(std::span<const OperationCode> codes);

/// A random graph of so many operations, without the nodes that join loose ends into one result. Same seed, same graph.
[[nodiscard]] SpecGraph randomGraph(std::uint64_t seed, std::size_t operations);

/// What is wrong with a graph, by some check; empty when all is well. Gets a seed for what the check draws.
using GraphCheck = std::function<std::string(const SpecGraph&, std::uint64_t)>;
/// Checks `count` random graphs: every 16th has up to `most` operations, the others up to 60. Returns the first fault
/// with the smallest graph that was found to show it, as text; empty when all is well.
[[nodiscard]] std::string firstFailure(std::uint64_t seed, std::size_t count, std::size_t most,
                                       const GraphCheck& check);

/// The graph as text, one node per line.
[[nodiscard]] std::string toText(const SpecGraph& spec);

} // namespace retro::lrptest
