// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/report.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace retro::views
{

/// What is true of a planned graph whatever the plan. Immutable; made off the GUI thread.
struct PlanAnalysis
{
    /// An order of the forward operators.
    struct Order
    {
        std::string name;
        std::string how;                ///< a line for people
        std::uint64_t peak = 0;         ///< of the forward operators: what an allocator sees
        std::uint64_t peakLive = 0;     ///< of them, behind each operator
        std::uint64_t storeAllPeak = 0; ///< with the second half, when nothing is computed twice; 0 = not known
    };
    /// A number that no plan, or no order, goes below.
    struct Limit
    {
        std::string what;
        std::uint64_t bytes = 0;
        std::string at; ///< the operator that shows it
    };
    /// A cut behind an operator of the best order.
    struct Cut
    {
        std::string behind;
        std::uint64_t bytes = 0;
        std::size_t values = 0;
    };

    std::vector<Order> orders; ///< best first
    std::vector<Limit> limits;
    analysis::Compressibility verdict; ///< of the best order
    std::vector<Cut> cuts;             ///< the narrowest first
    std::string longestSkip;           ///< the value
    std::size_t longestSkipPositions = 0;
};
using PlanAnalysisPointer = std::shared_ptr<const PlanAnalysis>;

} // namespace retro::views
