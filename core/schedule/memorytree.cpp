// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/memorytree.h"

#include <algorithm>

namespace retro::schedule
{

MemoryTree::MemoryTree(const std::vector<std::uint64_t>& bytes)
    : m_count(static_cast<std::uint32_t>(bytes.size())), m_nodes(4 * bytes.size() + 2)
{
    if (m_count > 0) {
        build(1, 0, m_count, bytes);
    }
}

void MemoryTree::build(std::size_t node, std::uint32_t low, std::uint32_t high, const std::vector<std::uint64_t>& bytes)
{
    if (high - low == 1) {
        m_nodes[node].most = static_cast<std::int64_t>(bytes[low]);
        return;
    }
    const std::uint32_t middle = low + (high - low) / 2;
    build(2 * node, low, middle, bytes);
    build(2 * node + 1, middle, high, bytes);
    m_nodes[node].most = std::max(m_nodes[2 * node].most, m_nodes[2 * node + 1].most);
}

void MemoryTree::add(std::uint32_t from, std::uint32_t until, std::int64_t bytes)
{
    if (from < until && from < m_count) {
        add(1, 0, m_count, from, std::min(until, m_count), bytes);
    }
}

void MemoryTree::add(std::size_t node, std::uint32_t low, std::uint32_t high, std::uint32_t from, std::uint32_t until,
                     std::int64_t bytes)
{
    if (from <= low && high <= until) {
        m_nodes[node].most += bytes;
        m_nodes[node].added += bytes;
        return;
    }
    const std::uint32_t middle = low + (high - low) / 2;
    if (from < middle) {
        add(2 * node, low, middle, from, until, bytes);
    }
    if (until > middle) {
        add(2 * node + 1, middle, high, from, until, bytes);
    }
    m_nodes[node].most = m_nodes[node].added + std::max(m_nodes[2 * node].most, m_nodes[2 * node + 1].most);
}

} // namespace retro::schedule
