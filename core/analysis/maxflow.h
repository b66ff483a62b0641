// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/opgraph.h"

#include <cstdint>
#include <vector>

namespace retro::analysis
{

/// A capacity that no cut pays; every other one is smaller.
inline constexpr std::uint64_t kInfiniteFlow = 1ULL << 62;

/// Maximum flow by levels (Dinic 1970), iterative.
class MaxFlow
{
public:
    explicit MaxFlow(std::size_t nodes) : m_first(nodes, kNone), m_level(nodes), m_next(nodes) {}

    /// An edge.
    void add(std::uint32_t from, std::uint32_t to, std::uint64_t capacity);
    /// The flow, which is the least cut; at least kInfiniteFlow where every cut takes an infinite edge.
    std::uint64_t run(std::uint32_t source, std::uint32_t sink);
    /// Whether the node lies on the source's side of the least cut that run() found nearest to the source.
    [[nodiscard]] bool isOfSource(std::uint32_t node) const { return m_level[node] != kNone; }

private:
    struct Edge
    {
        std::uint32_t to;
        std::uint32_t next;
        std::uint64_t left;
    };

    bool findLevels(std::uint32_t source, std::uint32_t sink);
    std::uint64_t push(std::uint32_t source, std::uint32_t sink);
    std::uint64_t carry(const std::vector<std::uint32_t>& path);

    std::vector<Edge> m_edges;
    std::vector<std::uint32_t> m_first;
    std::vector<std::uint32_t> m_level;
    std::vector<std::uint32_t> m_next;
};

} // namespace retro::analysis
