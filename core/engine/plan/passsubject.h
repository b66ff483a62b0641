// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/fromgraph.h"
#include "core/analysis/joint.h"
#include "core/execute/boundmodel.h"
#include "core/lrp/composite/composite.h"
#include "core/lrp/traversal/traversalgraph.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace retro::engine
{

/// What a reverse pass is about: a bound model, the values that it starts at, which inputs are wanted, and for
/// relevance the rule of every node. The one place that says what the pass reads of the forward pass: planning, stored
/// values and passes by a plan ask here. Immutable, cheap to copy.
class PassSubject
{
public:
    /// The gradient from `targets` on, of these inputs; of every floating one for none.
    [[nodiscard]] static PassSubject gradient(std::shared_ptr<const execute::BoundModel> model,
                                              std::vector<base::ValueId> targets,
                                              std::span<const base::ValueId> wanted = {});
    /// The relevance from `targets` on, each once, by `rules` (by node). Errors: as lrp::TraversalGraph::build.
    [[nodiscard]] static base::Result<PassSubject> relevance(std::shared_ptr<const execute::BoundModel> model,
                                                             std::vector<base::ValueId> targets,
                                                             std::shared_ptr<const lrp::RuleAssignment> rules);
    /// The same over a graph that is there; it is the one of these targets and rules.
    [[nodiscard]] static PassSubject relevance(std::shared_ptr<const execute::BoundModel> model,
                                               std::vector<base::ValueId> targets,
                                               std::shared_ptr<const lrp::RuleAssignment> rules,
                                               std::shared_ptr<const lrp::TraversalGraph> graph);

    [[nodiscard]] analysis::JointKind kind() const { return m_kind; }
    [[nodiscard]] const execute::BoundModel& model() const { return *m_model; }
    [[nodiscard]] const std::shared_ptr<const execute::BoundModel>& sharedModel() const { return m_model; }
    [[nodiscard]] const std::vector<base::ValueId>& targets() const { return m_targets; }
    /// Of a relevance pass; null otherwise.
    [[nodiscard]] const std::shared_ptr<const lrp::RuleAssignment>& rules() const { return m_rules; }
    [[nodiscard]] const std::shared_ptr<const lrp::TraversalGraph>& graph() const { return m_graph; }

    /// True for values that the pass gives a gradient (relevance) to when it gets there.
    [[nodiscard]] bool carries(base::ValueId value) const;
    /// Per operand slot of a node: 1 where a part is wanted.
    [[nodiscard]] std::vector<std::uint8_t> wantedSlots(base::NodeId node) const;
    /// Operands and results that the node's parts of these operand slots read. The rule `stop` reads nothing.
    [[nodiscard]] ops::Reads reads(base::NodeId node, std::span<const std::uint8_t> slots) const;
    /// Each value that the node gives a part to, once, with what that part reads and holds. Empty where nothing goes
    /// on.
    [[nodiscard]] std::vector<analysis::NodePart> parts(base::NodeId node) const;
    /// What the gradients of the node's floating constants read of it.
    [[nodiscard]] ops::Reads parameterReads(base::NodeId node) const;
    /// True for nodes whose rule lets nothing through.
    [[nodiscard]] bool stopsAt(base::NodeId node) const;

private:
    PassSubject(analysis::JointKind kind, std::shared_ptr<const execute::BoundModel> model,
                std::vector<base::ValueId> targets)
        : m_kind(kind), m_model(std::move(model)), m_targets(std::move(targets))
    {}

    [[nodiscard]] std::uint64_t workspace(base::NodeId node, std::span<const std::uint8_t> slots) const;
    [[nodiscard]] base::ValueId receiverOf(base::NodeId node, std::size_t slot) const;

    analysis::JointKind m_kind;
    std::shared_ptr<const execute::BoundModel> m_model;
    std::vector<base::ValueId> m_targets;
    std::shared_ptr<const std::vector<bool>> m_reached; ///< per value: depends on a wanted input; null = all
    std::shared_ptr<const lrp::RuleAssignment> m_rules;
    std::shared_ptr<const lrp::TraversalGraph> m_graph;
};

} // namespace retro::engine
