// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/joint.h"
#include "core/event/planevent.h"
#include "core/graph/graph.h"

#include <vector>

namespace retro::engine
{

/// Where operators and values of a joint graph stand in the graph that it was made of: by their names. Gradients of
/// initialisers ("dw:…") have a node and no value.
class PlanPlaces
{
public:
    PlanPlaces(const graph::Graph& graph, const analysis::OpGraph& joint);

    /// A value; its node is invalid where the graph has no such value.
    [[nodiscard]] const event::PlannedValue& of(analysis::OpValueId value) const { return m_values[value]; }
    /// Which output of its node a value is; 0 for inputs.
    [[nodiscard]] std::uint32_t outputOf(analysis::OpValueId value) const { return m_outputs[value]; }
    /// The node of an operator, of a gradient the one whose result's gradient it is; invalid where there is none.
    [[nodiscard]] base::NodeId nodeOf(analysis::OpId op) const { return m_nodes[op]; }

private:
    void place(const graph::Graph& graph, const analysis::OpGraph& joint, analysis::OpValueId id);

    std::vector<event::PlannedValue> m_values;
    std::vector<std::uint32_t> m_outputs;
    std::vector<base::NodeId> m_nodes;
};

} // namespace retro::engine
