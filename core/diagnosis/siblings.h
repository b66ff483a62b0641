// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/modelfacts.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace retro::diagnosis
{

/// The parts of a model that repeat are compared with each other: nodes of one operator whose names differ in nothing
/// but the numbers of their blocks ("/layers.#/attn/Softmax") stand at one place of several blocks. No number of a
/// check says what is usual for them, the others do.

/// A name without its numbers, and without what joined the last of them to it ("Softmax_3" stands beside "Softmax").
[[nodiscard]] std::string stackName(const std::string& name);

/// The blocks of two nodes of one stack: their names up to the first part (between '/' and '.') in which they differ,
/// with it: "/layers.1" and "/layers.2" of "/layers.1/attn/q/MatMul" and "/layers.2/attn/q/MatMul".
[[nodiscard]] std::pair<std::string, std::string> blocksOf(const std::string& first, const std::string& second);

/// By stack: two and more nodes of the graph at one place of several blocks, in the order of the graph. Names that only
/// count nodes ("Add_6") say nothing of blocks.
[[nodiscard]] std::vector<std::vector<NodeId>> siblingsOf(const graph::Graph& graph);

/// Which of several texts differs from all others, which are equal; nothing where there is no such one, or where fewer
/// than `least` (two and more) others say what is usual.
[[nodiscard]] std::optional<std::size_t> oddOneOf(const std::vector<std::string>& texts, std::size_t least);

} // namespace retro::diagnosis
