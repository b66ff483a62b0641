// SPDX-License-Identifier: Apache-2.0
#include "core/layout/exchange.h"

#include "core/layout/buckets.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <numeric>

namespace retro::layout
{

namespace
{

constexpr double kUnitsPerInch = 72;
constexpr double kSameRank = 0.5;    // scene units between centres of one rank
constexpr double kOverlap = 0.01;    // rounding of what is printed
constexpr Index kMostPoints = 10000; // of one edge

/// Writes clusters inside each other without recursion.
class QuestionWriter
{
public:
    QuestionWriter(const LayoutInput& input, const LayoutOptions& options) : m_input(input), m_options(options)
    {
        const auto groupCount = static_cast<Index>(input.groupParents.size());
        m_nodes = groupBy(static_cast<Index>(input.nodeSizes.size()), groupCount + 1, [&](Index node) {
            const Index group = input.nodeGroups.empty() ? kNone : input.nodeGroups[node];
            return group == kNone ? groupCount : group;
        });
        m_children = groupBy(groupCount, groupCount + 1, [&](Index group) {
            return input.groupParents[group] == kNone ? groupCount : input.groupParents[group];
        });
    }

    std::string write()
    {
        const auto root = static_cast<Index>(m_input.groupParents.size());
        print("digraph {{\nrankdir=TB; splines=polyline; nodesep={:.4f}; ranksep={:.4f};\n", inches(m_options.nodeGap),
              inches(m_options.layerGap));
        print("node [shape=box, fixedsize=true, label=\"\", height=0.1];\nedge [dir=none, tailport=s, headport=n];\n");
        openGroup(root);
        while (!m_open.empty()) {
            Level& level = m_open.back();
            const auto children = m_children[level.group];
            if (level.next < children.size()) {
                const Index child = children[level.next++];
                print("subgraph cluster_{} {{\nlabel=\" \"; labelloc=t; margin={:.2f}; fontsize={:.2f};\n", child,
                      m_options.groupPadding, m_options.groupHeader / kLineHeight);
                openGroup(child);
            } else {
                m_open.pop_back();
                print("}}\n");
            }
        }
        return std::move(m_out);
    }

private:
    struct Level
    {
        Index group = kNone;
        std::size_t next = 0;
    };

    template <class... Values>
    void print(fmt::format_string<Values...> format, Values&&... values)
    {
        fmt::format_to(std::back_inserter(m_out), format, std::forward<Values>(values)...);
    }

    static double inches(double units) { return units / kUnitsPerInch; }

    void openGroup(Index group)
    {
        for (const Index node : m_nodes[group]) {
            const Size& size = m_input.nodeSizes[node];
            print("{} [width={:.4f}, height={:.4f}];\n", node, inches(size.width), inches(size.height));
        }
        if (m_open.empty()) { // the outermost braces hold the edges
            for (std::size_t e = 0; e < m_input.edges.size(); ++e) {
                print("{} -> {} [id=\"{}\"];\n", m_input.edges[e].from, m_input.edges[e].to, e);
            }
        }
        m_open.push_back({group, 0});
    }

    static constexpr double kLineHeight = 1.2; // of a line of text, in font sizes

    const LayoutInput& m_input;
    const LayoutOptions& m_options;
    Buckets m_nodes;
    Buckets m_children;
    std::vector<Level> m_open;
    std::string m_out;
};

/// Cuts a text into lines and lines into words.
std::string_view takeUntil(std::string_view& text, char end)
{
    const std::size_t at = std::min(text.find(end), text.size());
    const std::string_view part = text.substr(0, at);
    text.remove_prefix(std::min(at + 1, text.size()));
    return part;
}

template <class Number>
bool readNumber(std::string_view& line, Number& out)
{
    const std::string_view word = takeUntil(line, ' ');
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
    return error == std::errc() && end == word.data() + word.size();
}

bool readPoint(std::string_view& line, Point& out)
{
    return readNumber(line, out.x) && readNumber(line, out.y) && std::isfinite(out.x) && std::isfinite(out.y);
}

/// What an answer says, before it is put into layers.
class AnswerReader
{
public:
    explicit AnswerReader(const LayoutInput& input)
        : m_input(input), m_hasNode(input.nodeSizes.size(), false), m_edges(input.edges.size())
    {
        m_out.nodes.resize(input.nodeSizes.size());
        m_out.groups.resize(input.groupParents.size());
    }

