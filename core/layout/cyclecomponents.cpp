// SPDX-License-Identifier: Apache-2.0
#include "core/layout/cyclecomponents.h"

namespace retro::layout
{

namespace
{

/// Tarjan's algorithm with its own stack.
class Finder
{
public:
    Finder(const std::vector<LayoutEdge>& edges, Index nodeCount)
        : m_edges(edges),
          m_out(groupBy(static_cast<Index>(edges.size()), nodeCount, [&](Index e) { return edges[e].from; })),
          m_number(static_cast<std::size_t>(nodeCount), kNone), m_low(m_number.size(), 0),
          m_nextEdge(m_number.size(), 0)
    {
        m_found.component.assign(m_number.size(), kNone);
    }

    CycleComponents run()
    {
        for (Index node = 0; node < static_cast<Index>(m_number.size()); ++node) {
            if (m_number[node] == kNone) {
                walk(node);
            }
        }
        return std::move(m_found);
    }

private:
    void walk(Index root)
    {
        enter(root);
        while (!m_path.empty()) {
            const Index node = m_path.back();
            const auto out = m_out[node];
            if (m_nextEdge[node] < static_cast<Index>(out.size())) {
                follow(node, m_edges[out[static_cast<std::size_t>(m_nextEdge[node]++)]].to);
            } else {
                leave(node);
            }
        }
    }

    void enter(Index node)
    {
        m_number[node] = m_low[node] = m_counter++;
        m_path.push_back(node);
        m_open.push_back(node);
    }

    void follow(Index from, Index to)
    {
        if (m_number[to] == kNone) {
            enter(to);
        } else if (m_found.component[to] == kNone) {
            m_low[from] = std::min(m_low[from], m_number[to]);
        }
    }

    void leave(Index node)
    {
        m_path.pop_back();
        if (!m_path.empty()) {
            m_low[m_path.back()] = std::min(m_low[m_path.back()], m_low[node]);
        }
        if (m_low[node] == m_number[node]) {
            closeComponent(node);
        }
    }

    void closeComponent(Index first)
    {
        const auto component = static_cast<Index>(m_found.size.size());
        m_found.size.push_back(0);
        Index node = kNone;
        do {
            node = m_open.back();
            m_open.pop_back();
            m_found.component[node] = component;
            ++m_found.size.back();
        } while (node != first);
    }

    const std::vector<LayoutEdge>& m_edges;
    Buckets m_out;
    std::vector<Index> m_number; // order of discovery
    std::vector<Index> m_low;    // earliest open node that can be reached
    std::vector<Index> m_nextEdge;
    std::vector<Index> m_path; // nodes being walked
    std::vector<Index> m_open; // nodes without a component yet
    Index m_counter = 0;
    CycleComponents m_found;
};

} // namespace

CycleComponents findCycleComponents(const std::vector<LayoutEdge>& edges, Index nodeCount)
{
    return Finder(edges, nodeCount).run();
}

} // namespace retro::layout
