// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace retro::analysis
{

/// A node of a tape as memory sees it. Values are numbered as on a tape: leaves first, then nodes.
struct StoredNode
{
    std::vector<std::uint32_t> operands;
    std::vector<std::uint32_t> backwardReads; ///< values that its reverse rule reads; its own number among them or not
    std::int64_t size = 0;                    ///< of its value, in bytes
    double cost = 0;                          ///< of computing it once
};

/// A forward and a backward pass whose forwarded values are stored or rebuilt.
struct StorageProblem
{
    std::vector<std::int64_t> leafSizes; ///< leaves stay resident
    std::vector<StoredNode> nodes;
    std::uint32_t output = 0; ///< where the backward pass starts

    [[nodiscard]] std::size_t leafCount() const { return leafSizes.size(); }
    [[nodiscard]] std::size_t valueCount() const { return leafSizes.size() + nodes.size(); }
    /// Of values by number.
    [[nodiscard]] bool isLeaf(std::uint32_t value) const { return value < leafSizes.size(); }
    /// The node of a value that is no leaf.
    [[nodiscard]] const StoredNode& node(std::uint32_t value) const { return nodes[value - leafSizes.size()]; }
    /// In bytes.
    [[nodiscard]] std::int64_t sizeOf(std::uint32_t value) const
    {
        return isLeaf(value) ? leafSizes[value] : node(value).size;
    }
};

/// First and last step at which something is resident; first > last = never.
struct LiveInterval
{
    std::size_t first = 1;
    std::size_t last = 0;

    [[nodiscard]] bool exists() const { return first <= last; }
    /// True when `step` lies in it.
    [[nodiscard]] bool holds(std::size_t step) const { return first <= step && step <= last; }
    bool operator==(const LiveInterval&) const = default;
};

/// Forward or backward computation of one value.
struct TimelineStep
{
    bool isBackward = false;
    std::uint32_t value = 0;
};

/// Who lives when. Steps: forward in order of numbers, then backward in reverse order over the nodes that reach the
/// output.
struct Liveness
{
    std::vector<TimelineStep> steps;
    std::vector<LiveInterval> values;    ///< per value: up to its last forward reader, if stored to its last reader
    std::vector<LiveInterval> gradients; ///< per value; leaves to the end
    /// Backward step's value → values rebuilt in that step, ascending: what it reads and what that needs.
    std::map<std::uint32_t, std::vector<std::uint32_t>> rebuilt;
    std::vector<std::int64_t> resident; ///< bytes per step
    std::int64_t peak = 0;
    double extraCost = 0; ///< of all rebuilding
};

/// Lifetimes when the values of `recompute` are not stored for the backward pass.
[[nodiscard]] Liveness liveness(const StorageProblem& problem, const std::set<std::uint32_t>& recompute);

/// "v3", "g4" and "r2" (rebuilt) that are resident at a step, in the order of the texts.
[[nodiscard]] std::vector<std::string> residentNames(const Liveness& lives, std::size_t step);

/// Values that some reverse rule reads, leaves left out: what can be stored or rebuilt. Ascending.
[[nodiscard]] std::vector<std::uint32_t> storageCandidates(const StorageProblem& problem);

/// Which candidates to rebuild.
struct StorageChoice
{
    bool isFeasible = false;
    bool isProven = true; ///< false when the search ended at its limit: there may be a better choice
    std::set<std::uint32_t> recompute;
    double extraCost = 0;
    std::int64_t peak = 0;
};

/// The cheapest set to rebuild whose peak is at most `budget`; among equals the least peak, then the fewest values,
/// then the smallest numbers. Branch and bound; gives up proving after `limit` partial choices.
[[nodiscard]] StorageChoice chooseStorage(const StorageProblem& problem, std::int64_t budget,
                                          std::size_t limit = 2'000'000);

} // namespace retro::analysis
