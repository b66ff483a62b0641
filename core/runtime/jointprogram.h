// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/fromgraph.h"
#include "core/analysis/joint.h"
#include "core/execute/boundmodel.h"

#include <memory>
#include <span>
#include <vector>

namespace retro::runtime
{

using analysis::kNone;
using analysis::OpId;
using analysis::OpValueId;
using base::NodeId;
using base::ValueId;
using execute::BoundModel;

/// A joint graph whose operators are real: which node of a bound model, or the gradient (relevance) of which value,
/// each one is. Immutable.
class JointProgram
{
public:
    /// `planning` must be of this model: its sizes are those that the model makes. `order` is that of the forward
    /// operators, as analysis::jointGraph. Errors (Input) name what cannot be carried out and what to do: a captured
    /// training step, values that share memory, sizes that the graph states otherwise than the model makes them,
    /// gradients of parameters that are no inputs.
    [[nodiscard]] static base::Result<JointProgram> make(std::shared_ptr<const BoundModel> model,
                                                         const analysis::PlanningGraph& planning,
                                                         std::span<const OpId> order,
                                                         const analysis::JointOptions& options = {});

    /// The same program of its forward operators alone, whose graph (`forward`) has their ids and values and no others.
    [[nodiscard]] JointProgram alone(analysis::JointGraph forward) const;

    [[nodiscard]] const analysis::OpGraph& graph() const { return m_joint.graph; }
    [[nodiscard]] const analysis::JointGraph& joint() const { return m_joint; }
    /// The forward graph that it was made of, with the inputs as sources.
    [[nodiscard]] const analysis::OpGraph& forward() const { return m_forward; }
    [[nodiscard]] const BoundModel& model() const { return *m_model; }
    [[nodiscard]] const std::shared_ptr<const BoundModel>& sharedModel() const { return m_model; }
    /// Operators below are forward ones, the others gradients.
    [[nodiscard]] std::size_t forwardCount() const { return m_joint.forwardCount; }
    [[nodiscard]] bool isForward(OpId op) const { return op < m_joint.forwardCount; }
    /// The node that a forward operator runs.
    [[nodiscard]] NodeId nodeOf(OpId op) const { return m_nodes[op]; }
    /// The value of the model that a value of the joint graph is, or whose gradient it is.
    [[nodiscard]] ValueId valueOf(OpValueId id) const { return m_values[id]; }
    [[nodiscard]] bool isGradient(OpValueId id) const { return id >= m_forwardValues; }
    /// The planned value of a value of the model; kNone for constants.
    [[nodiscard]] OpValueId idOf(ValueId value) const { return m_ids[value.index()]; }
    /// The gradient of a value of the model; kNone when it has none.
    [[nodiscard]] OpValueId gradientOf(ValueId value) const { return m_gradients[value.index()]; }
    /// True for the values at which the second half starts.
    [[nodiscard]] bool startsAt(ValueId value) const { return m_starts[value.index()]; }
    /// Nodes that read constants alone, in order: they run once, before a plan, and their results stay.
    [[nodiscard]] std::span<const NodeId> constantNodes() const { return m_constantNodes; }

private:
    [[nodiscard]] base::Result<void> nameForward(const analysis::OpGraph& forward);
    [[nodiscard]] base::Result<void> nameGradients();
    [[nodiscard]] base::Result<void> checkNodes();
    [[nodiscard]] base::Result<void> checkBytes() const;

    std::shared_ptr<const BoundModel> m_model;
    analysis::JointGraph m_joint;
    analysis::OpGraph m_forward;
    std::size_t m_forwardValues = 0;
    std::vector<NodeId> m_nodes;        ///< per forward operator
    std::vector<ValueId> m_values;      ///< per value of the joint graph
    std::vector<OpValueId> m_ids;       ///< per value of the model
    std::vector<OpValueId> m_gradients; ///< per value of the model
    std::vector<bool> m_starts;         ///< per value of the model
    std::vector<NodeId> m_constantNodes;
};

} // namespace retro::runtime
