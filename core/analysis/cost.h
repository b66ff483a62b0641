// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/opgraph.h"

namespace retro::analysis
{

/// The machine against which costs are stated.
struct Machine
{
    double flopsPerSecond = 1e12;
    double bytesPerSecond = 1e11;

    /// Floating-point operations per byte above which the arithmetic is what limits.
    [[nodiscard]] double balance() const { return flopsPerSecond / bytesPerSecond; }
};

/// Cost of one operator on a machine: the roofline.
struct OpCost
{
    double flops = 0;
    double bytes = 0;     ///< read and written, each value once
    double intensity = 0; ///< flops per byte; 0 where nothing is moved
    double seconds = 0;   ///< the larger of arithmetic and traffic
    bool isMemoryBound = false;
};

/// Cost of a graph: with one processor (work), with as many as one likes (depth).
struct GraphCost
{
    std::vector<OpCost> ops; ///< by OpId
    double flops = 0;
    double bytes = 0;
    double workSeconds = 0;
    double depthSeconds = 0;
    std::vector<OpId> criticalPath; ///< producers first
    /// work / depth: how many operators could run at a time on average.
    [[nodiscard]] double parallelism() const { return depthSeconds > 0 ? workSeconds / depthSeconds : 0; }
};

/// O(operators + operands).
[[nodiscard]] GraphCost graphCost(const OpGraph& graph, const Machine& machine);

} // namespace retro::analysis
