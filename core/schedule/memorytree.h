// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace retro::schedule
{

/// Bytes per position of a sequence: adds to a range and knows the largest, each in O(log positions). A segment tree.
class MemoryTree
{
public:
    explicit MemoryTree(const std::vector<std::uint64_t>& bytes);

    /// Adds to positions from … until, the last excluded; an empty range adds nothing.
    void add(std::uint32_t from, std::uint32_t until, std::int64_t bytes);
    /// The largest of all; 0 of none.
    [[nodiscard]] std::int64_t largest() const { return m_count == 0 ? 0 : m_nodes[1].most; }

private:
    struct Node
    {
        std::int64_t most = 0;  ///< of its range, without what was added to ranges around it
        std::int64_t added = 0; ///< to its whole range
    };

    void build(std::size_t node, std::uint32_t low, std::uint32_t high, const std::vector<std::uint64_t>& bytes);
    void add(std::size_t node, std::uint32_t low, std::uint32_t high, std::uint32_t from, std::uint32_t until,
             std::int64_t bytes);

    std::uint32_t m_count = 0;
    std::vector<Node> m_nodes; ///< root at 1, children of i at 2 i and 2 i + 1
};

} // namespace retro::schedule
