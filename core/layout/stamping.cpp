// SPDX-License-Identifier: Apache-2.0
#include "core/layout/stamping.h"

#include "core/layout/layout.h"
#include "core/layout/layoutkey.h"
#include "core/layout/pieces.h"
#include "core/layout/polyline.h"
#include "core/layout/topology.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace retro::layout
{

namespace
{

/// Fills layers, layerNodes, nodeLayers, edgeSpans and edgeIndex from the places of the boxes: boxes of the same top
/// and bottom share a layer. Layers go from top to bottom, both sides rising; where neighbours stand at different
/// heights they overlap in y. Edges must run downwards. O(nodes log nodes + edges).
void indexLayers(const LayoutInput& input, LayeredLayout& layout)
{
    const std::vector<Rect>& nodes = layout.nodes;
    layout.layerNodes.resize(nodes.size());
    std::iota(layout.layerNodes.begin(), layout.layerNodes.end(), 0);
    const auto key = [&](Index node) { return std::tuple(nodes[node].y, nodes[node].bottom(), nodes[node].x, node); };
    std::sort(layout.layerNodes.begin(), layout.layerNodes.end(), [&](Index a, Index b) { return key(a) < key(b); });
    layout.layers.clear();
    layout.nodeLayers.resize(nodes.size());
    const Rect* first = nullptr; // box that began the layer
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const Index node = layout.layerNodes[i];
        const Rect& box = nodes[node];
        if (first == nullptr || box.y != first->y || box.bottom() != first->bottom()) {
            const double least = layout.layers.empty() ? box.bottom() : layout.layers.back().bottom;
            layout.layers.push_back({box.y, std::max(box.bottom(), least), static_cast<Index>(i), 0});
            first = &box;
        }
        ++layout.layers.back().nodeCount;
        layout.nodeLayers[node] = static_cast<Index>(layout.layers.size()) - 1;
    }
    layout.edgeSpans.clear();
    for (const LayoutEdge& edge : input.edges) {
        layout.edgeSpans.push_back({layout.nodeLayers[edge.from], layout.nodeLayers[edge.to]});
    }
    layout.edgeIndex = EdgeIndex(layout.edgeSpans, static_cast<Index>(layout.layers.size()));
}

using LayoutPointer = std::shared_ptr<const LayeredLayout>;

/// How far a line runs straight down (up, from its other end) before its first bend.
double straightPart(Point end, Point next) { return end.x == next.x ? std::abs(next.y - end.y) : 0.0; }

/// How far all edges at the pins of one side run straight before they bend, at most up to the frame.
double straightAt(Pin side, const LayoutInput& input, const LayeredLayout& layout, double most)
{
    for (std::size_t e = 0; e < input.edges.size(); ++e) {
        const auto points = layout.edge(static_cast<Index>(e));
        const Index pin = side == Pin::First ? input.edges[e].from : input.edges[e].to;
        if (input.pinOf(pin) == side) {
            most = std::min(most, side == Pin::First ? straightPart(points[0], points[1])
                                                     : straightPart(points.back(), points[points.size() - 2]));
        }
    }
    return std::max(most, 0.0);
}

/// Takes away the room between pins and frame where the edges need none for bends: around the piece there is room
/// enough.
void trim(const LayoutInput& input, LayeredLayout& layout)
{
    const Rect& frame = layout.groups.front();
    const double top = straightAt(Pin::First, input, layout, frame.y);
    const double bottom = straightAt(Pin::Last, input, layout, layout.bounds.height - frame.bottom());
    const double last = layout.bounds.height - top - bottom;
    const auto moved = [top, last](double y) { return std::clamp(y - top, 0.0, last); };
    for (Rect& node : layout.nodes) {
        node.y = moved(node.y);
    }
    for (Point& point : layout.edgePoints) {
        point.y = moved(point.y);
    }
    for (Rect& group : layout.groups) {
        group.y -= top;
    }
    layout.bounds.height = last;
    indexLayers(input, layout);
}

/// The line through a piece that stands on the middle of its box: where something comes in and goes out on one line,
/// nearest to the middle of the frame; else where the first thing comes in or goes out.
double axisOf(const LayoutInput& input, const LayeredLayout& layout)
{
    const double middle = layout.groups.front().center().x;
    std::vector<double> ins;
    std::vector<double> outs;
    for (std::size_t node = 0; node < input.pins.size(); ++node) {
        if (input.pins[node] != Pin::None) {
            (input.pins[node] == Pin::First ? ins : outs).push_back(layout.nodes[node].center().x);
        }
    }
    std::vector<double> both;
    std::copy_if(ins.begin(), ins.end(), std::back_inserter(both),
                 [&](double x) { return std::find(outs.begin(), outs.end(), x) != outs.end(); });
    if (!both.empty()) {
        return *std::min_element(both.begin(), both.end(),
                                 [&](double a, double b) { return std::abs(a - middle) < std::abs(b - middle); });
    }
    return !ins.empty() ? ins.front() : !outs.empty() ? outs.front() : middle;
}

class Stamper
{
public:
    Stamper(const LayoutInput& input, Cut cut, const LayoutOptions& options, LayoutMemo& memo)
        : m_input(input), m_cut(std::move(cut)), m_options(options), m_memo(memo)
    {}

    base::Result<LayeredLayout> run(const std::stop_token& stop)
    {
        for (const Piece& piece : m_cut.pieces) {
            RETRO_TRY(LayoutPointer layout, layoutOf(piece, stop));
            m_axes.push_back(axisOf(piece.input, *layout));
            m_layouts.push_back(std::move(layout));
        }
        sizeBoxes();
        pinEdges();
        RETRO_TRY(m_rest, computeLayout(m_cut.rest, m_options, stop));
        return compose();
    }

private:
    base::Result<LayoutPointer> layoutOf(const Piece& piece, const std::stop_token& stop)
    {
        const base::Hash128 key = layoutKey(piece.input, m_options, kOwnMethod);
        if (LayoutPointer known = m_memo.find(key, piece.input)) {
            return known;
        }
        RETRO_TRY(LayeredLayout made, stampLayout(piece.input, piece.isRepeated, m_options, m_memo, stop));
        trim(piece.input, made);
        auto layout = std::make_shared<const LayeredLayout>(std::move(made));
        m_memo.add(key, layout);
        return LayoutPointer(std::move(layout));
    }

    /// Boxes are as wide on both sides of their axis.
    void sizeBoxes()
    {
        for (std::size_t box = 0; box < m_cut.restPieces.size(); ++box) {
            if (const Index piece = m_cut.restPieces[box]; piece != kNone) {
                const Rect& bounds = m_layouts[piece]->bounds;
                const double half = std::max(m_axes[piece], bounds.width - m_axes[piece]);
                m_cut.rest.nodeSizes[box] = {2 * half, bounds.height};
            }
        }
    }

    /// Edges reach pieces where their pins are.
    void pinEdges()
    {
        for (std::size_t e = 0; e < m_cut.edges.size(); ++e) {
            const CutEdge& way = m_cut.edges[e];
            if (way.between == kNone) {
                continue;
            }
            EdgePins& pins = m_cut.rest.edgePins[way.between];
            if (way.source != kNone) {
                const Index piece = m_cut.pieceOf[m_input.edges[e].from];
                pins.leave = m_layouts[piece]->edge(way.source).back().x - m_axes[piece];
            }
            if (way.target != kNone) {
                const Index piece = m_cut.pieceOf[m_input.edges[e].to];
                pins.enter = m_layouts[piece]->edge(way.target).front().x - m_axes[piece];
            }
        }
    }

    LayeredLayout compose()
    {
        LayeredLayout out;
        out.nodes.resize(m_input.nodeSizes.size());
        out.groups.resize(m_input.groupParents.size());
        m_places.resize(m_cut.pieces.size());
        for (std::size_t box = 0; box < m_cut.restNodes.size(); ++box) {
            if (const Index node = m_cut.restNodes[box]; node != kNone) {
                out.nodes[node] = m_rest.nodes[box];
            } else {
                stamp(m_cut.restPieces[box], m_rest.nodes[box], out);
            }
        }
        for (std::size_t group = 0; group < m_cut.restGroups.size(); ++group) {
            out.groups[m_cut.restGroups[group]] = m_rest.groups[group];
        }
        joinEdges(out);
        indexLayers(m_input, out);
        out.bounds = m_rest.bounds;
        return out;
    }

    void stamp(Index piece, const Rect& box, LayeredLayout& out)
    {
        const LayeredLayout& layout = *m_layouts[piece];
        const Point place{box.center().x - m_axes[piece], box.y};
        m_places[piece] = place;
        const auto moved = [&](const Rect& rect) {
            return Rect{rect.x + place.x, rect.y + place.y, rect.width, rect.height};
        };
        const std::vector<Index>& nodes = m_cut.pieces[piece].nodes;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            out.nodes[nodes[i]] = moved(layout.nodes[i]);
        }
        const std::vector<Index>& groups = m_cut.pieces[piece].groups;
        for (std::size_t i = 0; i < groups.size(); ++i) {
            out.groups[groups[i]] = layout.groups[i].width > 0 ? moved(layout.groups[i]) : Rect();
        }
    }

    void joinEdges(LayeredLayout& out)
    {
        out.edgePointOffsets = {0};
        for (std::size_t e = 0; e < m_cut.edges.size(); ++e) {
            const CutEdge& way = m_cut.edges[e];
            addPart(m_cut.pieceOf[m_input.edges[e].from], way.source, out);
            addPart(kNone, way.between, out);
            addPart(m_cut.pieceOf[m_input.edges[e].to], way.target, out);
            out.edgePointOffsets.push_back(static_cast<Index>(out.edgePoints.size()));
        }
    }

    /// Appends points; those of a piece are shifted.
    void addPart(Index piece, Index edge, LayeredLayout& out) const
    {
        if (edge == kNone) {
            return;
        }
        const Point shift = piece == kNone ? Point() : m_places[piece];
        for (const Point& point : (piece == kNone ? m_rest : *m_layouts[piece]).edge(edge)) {
            appendPoint(out.edgePoints, static_cast<std::size_t>(out.edgePointOffsets.back()),
                        {point.x + shift.x, point.y + shift.y});
        }
    }

    const LayoutInput& m_input;
    Cut m_cut;
    const LayoutOptions& m_options;
    LayoutMemo& m_memo;
    std::vector<LayoutPointer> m_layouts; // per piece
    std::vector<double> m_axes;           // per piece: x in its layout
    std::vector<Point> m_places;          // per piece: where its layout begins
    LayeredLayout m_rest;
};

} // namespace

base::Hash128 stampKey(const LayoutInput& input, const std::vector<bool>& isRepeated, const LayoutOptions& options)
{
    base::Hasher128 hasher;
    hasher.hash(layoutKey(input, options, kOwnMethod));
    for (const bool isOne : isRepeated) {
        hasher.number(isOne ? 1 : 0);
    }
    return hasher.value();
}

base::Result<LayeredLayout> stampLayout(const LayoutInput& input, const std::vector<bool>& isRepeated,
                                        const LayoutOptions& options, LayoutMemo& memo, const std::stop_token& stop)
{
    RETRO_CHECK(checkGroups(input.nodeGroups, input.groupParents, static_cast<Index>(input.nodeSizes.size())));
    RETRO_CHECK(sortTopologically(input.edges, static_cast<Index>(input.nodeSizes.size())));
    Cut cut = cutPieces(input, isRepeated);
    return cut.pieces.empty() ? computeLayout(input, options, stop)
                              : Stamper(input, std::move(cut), options, memo).run(stop);
}

} // namespace retro::layout
