// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/facts.h"

#include <cstdint>
#include <string>
#include <vector>

namespace retro::diagnosis
{

/// The row of scores that the explained element of the first sample stands in.
struct TargetScores
{
    std::vector<double> scores; ///< by class
    std::int64_t chosen = -1;   ///< the explained class; −1: the whole value is explained, or nobody knows
    std::size_t classAxis = 0;

    [[nodiscard]] std::int64_t best() const;
    /// 1 for the best class.
    [[nodiscard]] std::size_t rank() const;
};

/// Of the target's value as `forward` has it, another input's perhaps. Empty where there are no classes.
[[nodiscard]] TargetScores scoresOf(const Facts& facts, const Tensor& forward);

/// "2 (ring)", or "2" where the card has no such label.
[[nodiscard]] std::string classText(const Facts& facts, std::int64_t index);

} // namespace retro::diagnosis