    base::Result<LayeredLayout> read(std::string_view answer)
    {
        RETRO_CHECK(readLines(answer));
        RETRO_CHECK(checkComplete());
        RETRO_CHECK(makeLayers());
        makeEdges();
        return std::move(m_out);
    }

private:
    base::Result<void> readLines(std::string_view answer)
    {
        for (Index number = 1; !answer.empty(); ++number) {
            const std::string_view line = takeUntil(answer, '\n');
            if (number > 1 && line == "end") {
                return {};
            }
            const bool isUnderstood = number == 1 ? line == kAnswerHead : readItem(line);
            if (!isUnderstood) {
                return base::inputError(fmt::format("line {} of the answer is not understood", number));
            }
        }
        return base::inputError("the answer ends too early");
    }

    bool readItem(std::string_view line)
    {
        const std::string_view kind = takeUntil(line, ' ');
        std::size_t id = 0;
        if (!readNumber(line, id)) {
            return false;
        }
        if (kind == "node") {
            return readNode(id, line);
        }
        return kind == "edge" ? readEdge(id, line) : kind == "group" && readGroup(id, line);
    }

    bool readNode(std::size_t id, std::string_view line)
    {
        Point center;
        if (id >= m_hasNode.size() || m_hasNode[id] || !readPoint(line, center) || !line.empty()) {
            return false;
        }
        m_hasNode[id] = true;
        const Size& size = m_input.nodeSizes[id];
        m_out.nodes[id] = {center.x - size.width / 2, center.y - size.height / 2, size.width, size.height};
        return true;
    }

    bool readEdge(std::size_t id, std::string_view line)
    {
        Index count = 0;
        if (id >= m_edges.size() || !m_edges[id].empty() || !readNumber(line, count) || count < 2 ||
            count > kMostPoints) {
            return false;
        }
        m_edges[id].resize(static_cast<std::size_t>(count));
        const bool areRead = std::all_of(m_edges[id].begin(), m_edges[id].end(),
                                         [&line](Point& point) { return readPoint(line, point); });
        return areRead && line.empty();
    }

    bool readGroup(std::size_t id, std::string_view line)
    {
        Point corner;
        Point extent;
        const bool isRead = id < m_out.groups.size() && readPoint(line, corner) && readPoint(line, extent);
        if (!isRead || !line.empty() || extent.x < 0 || extent.y < 0) {
            return false;
        }
        m_out.groups[id] = {corner.x, corner.y, extent.x, extent.y};
        return true;
    }

    [[nodiscard]] base::Result<void> checkComplete() const
    {
        if (const auto node = std::find(m_hasNode.begin(), m_hasNode.end(), false); node != m_hasNode.end()) {
            return base::inputError(fmt::format("the answer has no place for node {}", node - m_hasNode.begin()));
        }
        const auto edge =
            std::find_if(m_edges.begin(), m_edges.end(), [](const auto& points) { return points.empty(); });
        if (edge != m_edges.end()) {
            return base::inputError(fmt::format("the answer has no way for edge {}", edge - m_edges.begin()));
        }
        return {};
    }

    /// Nodes by rank, then from left to right.
    base::Result<void> makeLayers()
    {
        std::vector<Index>& order = m_out.layerNodes;
        order.resize(m_out.nodes.size());
        std::iota(order.begin(), order.end(), 0);
        std::sort(order.begin(), order.end(),
                  [&](Index a, Index b) { return m_out.nodes[a].center().y < m_out.nodes[b].center().y; });
        m_out.nodeLayers.resize(order.size());
        for (std::size_t first = 0; first < order.size();) {
            const double middle = m_out.nodes[order[first]].center().y;
            std::size_t end = first;
            while (end < order.size() && m_out.nodes[order[end]].center().y <= middle + kSameRank) {
                ++end;
            }
            RETRO_CHECK(makeLayer(first, end));
            first = end;
        }
        return {};
    }

