// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/traversal/promisequeue.h"

#include "core/base/failure.h"

namespace retro::lrp
{

namespace
{

std::uint32_t lowestBit(std::uint32_t i) { return i & (~i + 1); }

} // namespace

std::uint32_t PromiseQueue::append(NodeId node)
{
    base::guard(!contains(node), "a node waits once in the queue of promises");
    const auto number = static_cast<std::uint32_t>(m_entries.size());
    m_entries.push_back({node, false});
    m_numberOf[node.index()] = number;
    const std::uint32_t i = number + 1;
    m_counts.push_back(countBefore(number) - countBefore(i - lowestBit(i)) + 1);
    ++m_size;
    return number;
}

void PromiseQueue::markEligible(NodeId node)
{
    const std::uint32_t number = m_numberOf[node.index()];
    if (number == kAbsent || m_entries[number].isEligible) {
        return;
    }
    m_entries[number].isEligible = true;
    m_eligible.push(number);
}

NodeId PromiseQueue::firstEligible() const { return m_eligible.empty() ? NodeId() : m_entries[m_eligible.top()].node; }

std::uint32_t PromiseQueue::takeFirstEligible() { return takeOut(m_eligible.top()); }

std::uint32_t PromiseQueue::remove(NodeId node)
{
    base::guard(contains(node), "a node that leaves the queue of promises is in it");
    return takeOut(m_numberOf[node.index()]);
}

std::uint32_t PromiseQueue::takeOut(std::uint32_t number)
{
    m_numberOf[m_entries[number].node.index()] = kAbsent;
    while (!m_eligible.empty() && m_numberOf[m_entries[m_eligible.top()].node.index()] != m_eligible.top()) {
        m_eligible.pop(); // of nodes that are gone
    }
    for (std::uint32_t i = number + 1; i < m_counts.size(); i += lowestBit(i)) {
        --m_counts[i];
    }
    --m_size;
    return countBefore(number);
}

std::vector<NodeId> PromiseQueue::members() const
{
    std::vector<NodeId> nodes;
    for (std::uint32_t number = 0; number < m_entries.size(); ++number) {
        if (m_numberOf[m_entries[number].node.index()] == number) {
            nodes.push_back(m_entries[number].node);
        }
    }
    return nodes;
}

// Entries in the queue whose number is below `number`.
std::uint32_t PromiseQueue::countBefore(std::uint32_t number) const
{
    std::uint32_t count = 0;
    for (std::uint32_t i = number; i > 0; i -= lowestBit(i)) {
        count += m_counts[i];
    }
    return count;
}

} // namespace retro::lrp
