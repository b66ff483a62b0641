// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explain/valuepatterns.h"

#include "core/base/editdistance.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fnmatch.h>
#include <map>
#include <set>
#include <string_view>

namespace retro::engine
{

using base::NodeId;
using base::ValueId;

namespace
{

constexpr std::size_t kNearest = 3;

bool matches(const std::string& pattern, const std::string& name)
{
    return pattern == name || ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

/// "/layer1/conv/Conv" is also found as "layer1/conv/Conv".
bool matchesPath(const std::string& pattern, const std::string& name)
{
    return matches(pattern, name) || (name.starts_with('/') && matches(pattern, name.substr(1)));
}

/// Names of a graph and what they stand for.
class NamedValues
{
public:
    explicit NamedValues(const graph::Graph& graph) : m_graph(graph), m_modules(graph.nodeCount())
    {
        for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
            m_modules[i] = graph::moduleOf(graph.nodes()[i]);
        }
        for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
            addModules(i);
        }
    }

    void take(const std::string& pattern, std::set<ValueId>& found) const
    {
        for (std::size_t i = 0; i < m_graph.valueCount(); ++i) {
            const graph::Value& value = m_graph.values()[i];
            if (value.kind != graph::ValueKind::Constant && matchesPath(pattern, value.name)) {
                found.insert(ValueId(i));
            }
        }
        for (const graph::Node& node : m_graph.nodes()) {
            if (matchesPath(pattern, node.name)) {
                std::ranges::copy_if(node.outputs, std::inserter(found, found.end()), &ValueId::isValid);
            }
        }
        for (const auto& [name, values] : m_results) {
            if (matches(pattern, name)) {
                found.insert(values.begin(), values.end());
            }
        }
    }

    /// Those with the fewest changes between them and a pattern.
    [[nodiscard]] std::vector<std::string> nearest(const std::string& pattern) const
    {
        std::set<std::string> names;
        for (const graph::Value& value : m_graph.values()) {
            if (value.kind != graph::ValueKind::Constant) {
                names.insert(value.name);
            }
        }
        for (const auto& [name, values] : m_results) {
            names.insert(name);
        }
        std::vector<std::pair<std::size_t, std::string>> all;
        for (const std::string& name : names) {
            all.emplace_back(base::editsBetween(pattern, name), name);
        }
        std::ranges::sort(all);
        std::vector<std::string> few;
        for (const auto& [edits, name] : all) {
            if (few.size() < kNearest) {
                few.push_back(name);
            }
        }
        return few;
    }

private:
    /// The modules around a node get its results that somebody outside of them reads.
    void addModules(std::size_t at)
    {
        const std::string& module = m_modules[at];
        for (std::size_t end = module.find('.'); !module.empty(); end = module.find('.', end + 1)) {
            const std::string around = module.substr(0, end);
            for (const ValueId output : m_graph.nodes()[at].outputs) {
                if (output.isValid() && isReadOutside(output, around)) {
                    m_results[around].push_back(output);
                }
            }
            if (end == std::string::npos) {
                break;
            }
        }
    }

    [[nodiscard]] bool isReadOutside(ValueId value, const std::string& module) const
    {
        const auto isOutside = [&](const graph::Use& use) {
            const std::string& reader = m_modules[use.node.index()];
            return !(reader == module || reader.starts_with(module + "."));
        };
        return std::ranges::any_of(m_graph.uses(value), isOutside) ||
               std::ranges::find(m_graph.outputs(), value) != m_graph.outputs().end();
    }

    const graph::Graph& m_graph;
    std::vector<std::string> m_modules; ///< per node
    std::map<std::string, std::vector<ValueId>> m_results;
};

} // namespace

base::Result<std::vector<ValueId>> valuesMatching(const graph::Graph& graph, std::span<const std::string> patterns)
{
    const NamedValues names(graph);
    std::set<ValueId> all;
    for (const std::string& pattern : patterns) {
        std::set<ValueId> found;
        names.take(pattern, found);
        if (found.empty()) {
            return base::usageError(fmt::format("no value, node or module has such a name; the nearest are {} (`info "
                                                "--shapes` lists all values)",
                                                fmt::join(names.nearest(pattern), ", ")),
                                    "--values " + pattern);
        }
        all.merge(found);
    }
    return std::vector<ValueId>(all.begin(), all.end());
}

} // namespace retro::engine
