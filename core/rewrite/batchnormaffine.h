// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/rewrite/draft.h"

#include <optional>
#include <vector>

namespace retro::rewrite
{

/// What a BatchNormalization, or a Mul, Div, Add or Sub by constants, does to channel c: y = factor[c]·x + shift[c].
struct Affine
{
    std::vector<double> factor;
    std::vector<double> mean;
    std::vector<double> beta;
    /// shift[c] of a channel to which a layer before has already added `bias`.
    [[nodiscard]] double shiftOf(double bias, std::size_t c) const { return (bias - mean[c]) * factor[c] + beta[c]; }
    [[nodiscard]] std::size_t channels() const { return factor.size(); }
    /// True where every shift is 0.
    [[nodiscard]] bool isShiftFree() const;
    /// True where every factor is 1.
    [[nodiscard]] bool isFactorFree() const;
    /// False where a factor or a shift is infinite or no number.
    [[nodiscard]] bool isFinite() const;
};

/// What a node of op BatchNormalization does; nothing when it trains, makes more than its result, or has parameters
/// that are not constant or not finite.
[[nodiscard]] std::optional<Affine> affineOf(const Draft& draft, const graph::Node& node);

/// The elements of a floating constant as double, row-major.
[[nodiscard]] tensor::Tensor asDouble(const graph::Value& value);
/// True when operand `slot` is there.
[[nodiscard]] bool hasOperand(const graph::Node& node, std::size_t slot);
/// True when operand `slot` is a constant of a floating type.
[[nodiscard]] bool isFloatingConstant(const Draft& draft, const graph::Node& node, std::size_t slot);
} // namespace retro::rewrite
