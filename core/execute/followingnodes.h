// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/forward.h"

#include <optional>
#include <span>
#include <stop_token>
#include <vector>

namespace retro::execute
{

/// The nodes of a graph that depend on one value.
class FollowingNodes
{
public:
    FollowingNodes(const graph::Graph& graph, ValueId from);

    /// In order.
    [[nodiscard]] const std::vector<NodeId>& nodes() const { return m_nodes; }
    /// What they read that does not depend on the value, without constants; each once.
    [[nodiscard]] const std::vector<ValueId>& reads() const { return m_reads; }
    [[nodiscard]] bool follows(ValueId value) const { return m_follows[value.index()]; }

private:
    /// What a node reads that does not follow and is no constant.
    void addReads(const graph::Graph& graph, const graph::Node& node);

    std::vector<bool> m_follows; // by ValueId
    std::vector<NodeId> m_nodes;
    std::vector<ValueId> m_reads;
};

/// A forward pass that takes from `others` and `made`, an earlier one of the same inputs and its results by graph
/// output, all that does not follow from the value, and computes the rest: `store` gets `kept`. None where they lack
/// what is needed. Errors: as forward().
[[nodiscard]] base::Result<std::optional<ForwardResult>>
forwardFollowing(const std::shared_ptr<ValueStore>& store, const std::shared_ptr<const BoundModel>& model,
                 std::span<const Tensor> inputs, std::span<const ValueId> kept, const ValueStore& others,
                 std::span<const Tensor> made, const FollowingNodes& following, const std::stop_token& stop = {});

} // namespace retro::execute
