// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"

#include <cstdint>
#include <span>
#include <vector>

namespace retro::trace
{

/// Where in a run relevance lands at a node, and where the node is visited: steps of events, ascending. Made by one
/// walk over the run; then every answer is at hand. Immutable.
class NodeSteps
{
public:
    explicit NodeSteps(const Run& run);

    /// Steps of the Land events at a node or input.
    [[nodiscard]] std::span<const std::uint64_t> landings(NodeId node) const { return m_landings.of(node); }
    /// Steps of the Visit events of a node or input.
    [[nodiscard]] std::span<const std::uint64_t> visits(NodeId node) const { return m_visits.of(node); }

    /// Whether relevance comes to a node or input at all, early or late: else nothing of it is still to come.
    [[nodiscard]] bool isReached(NodeId node) const { return !landings(node).empty() || !visits(node).empty(); }

private:
    /// Lists of steps behind each other, one per node.
    struct Lists
    {
        std::vector<std::uint64_t> begin; ///< per node, and the end
        std::vector<std::uint64_t> steps;
        [[nodiscard]] std::span<const std::uint64_t> of(NodeId node) const;
    };
    [[nodiscard]] static Lists listsOf(const Run& run, event::EventKind kind);

    Lists m_landings;
    Lists m_visits;
};

} // namespace retro::trace
