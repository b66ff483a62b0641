// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/facts.h"

#include <optional>
#include <utility>
#include <vector>

namespace retro::diagnosis
{

/// What a quantiser made of a computed value.
struct QuantisedValue
{
    std::vector<double> levels; ///< of each element, row-major; of a quantiser without a scale of its own: its floats
    std::vector<double> exact;  ///< the same before it was rounded, within the ends of the type; empty: not known
    double least = 0;           ///< level of the type
    double most = 0;
    std::size_t cut = 0;      ///< elements that lie beyond an end by more than a level: those at it are in their place
    bool countsLeast = false; ///< the lower end means that something was cut off, as of signed types
    std::vector<double> scales; ///< one, or one per index along an axis; empty: it follows from the value
};

/// Least and largest level of an integer type that values are quantised to; nothing for others.
[[nodiscard]] std::optional<std::pair<double, double>> levelsOf(tensor::DType type);

/// Of QuantizeLinear, DynamicQuantizeLinear and what a rewrite makes of them; nothing for other nodes, for constants,
/// for types of floats and for scales per block.
[[nodiscard]] std::optional<QuantisedValue> quantisedValueOf(const Facts& facts, NodeId node);

} // namespace retro::diagnosis
