// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/rewrite/draft.h"

#include <optional>

namespace retro::rewrite
{

/// What the levels of a quantised value stand for: (level − zero point)·scale.
struct Grid
{
    ValueId scale;
    ValueId zero; ///< may be invalid: 0
    /// Which axis has a scale each, and blocks, as QuantizeLinear and DequantizeLinear name them.
    std::int64_t axis = 1;
    std::int64_t block = 0;
};

/// The grid of a QuantizeLinear or DequantizeLinear node.
[[nodiscard]] Grid gridOf(const graph::Node& node);
/// True when both stand for the same numbers: the same values, or constants with equal bits.
[[nodiscard]] bool isSame(const Draft& draft, const Grid& a, const Grid& b);
/// True for a grid with one scale for all elements.
[[nodiscard]] bool isOfTensor(const Draft& draft, const Grid& grid);
/// The numbers that a constant of levels stands for, in float64; invalid when scale or zero point are computed, or fit
/// no axis, or the result would be larger than what folding makes.
[[nodiscard]] tensor::Tensor dequantised(const Draft& draft, ValueId levels, const Grid& grid);
/// A constant in float64; invalid when it is computed or not there.
[[nodiscard]] tensor::Tensor wideConstant(const Draft& draft, ValueId id);
/// The operand of a node; invalid where it has none.
[[nodiscard]] ValueId operandOf(const graph::Node& node, std::size_t slot);

} // namespace retro::rewrite
