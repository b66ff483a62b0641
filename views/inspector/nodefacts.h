// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/viewcontext.h"

#include <QString>

#include <vector>

namespace retro::views
{

/// A line of the balance of a node.
struct BalanceLine
{
    QString name;
    double amount = 0;
    double share = 0; ///< of what arrived
    enum class Kind : std::uint8_t { Arrived, HandedOn, Cause, Unexplained } kind = Kind::Cause;
};

/// What can be said about a node at the cursor.
struct NodeFacts
{
    base::NodeId node;
    base::ValueId value;
    QString name;
    event::Mode mode = event::Mode::None;
    QString visit; ///< "visited now", "visited 2 times", "not visited yet"
    QString rule;  ///< "Conv · rule z-plus · chosen by type Conv"
    QString shape;
    QString notes; ///< what the exporter noted, one per line: stack trace, source operator; may be empty
    std::vector<BalanceLine> balance; ///< empty until its rule was applied
    QString noBalance;                ///< why it may be empty
};

/// Facts about the node of a selection; with nothing selected about the current node. Invalid node = nothing.
[[nodiscard]] NodeFacts nodeFacts(const RunModel& model, const SelectedThing& selected);
/// arrived = handed on + causes + unexplained, over the rows of the node that are booked at the cursor.
[[nodiscard]] std::vector<BalanceLine> balanceOf(const RunModel& model, base::NodeId node);

} // namespace retro::views
