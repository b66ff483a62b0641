// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/planners/shaver.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace retro::schedule
{

namespace
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

/// Deletes repeated computations whose results nobody reads; true when there was one.
bool deleteUseless(const OpGraph& graph, std::vector<OpId>& sequence)
{
    std::vector<bool> isUsed(sequence.size(), false);
    for (const Instance& instance : instancesOf(graph, sequence)) {
        if (instance.end > instance.start || graph.value(instance.value).isRequired) {
            isUsed[instance.start] = true;
        }
    }
    std::vector<bool> hasRun(graph.size(), false);
    std::vector<OpId> result;
    for (std::size_t at = 0; at < sequence.size(); ++at) {
        if (isUsed[at] || !hasRun[sequence[at]]) {
            result.push_back(sequence[at]);
        }
        hasRun[sequence[at]] = true;
    }
    const bool isShorter = result.size() < sequence.size();
    sequence = std::move(result);
    return isShorter;
}

/// Positions of repeated computations, dearest first.
std::vector<std::uint32_t> repeatsByCost(const OpGraph& graph, const std::vector<OpId>& sequence)
{
    std::vector<bool> hasRun(graph.size(), false);
    std::vector<std::uint32_t> repeats;
    for (std::uint32_t at = 0; at < sequence.size(); ++at) {
        if (hasRun[sequence[at]]) {
            repeats.push_back(at);
        }
        hasRun[sequence[at]] = true;
    }
    std::stable_sort(repeats.begin(), repeats.end(), [&](std::uint32_t a, std::uint32_t b) {
        return graph.op(sequence[a]).cost > graph.op(sequence[b]).cost;
    });
    return repeats;
}

/// A sequence from which computations are taken out, and its memory without them.
class Pruner
{
public:
    Pruner(const OpGraph& graph, const std::vector<OpId>& sequence)
        : m_graph(graph), m_sequence(sequence), m_stays(graph.values().size()), m_reads(graph.values().size()),
          m_isDeleted(sequence.size(), false), m_memory(memoryOf(graph, sequence))
    {
        for (const Instance& instance : instancesOf(graph, sequence)) {
            m_stays[instance.value].push_back({instance.start, instance.end});
        }
        for (std::uint32_t at = 0; at < sequence.size(); ++at) {
            for (const OpValueId input : graph.reads(sequence[at])) {
                m_reads[input].push_back(at);
            }
        }
    }

    /// Deletes the repeated computation at a position, unless that needs more than `budget`.
    bool tryDelete(std::uint32_t at, std::uint64_t budget)
    {
        m_changes.clear();
        const OpId op = m_sequence[at];
        change(at, at + 1, -kGone);
        for (const OpValueId output : m_graph.op(op).outputs) {
            bridge(output, at);
        }
        m_isDeleted[at] = true; // it reads nothing any more
        for (const OpValueId input : m_graph.reads(op)) {
            shorten(input, at);
        }
        if (m_memory.largest() <= static_cast<std::int64_t>(budget)) {
            settle(op, at);
            return true;
        }
        m_isDeleted[at] = false;
        for (const Change& one : m_changes) {
            m_memory.add(one.from, one.until, -one.bytes);
        }
        return false;
    }

    [[nodiscard]] std::vector<OpId> rest() const
    {
        std::vector<OpId> result;
        for (std::size_t at = 0; at < m_sequence.size(); ++at) {
            if (!m_isDeleted[at]) {
                result.push_back(m_sequence[at]);
            }
        }
        return result;
    }

private:
    /// What a position counts less when it is no more: below everything.
    static constexpr std::int64_t kGone = 1LL << 61;

    /// A stay of a value in memory; both ends are in it.
    struct Stay
    {
        std::uint32_t start = 0;
        std::uint32_t end = 0;
    };
    struct Change
    {
        std::uint32_t from = 0;
        std::uint32_t until = 0;
        std::int64_t bytes = 0;
    };

    void change(std::uint32_t from, std::uint32_t until, std::int64_t bytes)
    {
        m_memory.add(from, until, bytes);
        m_changes.push_back({from, until, bytes});
    }

    [[nodiscard]] std::int64_t bytesOf(OpValueId id) const
    {
        return static_cast<std::int64_t>(m_graph.value(id).bytes);
    }

    /// First stay of a value that starts at or behind a position.
    [[nodiscard]] std::vector<Stay>::iterator stayFrom(OpValueId id, std::uint32_t at)
    {
        return std::ranges::partition_point(m_stays[id], [at](const Stay& stay) { return stay.start < at; });
    }

    /// Somebody reads the stay that starts at `at`, or it must be there at the end.
    [[nodiscard]] bool isNeeded(OpValueId id, std::vector<Stay>::iterator stay, std::uint32_t at) const
    {
        return stay->end > at || (m_graph.value(id).isRequired && std::next(stay) == m_stays[id].end());
    }

    /// The value stays from its use before until its use behind.
    void bridge(OpValueId id, std::uint32_t at)
    {
        const auto stay = stayFrom(id, at);
        if (m_graph.value(id).isPinned || stay == m_stays[id].begin() || stay == m_stays[id].end()) {
            return;
        }
        if (isNeeded(id, stay, at)) {
            change(std::prev(stay)->end + 1, at, bytesOf(id));
        }
    }

    /// Where the stay of an operand ends when the computation at `at` does not read it.
    [[nodiscard]] std::uint32_t endWithout(OpValueId id, const Stay& stay, std::uint32_t at) const
    {
        const auto& reads = m_reads[id];
        auto read = std::ranges::lower_bound(reads, at);
        while (read != reads.begin() && *std::prev(read) > stay.start) {
            --read;
            if (!m_isDeleted[*read]) {
                return *read;
            }
        }
        return stay.start;
    }

    void shorten(OpValueId id, std::uint32_t at)
    {
        const auto behind = stayFrom(id, at);
        if (m_graph.value(id).isPinned || behind == m_stays[id].begin()) {
            return;
        }
        const Stay& stay = *std::prev(behind);
        const bool isLast = behind == m_stays[id].end();
        if (stay.end == at && !(isLast && m_graph.value(id).isRequired)) {
            change(endWithout(id, stay, at) + 1, at + 1, -bytesOf(id));
        }
    }

    /// Books what was tried.
    void settle(OpId op, std::uint32_t at)
    {
        for (const OpValueId output : m_graph.op(op).outputs) {
            settleOutput(output, at);
        }
        for (const OpValueId input : m_graph.reads(op)) {
            settleInput(input, at);
        }
    }

    void settleOutput(OpValueId output, std::uint32_t at)
    {
        const auto stay = stayFrom(output, at);
        if (m_graph.value(output).isPinned || stay == m_stays[output].begin() || stay == m_stays[output].end()) {
            return;
        }
        Stay& before = *std::prev(stay);
        before.end = isNeeded(output, stay, at) ? stay->end : before.end;
        m_stays[output].erase(stay);
    }

    void settleInput(OpValueId input, std::uint32_t at)
    {
        const auto behind = stayFrom(input, at);
        if (m_graph.value(input).isPinned || behind == m_stays[input].begin()) {
            return;
        }
        Stay& stay = *std::prev(behind);
        const bool stays = behind == m_stays[input].end() && m_graph.value(input).isRequired;
        stay.end = stay.end == at && !stays ? endWithout(input, stay, at) : stay.end;
    }

    const OpGraph& m_graph;
    const std::vector<OpId>& m_sequence;
    std::vector<std::vector<Stay>> m_stays;          ///< per value, by start
    std::vector<std::vector<std::uint32_t>> m_reads; ///< per value: positions, ascending
    std::vector<bool> m_isDeleted;
    MemoryTree m_memory;
    std::vector<Change> m_changes; ///< of the deletion that is tried
};

} // namespace

void dropUseless(const OpGraph& graph, std::vector<OpId>& sequence)
{
    while (deleteUseless(graph, sequence)) {
    }
}

void prune(const OpGraph& graph, std::uint64_t budget, std::vector<OpId>& sequence, const std::function<bool()>& isOver)
{
    dropUseless(graph, sequence);
    Pruner pruner(graph, sequence);
    for (const std::uint32_t at : repeatsByCost(graph, sequence)) {
        if (isOver && isOver()) {
            break;
        }
        pruner.tryDelete(at, budget);
    }
    sequence = pruner.rest();
    dropUseless(graph, sequence);
}

} // namespace retro::schedule
