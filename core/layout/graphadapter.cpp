// SPDX-License-Identifier: Apache-2.0
#include "core/layout/graphadapter.h"

#include <unordered_map>

namespace retro::layout
{

namespace
{

constexpr int kMaxScopeDepth = 64;

/// Makes groups of scope paths.
class ScopeTree
{
public:
    explicit ScopeTree(DrawnGraph& out) : m_out(out) {}

    /// The group of "a/b/c", made with those around it when it is new; kNone for an empty path. Empty parts of a path
    /// are skipped.
    Index groupOf(std::string_view scope)
    {
        Index group = kNone;
        std::string path;
        for (int depth = 0; !scope.empty() && depth < kMaxScopeDepth;) {
            const std::size_t slash = scope.find('/');
            const std::string_view part = scope.substr(0, slash);
            scope = slash == std::string_view::npos ? std::string_view() : scope.substr(slash + 1);
            if (!part.empty()) {
                path.append(path.empty() ? "" : "/").append(part);
                group = findOrAdd(path, group);
                ++depth;
            }
        }
        return group;
    }

private:
    Index findOrAdd(const std::string& path, Index parent)
    {
        const auto [at, isNew] = m_groups.try_emplace(path, static_cast<Index>(m_out.groupPaths.size()));
        if (isNew) {
            m_out.groupLike.push_back(at->second);
            m_out.groupRepeats.push_back(1);
            m_out.groupPaths.push_back(path);
            m_out.graph.groupParents.push_back(parent);
        }
        return at->second;
    }

    DrawnGraph& m_out;
    std::unordered_map<std::string, Index> m_groups;
};

/// Per value: the node that stands for it, or kNone for constants.
std::vector<Index> findSources(const graph::Graph& graph)
{
    std::vector<Index> source(graph.valueCount(), kNone);
    for (std::size_t i = 0; i < graph.valueCount(); ++i) {
        const graph::Value& value = graph.values()[i];
        if (value.kind == graph::ValueKind::Result && value.producer.isValid()) {
            source[i] = static_cast<Index>(value.producer.index());
        }
    }
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
        source[graph.inputs()[i].index()] = static_cast<Index>(graph.nodeCount() + i);
    }
    return source;
}

} // namespace

std::string_view DrawnGraph::groupName(Index group) const
{
    const std::string_view path = groupPaths[group];
    const std::size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

DrawnGraph readGraph(const graph::Graph& graph)
{
    DrawnGraph out;
    out.graph.nodeCount = static_cast<Index>(graph.runNodeCount());
    ScopeTree scopes(out);
    const std::vector<Index> source = findSources(graph);
    for (std::size_t node = 0; node < graph.nodeCount(); ++node) {
        const graph::Node& reader = graph.nodes()[node];
        out.graph.nodeGroups.push_back(scopes.groupOf(reader.scope));
        for (std::size_t slot = 0; slot < reader.inputs.size(); ++slot) {
            const graph::ValueId value = reader.inputs[slot];
            if (value.isValid() && source[value.index()] != kNone) {
                out.graph.edges.push_back({source[value.index()], static_cast<Index>(node)});
                out.edgeTensors.push_back({value, static_cast<std::uint32_t>(slot)});
            }
        }
    }
    out.graph.nodeGroups.resize(static_cast<std::size_t>(out.graph.nodeCount), kNone);
    return out;
}

} // namespace retro::layout
