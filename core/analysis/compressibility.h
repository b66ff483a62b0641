// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/frontier.h"

namespace retro::analysis
{

/// One criterion of height-compressibility: what was measured, what it may be at most, whether it holds.
struct Criterion
{
    std::string name;
    double measured = 0;
    double limit = 0;
    bool holds = false;
};

/// Whether a graph is height-compressible (docs/planning.md), for one order: the widest frontier is at
/// most 0.35 of all bytes, 95 % of the frontiers are at most 1.05 of the widest (always true, shown for completeness),
/// and no value has more than 16 readers. Small graphs fail by their size alone.
struct Compressibility
{
    std::uint64_t width = 0; ///< peak of the live bytes
    double ratio = 0;        ///< width / bytes of all values
    double percentile95 = 0;
    double average = 0;
    std::size_t depth = 0;       ///< longest path, in operators
    std::size_t mostReaders = 0; ///< fan-out
    bool isCompressible = false;
    std::vector<Criterion> criteria;
};

/// O(operators + operands) beside a sort of the profile.
[[nodiscard]] Compressibility compressibility(const OpGraph& graph, const FrontierProfile& profile);

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
