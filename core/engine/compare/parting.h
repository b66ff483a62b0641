// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/compare/compare.h"
#include "core/engine/compare/comparedvalues.h"

#include <vector>

namespace retro::engine
{

/// Who may have handed on what two sides do not agree on.
class PartingSearch
{
public:
    PartingSearch(const graph::Graph& graph, const ComparedValues& a, const ComparedValues& b);

    /// The search begins at the first value that differs, so that everything compared before it agrees. `isCompared` by
    /// ValueId. Linear in the part of the graph between the value and the values above it that are compared.
    [[nodiscard]] Parting from(const ValueDifference& difference, const std::vector<bool>& isCompared) const;

private:
    class Walk;

    void markOperands(const graph::Node& node);
    [[nodiscard]] bool isStart(base::ValueId value) const;
    [[nodiscard]] bool handsOn(base::NodeId node) const;
    [[nodiscard]] bool isOnTheWay(base::ValueId value) const;
    [[nodiscard]] PartingNode describe(base::NodeId id) const;

    const graph::Graph& m_graph;
    const ComparedValues& m_a;
    const ComparedValues& m_b;
    std::vector<base::ValueId> m_starts;
    std::vector<bool> m_leads; // by ValueId: a start is computed from it, or it is one
};

} // namespace retro::engine
