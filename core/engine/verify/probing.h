// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tape/model/modeltape.h"

#include <cstdint>
#include <random>

/// What the comparisons of gradients with differences are made of.
namespace retro::engine::probing
{

/// One-sided differences that disagree by more than this share of their size see a kink.
inline constexpr double kKink = 1e-3;

/// How far a difference over ±`step` of a sum whose terms add up to `size`, without signs, may be off because they are
/// rounded: each value a few times on its way.
[[nodiscard]] double roundingOf(double size, double step);

/// Valid and of a floating type.
[[nodiscard]] bool isFloating(const tensor::Tensor& tensor);
/// Mean of the absolute values; 0 of no element.
[[nodiscard]] double magnitude(const tensor::Tensor& tensor);
/// Zeros but for the elements from `begin` to before `end`, in row-major order.
[[nodiscard]] tensor::Tensor onlyBetween(const tensor::Tensor& tensor, std::int64_t begin, std::int64_t end);
/// Zeros but for a 1 at one element.
[[nodiscard]] tensor::Tensor oneAt(const tensor::Tensor& like, std::int64_t element);
/// x + step · direction; x where there is no direction.
[[nodiscard]] tensor::Tensor moved(const tensor::Tensor& x, const tensor::Tensor& direction, double step);

/// Directions drawn by chance.
class Directions
{
public:
    explicit Directions(std::uint64_t seed) : m_engine(seed) {}

    /// Numbers in [−1, 1] of the shape and strides of `like`; invalid for what is not floating.
    [[nodiscard]] tensor::Tensor like(const tensor::Tensor& like);

private:
    std::mt19937_64 m_engine;
};

/// Sum of the products of all tensors that are valid in both.
[[nodiscard]] double dotAll(const tape::Bundle& a, const tape::Bundle& b);
/// As dotAll(), of absolute values.
[[nodiscard]] double dotAbsolute(const tape::Bundle& a, const tape::Bundle& b);
/// (a − b) · factor of what is floating.
[[nodiscard]] tape::Bundle scaledDifference(const tape::Bundle& a, const tape::Bundle& b, double factor);

/// True for a node whose reverse rule is a surrogate by design: its derivative is zero or does not exist.
[[nodiscard]] bool isSurrogate(const tape::ModelTape& made, tape::Id id);

} // namespace retro::engine::probing
