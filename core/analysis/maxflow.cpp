// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/maxflow.h"

#include <algorithm>
#include <queue>

namespace retro::analysis
{

void MaxFlow::add(std::uint32_t from, std::uint32_t to, std::uint64_t capacity)
{
    m_edges.push_back({to, m_first[from], capacity});
    m_first[from] = static_cast<std::uint32_t>(m_edges.size() - 1);
    m_edges.push_back({from, m_first[to], 0});
    m_first[to] = static_cast<std::uint32_t>(m_edges.size() - 1);
}

std::uint64_t MaxFlow::run(std::uint32_t source, std::uint32_t sink)
{
    std::uint64_t total = 0;
    while (total < kInfiniteFlow && findLevels(source, sink)) {
        m_next = m_first;
        while (const std::uint64_t pushed = push(source, sink)) {
            total += pushed;
        }
    }
    return total;
}

bool MaxFlow::findLevels(std::uint32_t source, std::uint32_t sink)
{
    std::fill(m_level.begin(), m_level.end(), kNone);
    std::queue<std::uint32_t> open;
    open.push(source);
    m_level[source] = 0;
    while (!open.empty()) {
        const std::uint32_t node = open.front();
        open.pop();
        for (std::uint32_t e = m_first[node]; e != kNone; e = m_edges[e].next) {
            if (m_edges[e].left > 0 && m_level[m_edges[e].to] == kNone) {
                m_level[m_edges[e].to] = m_level[node] + 1;
                open.push(m_edges[e].to);
            }
        }
    }
    return m_level[sink] != kNone;
}

/// One path from source to sink along the levels; what it carried.
std::uint64_t MaxFlow::push(std::uint32_t source, std::uint32_t sink)
{
    std::vector<std::uint32_t> path; // edges
    std::uint32_t node = source;
    while (node != sink) {
        std::uint32_t& e = m_next[node];
        while (e != kNone && (m_edges[e].left == 0 || m_level[m_edges[e].to] != m_level[node] + 1)) {
            e = m_edges[e].next;
        }
        if (e != kNone) {
            path.push_back(e);
            node = m_edges[e].to;
        } else if (path.empty()) {
            return 0;
        } else { // a dead end: step back over the edge that led here
            node = m_edges[path.back() ^ 1U].to;
            m_next[node] = m_edges[m_next[node]].next;
            path.pop_back();
        }
    }
    return carry(path);
}

/// Fills a path as far as it goes; what it carried.
std::uint64_t MaxFlow::carry(const std::vector<std::uint32_t>& path)
{
    std::uint64_t least = kInfiniteFlow;
    for (const std::uint32_t e : path) {
        least = std::min(least, m_edges[e].left);
    }
    for (const std::uint32_t e : path) {
        m_edges[e].left -= least;
        m_edges[e ^ 1U].left = std::min(m_edges[e ^ 1U].left + least, kInfiniteFlow);
    }
    return least;
}

} // namespace retro::analysis
