// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/hash128.h"
#include "core/graph/graph.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retro::program
{

/// Everything that the course of a first pass follows from.
struct KeyFacts
{
    const graph::Graph& graph;              ///< after rewrites, control flow written out
    std::span<const tensor::Shape> shapes;  ///< of every value, by ValueId
    std::span<const std::string> rules;     ///< by NodeId: rule and structure in words
    std::string_view save;                  ///< what the forward pass keeps
    std::span<const base::ValueId> targets; ///< the explained values; which of their elements does not matter
    std::span<const base::ValueId> checkpoints = {};
    bool stopsAtCheckpoints = false;
};

/// Key of a program: equal for runs whose first passes take the same course. Operators, attributes, adjacency, the data
/// of constants of at most 4,096 bytes (axes, shapes, scales; larger ones are weights, which no course depends on),
/// shapes, rules, what is saved, the explained values, checkpoints. Names do not count, nor do the input's data: they
/// reach a course only through shapes and through control flow written out, which are both in it.
[[nodiscard]] base::Hash128 programKey(const KeyFacts& facts);

} // namespace retro::program
