// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/rewrite/pattern.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace retro::rewrite
{

/// Order of axes, as Transpose has it.
using AxisOrder = std::vector<std::int64_t>;

/// True when nothing moves.
[[nodiscard]] bool isInOrder(const AxisOrder& order);

/// An Einsum of two operands that multiplies queries by keys, the results being batch… × queries × keys.
struct EinsumScores
{
    std::size_t querySlot = 0;
    AxisOrder queries; ///< axes of that operand as batch… × queries × width
    AxisOrder keys;    ///< axes of the other one as batch… × keys × width
    [[nodiscard]] bool movesAxes() const { return !isInOrder(queries) || !isInOrder(keys); }
};
/// None when it is no such product.
[[nodiscard]] std::optional<EinsumScores> einsumScores(const graph::Node& einsum);

/// An Einsum of two operands that mixes values by probabilities of batch… × queries × keys (operand `slot`).
struct EinsumMix
{
    std::size_t slot = 0;
    AxisOrder values; ///< axes of the other operand as batch… × keys × width
    AxisOrder result; ///< axes of batch… × queries × width as the Einsum's result has them
};
/// None when it is no such mix.
[[nodiscard]] std::optional<EinsumMix> einsumMix(const graph::Node& einsum, std::size_t slot);

/// Moves the axes of both operands outside: the Einsum reads what new Transposes make, which are named in `added`.
/// Returns queries and keys of batch… × tokens × width. All values keep their names.
[[nodiscard]] std::vector<ValueId> moveAxesOutside(Draft& draft, NodeId einsum, const EinsumScores& scores,
                                                   std::vector<std::string>& added);
/// The same for values and for the result, which a new Transpose makes of the Einsum's. Returns the values.
[[nodiscard]] ValueId moveAxesOutside(Draft& draft, NodeId einsum, const EinsumMix& mix,
                                      std::vector<std::string>& added);

} // namespace retro::rewrite
