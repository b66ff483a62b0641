// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/forwarding/forwardneeds.h"
#include "core/engine/plan/passsubject.h"

namespace retro::engine
{

/// What the reverse rules of a gradient pass read of the forward pass: for the operands that the pass asks for, which
/// is less than a framework saves that may be asked for all of them.
class GradientNeeds final : public ForwardNeeds
{
public:
    /// From `target` down to these inputs; to every floating one for none.
    GradientNeeds(std::shared_ptr<const execute::BoundModel> model, base::ValueId target,
                  std::span<const base::ValueId> inputs = {});

    [[nodiscard]] base::ValueId target() const { return targets().front(); }
    /// True for nodes whose rule runs.
    [[nodiscard]] bool runs(base::NodeId node) const { return m_runs[node.index()]; }
    /// Per operand slot of a node: 1 where a part is wanted.
    [[nodiscard]] std::vector<std::uint8_t> wanted(base::NodeId node) const { return m_subject.wantedSlots(node); }
    /// True for values that carry a gradient.
    [[nodiscard]] bool isTracked(base::ValueId value) const { return m_subject.carries(value); }

private:
    /// Which nodes a gradient reaches, and asks for a part.
    void findRuns();

    PassSubject m_subject;
    std::vector<bool> m_runs;
};

} // namespace retro::engine
