// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/ledgersummary.h"
#include "views/common/run/timerange.h"

#include <QString>

#include <cstdint>
#include <optional>
#include <vector>

namespace retro::views
{

/// What a row of the ledger's table sums up.
enum class LedgerGrouping : std::uint8_t { Node, Operator, Rule };

/// Balance of a node, or of all nodes of one operator or rule, over the whole run.
struct LedgerRow
{
    QString name;
    QString detail;    ///< operator of a node; "4 nodes" of a group
    base::NodeId node; ///< invalid for groups
    double arrived = 0;
    double handedOn = 0;
    double turnover = 0; ///< Σ|cause| + |unexplained| over its nodes: how much was lost or gained
    double unexplained = 0;
    trace::CauseAmounts causes{};
    std::uint64_t firstRow = 0;            ///< index of its first row in the ledger: booked when the cursor is past it
    std::optional<std::uint64_t> position; ///< just after the first rule of it was applied
    std::size_t nodes = 1;

    /// The cause with the largest amount; nothing when all are zero.
    [[nodiscard]] std::optional<event::Cause> largestCause() const;
};

/// The books of a run, or of some of its visits, by node, operator or rule, the largest turnover first; equals in the
/// order of the run.
[[nodiscard]] std::vector<LedgerRow> ledgerRows(const trace::Run& run, LedgerGrouping grouping,
                                                const std::optional<VisitRange>& range = std::nullopt);

} // namespace retro::views
