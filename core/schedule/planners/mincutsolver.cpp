// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/planners/mincutsolver.h"

#include "core/schedule/replay.h"

#include <algorithm>
#include <queue>

namespace retro::schedule
{

namespace
{

constexpr std::uint64_t kInfinite = 1ULL << 62;

/// Maximum flow by levels (Dinic), iterative.
class Flow
{
public:
    explicit Flow(std::size_t nodes) : m_first(nodes, kNone), m_level(nodes), m_next(nodes) {}

    void add(std::uint32_t from, std::uint32_t to, std::uint64_t capacity)
    {
        m_edges.push_back({to, m_first[from], capacity});
        m_first[from] = static_cast<std::uint32_t>(m_edges.size() - 1);
        m_edges.push_back({from, m_first[to], 0});
        m_first[to] = static_cast<std::uint32_t>(m_edges.size() - 1);
    }

    void run(std::uint32_t source, std::uint32_t sink)
    {
        std::uint64_t total = 0;
        while (total < kInfinite && findLevels(source, sink)) {
            m_next = m_first;
            while (const std::uint64_t pushed = push(source, sink)) {
                total += pushed;
            }
        }
    }

    /// Nodes that the source reaches in what is left.
    [[nodiscard]] const std::vector<std::uint32_t>& levels() const { return m_level; }

private:
    struct Edge
    {
        std::uint32_t to;
        std::uint32_t next;
        std::uint64_t left;
    };

    bool findLevels(std::uint32_t source, std::uint32_t sink)
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
    std::uint64_t push(std::uint32_t source, std::uint32_t sink)
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
    std::uint64_t carry(const std::vector<std::uint32_t>& path)
    {
        std::uint64_t least = kInfinite;
        for (const std::uint32_t e : path) {
            least = std::min(least, m_edges[e].left);
        }
        for (const std::uint32_t e : path) {
            m_edges[e].left -= least;
            m_edges[e ^ 1U].left = std::min(m_edges[e ^ 1U].left + least, kInfinite);
        }
        return least;
    }

    std::vector<Edge> m_edges;
    std::vector<std::uint32_t> m_first;
    std::vector<std::uint32_t> m_level;
    std::vector<std::uint32_t> m_next;
};

bool isForwardValue(const OpGraph& joint, OpValueId id)
{
    const OpId producer = joint.value(id).producer;
    return producer != kNone && joint.op(producer).phase == analysis::Phase::Forward && !joint.value(id).isPinned;
}

/// Edges of a value: from the source when it may not be rebuilt, from its operands, to the sink when a gradient reads
/// it.
void addEdges(Flow& flow, const OpGraph& joint, OpValueId id, const std::vector<bool>& isBanned)
{
    const auto source = static_cast<std::uint32_t>(2 * joint.values().size());
    const OpId producer = joint.value(id).producer;
    if (isBanned[producer] || !joint.op(producer).mayRepeat()) {
        flow.add(source, 2 * id, kInfinite);
    }
    for (const OpValueId input : joint.reads(producer)) {
        if (isForwardValue(joint, input)) {
            flow.add(2 * input + 1, 2 * id, kInfinite);
        }
    }
    if (joint.isReadByGradient(id)) {
        flow.add(2 * id + 1, source + 1, kInfinite);
    }
}

} // namespace

MinCut minimumCut(const OpGraph& joint, const std::vector<std::uint64_t>& price, const std::vector<bool>& isBanned)
{
    const auto count = static_cast<std::uint32_t>(joint.values().size());
    const std::uint32_t source = 2 * count;
    const std::uint32_t sink = source + 1;
    Flow flow(2 * static_cast<std::size_t>(count) + 2);
    for (OpValueId id = 0; id < count; ++id) {
        if (isForwardValue(joint, id)) {
            flow.add(2 * id, 2 * id + 1, std::min(price[id], kInfinite));
            addEdges(flow, joint, id, isBanned);
        }
    }
    flow.run(source, sink);
    MinCut cut;
    for (OpValueId id = 0; id < count; ++id) {
        const bool isCut =
            isForwardValue(joint, id) && flow.levels()[2 * id] != kNone && flow.levels()[2 * id + 1] == kNone;
        if (isCut) {
            cut.saved.push_back(id);
            cut.bytes = std::min(cut.bytes + std::min(price[id], kInfinite), kInfinite);
        }
    }
    return cut;
}

std::vector<OpId> sequenceOfSaved(const OpGraph& joint, const std::vector<OpId>& base,
                                  const std::vector<OpValueId>& saved)
{
    std::vector<bool> isKept(joint.values().size(), false);
    for (const OpValueId id : saved) {
        isKept[id] = true;
    }
    return expandKept(joint, base, isKept, Rebuilt::UntilLastGradient);
}

} // namespace retro::schedule
