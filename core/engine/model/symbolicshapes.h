// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace retro::engine
{

/// Element type and shape of a value as text: "float32", "N × 3 × H/2 × W/2". An extent that is no sum of multiples of
/// the symbols is "?".
struct SymbolicShape
{
    tensor::DType dtype = tensor::DType::Float32;
    std::vector<std::string> extents;
};

/// At which sizes free axes are tried: `base`, and more by `step` and its multiples.
struct TriedSizes
{
    std::int64_t base = 0;
    std::int64_t step = 0;
};

/// Strides of 2, 4, … 32 divide them, so that extents behind them are fractions and not roundings.
inline constexpr TriedSizes kUsualSizes{64, 32};
/// For models that end early, such as one with places for 16 words: two free axes need 16 at most.
inline constexpr TriedSizes kShortSizes{8, 2};

/// Shapes of all values, by ValueId, as far as they follow from the inputs' declared shapes. Symbols are those of the
/// inputs; a free axis without a symbol gets the name of its input and its number: "x[0]". Works by binding the graph
/// at several sizes and solving for each extent, which a last binding at other sizes must confirm. Errors (Input): an
/// input without a declared shape; whatever keeps the graph from being bound at those sizes (operators that are not
/// implemented, shapes that depend on data, control flow).
[[nodiscard]] base::Result<std::vector<SymbolicShape>>
inferSymbolicShapes(const std::shared_ptr<const graph::Graph>& graph, const TriedSizes& sizes = kUsualSizes);

} // namespace retro::engine
