// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/frontier.h"

namespace retro::analysis
{

/// One criterion of height-compressibility: what was measured, what it may be at most (at least), whether it holds.
struct Criterion
{
    std::string name;
    double measured = 0;
    double limit = 0;
    bool holds = false;
    bool isLeast = false; ///< the limit is the least, not the most
};

/// Whether a graph is height-compressible (docs/planning.md), for one order.
struct Compressibility
{
    std::uint64_t width = 0; ///< peak of the live bytes
    double ratio = 0;        ///< width / bytes of all values
    double percentile95 = 0;
    double average = 0;
    std::size_t depth = 0;       ///< longest path, in operators
    std::size_t mostReaders = 0; ///< fan-out
    double depthRatio = 0;       ///< depth / √operators
    double longLivedShare = 0;   ///< of the byte-steps: held by the 5 % of the values that live longest
    bool isTooSmall = false;     ///< fewer than eight operators: nothing is said
    bool isCompressible = false;
    std::vector<Criterion> criteria;
};

/// The verdict: the widest frontier is at most 0.35 of all bytes, the 5 % of the values that live longest hold at most
/// 0.35 of the byte-steps, no value has more than 16 readers, and the longest path has at least √operators operators.
/// O(operators + operands) beside sorts.
[[nodiscard]] Compressibility compressibility(const OpGraph& graph, const FrontierProfile& profile);
/// The verdict of older tools: the same limits on width and readers, and that 95 % of the frontiers are at most 1.05 of
/// the widest, which always holds. Small graphs fail by their size alone.
[[nodiscard]] Compressibility legacyCompressibility(const OpGraph& graph, const FrontierProfile& profile);

/// What crosses the boundary behind one position of an order.
struct CutSet
{
    std::size_t position = 0; ///< behind this operator of the order
    std::uint64_t bytes = 0;
    std::size_t values = 0;
};
/// Cut sets behind every position but the last, from a profile.
[[nodiscard]] std::vector<CutSet> cutSets(const OpGraph& graph, const FrontierProfile& profile);
/// Longest distance, in positions, between a value's producer and its last reader; with the value.
struct LongestSkip
{
    OpValueId value = kNone;
    std::size_t positions = 0;
};
/// O(values).
[[nodiscard]] LongestSkip longestSkip(const FrontierProfile& profile);

} // namespace retro::analysis
