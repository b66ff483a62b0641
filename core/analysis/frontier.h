// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/opgraph.h"

namespace retro::analysis
{

/// Death of a value that stays to the end.
inline constexpr std::uint32_t kForever = std::numeric_limits<std::uint32_t>::max();

/// What is in memory while a graph runs once in some order. All arrays are per position of the order; all numbers are
/// bytes. Graph inputs count from the position where they stand.
struct FrontierProfile
{
    std::vector<OpId> order;
    /// While the operator runs: what was live before, its outputs, its workspace. What an allocator sees.
    std::vector<std::uint64_t> transient;
    /// After it ran and what nobody reads any more was dropped.
    std::vector<std::uint64_t> live;
    /// The same as older tools count it: values without a reader stay, outputs go with their last reader.
    std::vector<std::uint64_t> legacy;
    /// Per value: position of its last reader; its own when nobody reads it; kForever for outputs of the graph.
    std::vector<std::uint32_t> death;
    /// Per value: position of its producer; kForever when it has none.
    std::vector<std::uint32_t> birth;
};

/// Key figures of a profile.
struct FrontierSummary
{
    std::uint64_t peak = 0; ///< of `transient`
    std::size_t peakAt = 0; ///< first position that reaches it
    std::uint64_t peakLive = 0;
    std::size_t peakLiveAt = 0;
    double averageLive = 0;
    double medianLive = 0;
    double percentile95 = 0; ///< of `live`, linear between ranks
    double percentile99 = 0;
    std::uint64_t tail = 0; ///< live at the end
};

/// The profile of an order, which must be topological and complete. O(operators + operands).
[[nodiscard]] FrontierProfile frontierProfile(const OpGraph& graph, std::span<const OpId> order);
/// Key figures of a profile.
[[nodiscard]] FrontierSummary summarise(const FrontierProfile& profile);
/// Values that go at each position, by position; a value that nobody reads goes where it is made.
[[nodiscard]] std::vector<std::vector<OpValueId>> leaving(const FrontierProfile& profile);
/// Quantile `q` of 0 … 1 with linear interpolation at (n − 1)·q; 0 for no numbers.
[[nodiscard]] double quantile(std::vector<std::uint64_t> numbers, double q);
/// True when `order` holds every operator once, readers behind producers.
[[nodiscard]] bool isTopological(const OpGraph& graph, std::span<const OpId> order);

} // namespace retro::analysis
