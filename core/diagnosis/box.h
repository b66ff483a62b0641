// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace retro::diagnosis
{

/// Bounds of a z-box, one for all channels or one each.
struct Box
{
    std::vector<double> low;
    std::vector<double> high;

    /// The bounds of a channel.
    [[nodiscard]] double lowOf(std::size_t channel) const { return low[low.size() == 1 ? 0 : channel]; }
    [[nodiscard]] double highOf(std::size_t channel) const { return high[high.size() == 1 ? 0 : channel]; }
    [[nodiscard]] double least() const;
    [[nodiscard]] double largest() const;
};

/// Of the words of a rule as a run has them ("z-box 0 to 255, epsilon 1e-09"); nothing for other rules.
[[nodiscard]] std::optional<Box> boxOf(const std::string& rule);

/// A rule in few words: "gamma 0.05", "z-plus", "z-box 0 … 255".
[[nodiscard]] std::string shortRule(const std::string& rule);

} // namespace retro::diagnosis
