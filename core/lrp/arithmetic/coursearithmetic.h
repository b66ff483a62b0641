// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/arithmetic/nullarithmetic.h"
#include "core/lrp/arithmetic/tensorarithmetic.h"

namespace retro::lrp
{

/// Arithmetic without values for the graph of real ones: what nodes can do follows from structures, rules and what is
/// saved, so a traversal over this takes the course, event by event, of one that computes.
class CourseArithmetic : public NullArithmetic
{
public:
    /// `real` is asked what nodes can do, never for a value. Both must outlive this.
    CourseArithmetic(const TraversalGraph& graph, const TensorArithmetic& real)
        : NullArithmetic(graph, {}), m_real(real)
    {}

    [[nodiscard]] Role role(NodeId node) const override { return m_real.role(node); }
    [[nodiscard]] bool isStrict(NodeId node) const override { return m_real.isStrict(node); }
    [[nodiscard]] event::PromiseKind promiseKind(NodeId node) const override { return m_real.promiseKind(node); }
    [[nodiscard]] bool hasBranch(NodeId node, std::uint32_t slot) const override
    {
        return m_real.hasBranch(node, slot);
    }

private:
    const TensorArithmetic& m_real;
};

} // namespace retro::lrp
