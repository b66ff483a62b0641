// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/boundmodel.h"

#include <memory>
#include <span>
#include <vector>

namespace retro::engine
{

/// A reverse rule that reads a forward value.
struct RuleRead
{
    base::NodeId node;
    bool isOutput = false; ///< the value is a result of the node, not an operand
};

/// What the reverse rules of a gradient pass read of the forward pass: for the operands that the pass asks for, which
/// is less than a framework saves that may be asked for all of them.
class GradientNeeds
{
public:
    /// From `target` down to the floating inputs.
    GradientNeeds(std::shared_ptr<const execute::BoundModel> model, base::ValueId target);

    [[nodiscard]] const execute::BoundModel& model() const { return *m_model; }
    [[nodiscard]] const std::shared_ptr<const execute::BoundModel>& sharedModel() const { return m_model; }
    [[nodiscard]] base::ValueId target() const { return m_target; }
    /// True for nodes whose rule runs.
    [[nodiscard]] bool runs(base::NodeId node) const { return m_runs[node.index()]; }
    /// Per operand slot of a node: 1 where a part is wanted.
    [[nodiscard]] std::vector<std::uint8_t> wanted(base::NodeId node) const;
    /// True for values that carry a gradient.
    [[nodiscard]] bool isTracked(base::ValueId value) const;
    /// Rules that read a value, in the order of the nodes.
    [[nodiscard]] std::span<const RuleRead> readsOf(base::ValueId value) const { return m_reads[value.index()]; }
    /// True for results of operators that some rule reads: what has to be forwarded in some form.
    [[nodiscard]] bool isForwarded(base::ValueId value) const;

private:
    /// Which nodes a gradient reaches, and asks for a part.
    void findRuns();
    void addReads(base::NodeId node);

    std::shared_ptr<const execute::BoundModel> m_model;
    base::ValueId m_target;
    std::vector<bool> m_runs;
    std::vector<std::vector<RuleRead>> m_reads;
};

} // namespace retro::engine