    base::Result<void> makeLayer(std::size_t first, std::size_t end)
    {
        const auto begin = m_out.layerNodes.begin();
        std::sort(begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(end),
                  [&](Index a, Index b) { return m_out.nodes[a].x < m_out.nodes[b].x; });
        const Rect& any = m_out.nodes[m_out.layerNodes[first]];
        Layer layer{any.y, any.bottom(), static_cast<Index>(first), static_cast<Index>(end - first)};
        for (std::size_t i = first; i < end; ++i) {
            const Rect& box = m_out.nodes[m_out.layerNodes[i]];
            if (i > first && m_out.nodes[m_out.layerNodes[i - 1]].right() > box.x + kOverlap) {
                return base::inputError("two boxes of the answer overlap");
            }
            layer.top = std::min(layer.top, box.y);
            layer.bottom = std::max(layer.bottom, box.bottom());
            m_out.nodeLayers[m_out.layerNodes[i]] = static_cast<Index>(m_out.layers.size());
        }
        if (!m_out.layers.empty() && m_out.layers.back().bottom > layer.top) {
            return base::inputError("two ranks of the answer overlap");
        }
        m_out.layers.push_back(layer);
        return {};
    }

    /// Puts the picture at (0, 0) and joins the ends of edges to their boxes.
    void makeEdges()
    {
        Rect bounds = m_out.nodes.empty() ? Rect() : m_out.nodes.front();
        const auto include = [&bounds](const Rect& rect) { bounds = bounds.united(rect); };
        std::for_each(m_out.nodes.begin(), m_out.nodes.end(), include);
        std::for_each(m_out.groups.begin(), m_out.groups.end(), [&](const Rect& rect) {
            if (rect.width > 0) {
                include(rect);
            }
        });
        m_out.edgePointOffsets = {0};
        for (std::size_t e = 0; e < m_edges.size(); ++e) {
            const LayoutEdge& ends = m_input.edges[e];
            const Rect& from = m_out.nodes[ends.from];
            const Rect& to = m_out.nodes[ends.to];
            m_edges[e].front() = {from.center().x, from.bottom()};
            m_edges[e].back() = {to.center().x, to.y};
            for (const Point& point : m_edges[e]) {
                include({point.x, point.y, 0, 0});
                m_out.edgePoints.push_back(point);
            }
            m_out.edgePointOffsets.push_back(static_cast<Index>(m_out.edgePoints.size()));
            m_out.edgeSpans.push_back({m_out.nodeLayers[ends.from], m_out.nodeLayers[ends.to]});
        }
        m_out.edgeIndex = EdgeIndex(m_out.edgeSpans, static_cast<Index>(m_out.layers.size()));
        moveBy(-bounds.x, -bounds.y);
        m_out.bounds = {0, 0, bounds.width, bounds.height};
    }

    void moveBy(double x, double y)
    {
        const auto move = [x, y](auto& place) {
            place.x += x;
            place.y += y;
        };
        std::for_each(m_out.nodes.begin(), m_out.nodes.end(), move);
        std::for_each(m_out.edgePoints.begin(), m_out.edgePoints.end(), move);
        std::for_each(m_out.groups.begin(), m_out.groups.end(), [&](Rect& rect) {
            if (rect.width > 0) {
                move(rect);
            }
        });
        for (Layer& layer : m_out.layers) {
            layer.top += y;
            layer.bottom += y;
        }
    }

    const LayoutInput& m_input;
    std::vector<bool> m_hasNode;
    std::vector<std::vector<Point>> m_edges;
    LayeredLayout m_out;
};

} // namespace

std::string writeQuestion(const LayoutInput& input, const LayoutOptions& options)
{
    return QuestionWriter(input, options).write();
}

base::Result<LayeredLayout> readAnswer(std::string_view answer, const LayoutInput& input)
{
    return AnswerReader(input).read(answer);
}

} // namespace retro::layout
