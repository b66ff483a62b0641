// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/recordfwd.h"
#include "core/trace/run.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace retro::trace
{

/// Amounts per cause, by Cause.
using CauseAmounts = std::array<double, event::kCauseCount>;

/// What happened to relevance at one node, over all its ledger rows.
struct NodeBalance
{
    NodeId node;
    std::uint32_t rows = 0;
    double arrived = 0;
    double handedOn = 0;
    double magnitude = 0;         ///< Σ|r| that arrived
    double magnitudeHandedOn = 0; ///< Σ|r| that was handed on; 0 in runs of files before version 9
    CauseAmounts causes{};
    double unexplained = 0; ///< arrived − handedOn − Σ causes

    /// How much was lost or gained, whatever the direction: Σ|cause| + |unexplained|.
    [[nodiscard]] double turnover() const;
    /// The cause with the largest amount; nothing when all are zero.
    [[nodiscard]] std::optional<event::Cause> largestCause() const;
    /// How many times larger what is handed on is than what arrived, by magnitude: large where operands or the terms of
    /// a sum cancel. 0 where nothing arrived or nobody knows.
    [[nodiscard]] double growth() const;
};

/// Balance after one more row of the ledger: start = leaves + in flight + Σ lost so far.
struct RunningBalance
{
    std::uint32_t visit = 0;
    NodeId node;
    double lost = 0;        ///< Σ (causes + unexplained) of this row and all before
    double unexplained = 0; ///< Σ unexplained of this row and all before
};

/// The conservation ledger of a run, summed up: start = leaves + Σ causes + unexplained + rest, where rest is what is
/// still under way when the run was stopped, and rounding otherwise.
struct LedgerSummary
{
    double start = 0;  ///< relevance that the run began with
    double leaves = 0; ///< relevance that has arrived at graph inputs (meantSum())
    CauseAmounts causes{};
    double unexplained = 0;
    double rest = 0;                     ///< start − leaves − Σ causes − unexplained
    std::vector<NodeBalance> nodes;      ///< worst first: not finite, then by turnover; equals in node order
    std::vector<RunningBalance> running; ///< one per row of the ledger
};

/// Adds rows of a ledger to the balances of their nodes, by NodeId; rows of nodes that do not exist are left out.
void addRows(std::vector<NodeBalance>& balances, std::span<const event::LedgerEntry> rows);

/// Sums up the ledger of a run. Start and leaves come from the run's own events (what landed from outside; the
/// relevance of inputs), so a stopped run has its rest too. Rows of nodes that do not exist are left out.
[[nodiscard]] LedgerSummary summarise(const Run& run);

/// Balances of the nodes over the visits from `first` to `last`, both included, worst first. Rows of nodes that do not
/// exist are left out.
[[nodiscard]] std::vector<NodeBalance> balancesOf(const Run& run, std::uint32_t first, std::uint32_t last);

/// From which growth on a node is pointed out.
inline constexpr double kLargeGrowth = 10;

/// The balances whose growth is at least `least`, largest first; equals in the order of `nodes`.
[[nodiscard]] std::vector<NodeBalance> largestGrowth(const std::vector<NodeBalance>& nodes,
                                                     double least = kLargeGrowth);

/// What is said of what happened at a node, in JSON and in the table for people.
[[nodiscard]] base::Fields<NodeBalance> balanceFields(const Run& run);

/// The ledger as `audit --json` and Python give it: {"conserved", "start", "leaves", "causes", "unexplained", "rest",
/// "nodes"}; causes that take nothing are left out.
[[nodiscard]] nlohmann::ordered_json ledgerJson(const Run& run, const LedgerSummary& summary);

} // namespace retro::trace
