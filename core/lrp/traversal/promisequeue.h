// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/ids.h"

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

namespace retro::lrp
{

using base::NodeId;

/// The promise queue of the traversal: nodes in the order in which they were appended, of which the oldest eligible one
/// is taken. A node says once that it has become eligible; no call looks through the queue. Each call costs O(log n).
class PromiseQueue
{
public:
    explicit PromiseQueue(std::size_t nodeCount) : m_numberOf(nodeCount, kAbsent), m_counts(1, 0) {}

    /// What is in the queue now.
    [[nodiscard]] bool isEmpty() const { return m_size == 0; }
    [[nodiscard]] bool contains(NodeId node) const { return m_numberOf[node.index()] != kAbsent; }
    /// Appends a node that is not in the queue; returns its enqueue number, from 0.
    std::uint32_t append(NodeId node);
    /// The node may be taken. Nothing happens when it is not in the queue or has said so before.
    void markEligible(NodeId node);
    /// The eligible node that was appended first; invalid when none is eligible.
    [[nodiscard]] NodeId firstEligible() const;
    /// Removes firstEligible(), which must be valid; returns its position in the queue, 0 = oldest.
    std::uint32_t takeFirstEligible();
    /// Removes a node that is in the queue; returns its position, 0 = oldest.
    std::uint32_t remove(NodeId node);
    /// All nodes in the queue, oldest first (a scan, for reports).
    [[nodiscard]] std::vector<NodeId> members() const;

private:
    static constexpr std::uint32_t kAbsent = 0xffffffffU;

    [[nodiscard]] std::uint32_t countBefore(std::uint32_t number) const;
    std::uint32_t takeOut(std::uint32_t number);

    struct Entry
    {
        NodeId node;
        bool isEligible = false;
    };
    std::vector<Entry> m_entries;          // by enqueue number
    std::vector<std::uint32_t> m_numberOf; // by node
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> m_eligible;
    std::vector<std::uint32_t> m_counts; // binary indexed tree over enqueue numbers: 1 while in the queue
    std::uint32_t m_size = 0;
};

} // namespace retro::lrp
