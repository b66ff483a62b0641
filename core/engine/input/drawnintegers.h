// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"

#include <cstdint>

namespace retro::engine
{

/// The integers that an input may take, both ends included.
struct IntegerRange
{
    std::int64_t low = 0;
    std::int64_t high = 1;
    bool isMask = false; ///< 1 = counts, 0 = does not: rows of zeros alone mean nothing
};

/// What an input of integers may be made of, by what reads it, also behind Cast, Reshape, Unsqueeze and the like and
/// inside graphs of nodes: numbers of a table's rows (Gather, OneHot, embeddings), 0 and 1 where it is compared, chosen
/// by, or called a mask, positions below the last extent `length` where it is called so; of 8 bits without such a
/// reader all that the type holds, else 0 and 1.
[[nodiscard]] IntegerRange integersFor(const graph::Graph& graph, base::ValueId input, std::int64_t length);

} // namespace retro::engine
