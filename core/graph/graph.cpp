// SPDX-License-Identifier: Apache-2.0
#include "core/graph/graph.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace retro::graph
{

namespace
{

/// Parts of a path between '/', and which of them a short name begins and ends with.
class PathEnd
{
public:
    PathEnd(std::string_view path, std::string_view op) : m_path(path)
    {
        for (std::size_t i = 0; i < path.size(); ++i) {
            if (path[i] != '/' && (i == 0 || path[i - 1] == '/')) {
                m_parts.push_back(i);
            }
        }
        if (const std::size_t count = m_parts.size(); count > 1 && part(count - 1) == op) {
            m_repeatsOperator = std::ranges::search(op, part(count - 2), isSameLetter).begin() != op.end();
        }
        m_first = m_parts.size() - std::min<std::size_t>(m_parts.size(), m_repeatsOperator ? 3 : 2);
    }

    [[nodiscard]] std::string_view text() const
    {
        if (m_parts.empty()) {
            return m_path;
        }
        const std::size_t end = m_repeatsOperator ? endOf(m_parts.size() - 2) : endOf(m_parts.size() - 1);
        return m_path.substr(m_parts[m_first], end - m_parts[m_first]);
    }

    /// Takes one more part; the operator where there is none. False: that was all.
    bool grow()
    {
        if (m_first > 0) {
            --m_first;
            return true;
        }
        return std::exchange(m_repeatsOperator, false);
    }

private:
    static bool isSameLetter(char a, char b)
    {
        return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
    }
    [[nodiscard]] std::size_t endOf(std::size_t part) const
    {
        const std::size_t end = part + 1 < m_parts.size() ? m_parts[part + 1] : m_path.size();
        return m_path.find_last_not_of('/', end - 1) + 1;
    }
    [[nodiscard]] std::string_view part(std::size_t index) const
    {
        return m_path.substr(m_parts[index], endOf(index) - m_parts[index]);
    }

    std::string_view m_path;
    std::vector<std::size_t> m_parts; ///< where each begins
    std::size_t m_first = 0;          ///< part that the name begins with
    bool m_repeatsOperator = false;   ///< the last part is left out
};

} // namespace

const Value Graph::kNoValue;

std::span<const Use> Graph::uses(ValueId id) const
{
    if (!id.isValid()) {
        return {};
    }
    const std::size_t begin = id.index() == 0 ? 0 : m_useEnd[id.index() - 1];
    return std::span(m_uses).subspan(begin, m_useEnd[id.index()] - begin);
}

NodeId Graph::inputNode(ValueId value) const
{
    const auto at = std::find(m_inputs.begin(), m_inputs.end(), value);
    return at == m_inputs.end() ? NodeId() : NodeId(m_nodes.size() + static_cast<std::size_t>(at - m_inputs.begin()));
}

NodeId Graph::nodeOf(ValueId value) const
{
    const Value& v = this->value(value);
    return v.kind == ValueKind::Input ? inputNode(value) : v.producer;
}

std::span<const ValueId> Graph::outputsOf(NodeId id) const
{
    if (isInput(id)) {
        return std::span(m_inputs).subspan(id.index() - m_nodes.size(), 1);
    }
    return m_nodes[id.index()].outputs;
}

ValueId Graph::firstOutput(NodeId id) const
{
    const std::span<const ValueId> outputs = outputsOf(id);
    const auto found = std::ranges::find_if(outputs, &ValueId::isValid);
    return found == outputs.end() ? ValueId() : *found;
}

const std::string& Graph::labelOf(NodeId id) const
{
    return isInput(id) ? value(outputsOf(id)[0]).name : m_nodes[id.index()].name;
}

std::string_view Graph::shortNameOf(NodeId id) const
{
    std::call_once(m_shortNames->made, [this] { m_shortNames->names = shortNames(); });
    return m_shortNames->names[id.index()];
}

std::vector<std::string_view> Graph::shortNames() const
{
    std::vector<PathEnd> ends;
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < runNodeCount(); ++i) {
        ends.emplace_back(labelOf(NodeId(i)), opOf(NodeId(i)));
        names.push_back(ends.back().text());
    }
    for (bool isDone = false; !isDone;) {
        isDone = true;
        std::unordered_map<std::string_view, std::size_t> count;
        for (const std::string_view name : names) {
            ++count[name];
        }
        for (std::size_t i = 0; i < names.size(); ++i) {
            if (count[names[i]] > 1 && ends[i].grow()) {
                names[i] = ends[i].text();
                isDone = false;
            }
        }
    }
    return names;
}

std::string_view Graph::opOf(NodeId id) const
{
    return isInput(id) ? "Input" : std::string_view(m_nodes[id.index()].op);
}

std::string_view Graph::scopeOf(NodeId id) const
{
    return isInput(id) ? std::string_view() : std::string_view(m_nodes[id.index()].scope);
}

std::optional<ValueId> Graph::findValue(std::string_view name) const
{
    const auto at = m_valueByName.find(name);
    return at == m_valueByName.end() ? std::nullopt : std::optional(ValueId(at->second));
}

std::optional<NodeId> Graph::findNode(std::string_view name) const
{
    const auto at = m_nodeByName.find(name);
    return at == m_nodeByName.end() ? std::nullopt : std::optional(NodeId(at->second));
}

} // namespace retro::graph
