// SPDX-License-Identifier: Apache-2.0
#include "tests/core/layout/properties.h"

#include <fmt/format.h>

#include <cmath>

namespace properties
{

namespace
{

using retro::layout::Index;
using retro::layout::kNone;
using retro::layout::Layer;
using retro::layout::Point;
using retro::layout::Rect;

constexpr double kEpsilon = 1e-6;

bool overlap(const Rect& a, const Rect& b)
{
    return a.x < b.right() - kEpsilon && b.x < a.right() - kEpsilon && a.y < b.bottom() - kEpsilon &&
           b.y < a.bottom() - kEpsilon;
}

/// Narrows [from, to], the part of a line from p in steps of d that lies strictly between low and high.
void clip(double p, double d, double low, double high, double& from, double& to)
{
    if (std::abs(d) < 1e-12) {
        if (p <= low || p >= high) {
            to = -1;
        }
        return;
    }
    from = std::max(from, std::min((low - p) / d, (high - p) / d));
    to = std::min(to, std::max((low - p) / d, (high - p) / d));
}

bool passesThrough(Point a, Point b, const Rect& box)
{
    double from = 0.0;
    double to = 1.0;
    clip(a.x, b.x - a.x, box.x + kEpsilon, box.right() - kEpsilon, from, to);
    clip(a.y, b.y - a.y, box.y + kEpsilon, box.bottom() - kEpsilon, from, to);
    return from < to;
}

std::string edgeMissesBoxes(const LayeredLayout& drawing, Index edge)
{
    const auto points = drawing.edge(edge);
    for (std::size_t i = 1; i < points.size(); ++i) {
        for (std::size_t node = 0; node < drawing.nodes.size(); ++node) {
            if (passesThrough(points[i - 1], points[i], drawing.nodes[node])) {
                return fmt::format("edge {} passes through node {}", edge, node);
            }
        }
    }
    return {};
}

bool isInside(const LayoutInput& input, Index group, Index outer)
{
    while (group != kNone && group != outer) {
        group = input.groupParents[group];
    }
    return group == outer;
}

std::string frameIsExact(const LayoutInput& input, const LayeredLayout& drawing, Index group)
{
    const Rect& frame = drawing.groups[group];
    for (std::size_t node = 0; node < drawing.nodes.size(); ++node) {
        const bool isMember = isInside(input, input.nodeGroups[node], group);
        if (isMember && !frame.contains(drawing.nodes[node])) {
            return fmt::format("node {} sticks out of its group {}", node, group);
        }
        if (!isMember && frame.width > 0 && overlap(frame, drawing.nodes[node])) {
            return fmt::format("node {} lies in the frame of group {}", node, group);
        }
    }
    for (Index other = 0; other < group; ++other) {
        const bool isNested = isInside(input, other, group) || isInside(input, group, other);
        const bool isEmpty = frame.width == 0 || drawing.groups[other].width == 0;
        if (!isNested && !isEmpty && overlap(frame, drawing.groups[other])) {
            return fmt::format("the frames of groups {} and {} overlap", other, group);
        }
    }
    const Index parent = input.groupParents[group];
    if (parent != kNone && frame.width > 0 && !drawing.groups[parent].contains(frame)) {
        return fmt::format("the frame of group {} sticks out of group {}", group, parent);
    }
    return {};
}

} // namespace

std::string boxesApart(const LayeredLayout& drawing)
{
    for (std::size_t a = 0; a < drawing.nodes.size(); ++a) {
        for (std::size_t b = 0; b < a; ++b) {
            if (overlap(drawing.nodes[a], drawing.nodes[b])) {
                return fmt::format("nodes {} and {} overlap", b, a);
            }
        }
    }
    return {};
}

std::string edgesRunDown(const LayoutInput& input, const LayeredLayout& drawing)
{
    for (Index e = 0; e < static_cast<Index>(input.edges.size()); ++e) {
        const auto points = drawing.edge(e);
        const Rect& source = drawing.nodes[input.edges[e].from];
        const Rect& target = drawing.nodes[input.edges[e].to];
        const bool leaves = std::abs(points.front().y - source.bottom()) < kEpsilon && source.contains(points.front());
        const bool enters = std::abs(points.back().y - target.y) < kEpsilon && target.contains(points.back());
        if (!leaves || !enters) {
            return fmt::format("edge {} does not join the bottom of {} with the top of {}", e, input.edges[e].from,
                               input.edges[e].to);
        }
        for (std::size_t i = 1; i < points.size(); ++i) {
            if (points[i].y <= points[i - 1].y) {
                return fmt::format("edge {} runs upwards or sideways at point {}", e, i);
            }
        }
    }
    return {};
}

std::string edgesMissBoxes(const LayoutInput& input, const LayeredLayout& drawing)
{
    for (Index e = 0; e < static_cast<Index>(input.edges.size()); ++e) {
        if (std::string violation = edgeMissesBoxes(drawing, e); !violation.empty()) {
            return violation;
        }
    }
    return {};
}

std::string layersConsistent(const LayeredLayout& drawing)
{
    std::size_t listed = 0;
    for (std::size_t l = 0; l < drawing.layers.size(); ++l) {
        const Layer& layer = drawing.layers[l];
        if (l > 0 && layer.top <= drawing.layers[l - 1].bottom) {
            return fmt::format("layer {} begins before layer {} ends", l, l - 1);
        }
        double left = -1.0;
        for (const Index node : drawing.nodesOf(layer)) {
            const Rect& box = drawing.nodes[node];
            ++listed;
            if (drawing.nodeLayers[node] != static_cast<Index>(l) || box.y < layer.top || box.bottom() > layer.bottom) {
                return fmt::format("node {} is not in layer {}", node, l);
            }
            if (box.x < left) {
                return fmt::format("node {} of layer {} is out of order", node, l);
            }
            left = box.right();
        }
    }
    return listed == drawing.nodes.size() ? std::string() : fmt::format("{} nodes are listed in layers", listed);
}

std::string framesHoldMembers(const LayoutInput& input, const LayeredLayout& drawing)
{
    for (Index group = 0; group < static_cast<Index>(drawing.groups.size()); ++group) {
        if (std::string violation = frameIsExact(input, drawing, group); !violation.empty()) {
            return violation;
        }
    }
    return {};
}

std::string everythingInBounds(const LayeredLayout& drawing)
{
    const Rect bounds = drawing.bounds.grown(kEpsilon);
    for (std::size_t node = 0; node < drawing.nodes.size(); ++node) {
        if (!bounds.contains(drawing.nodes[node])) {
            return fmt::format("node {} is out of bounds", node);
        }
    }
    for (std::size_t i = 0; i < drawing.edgePoints.size(); ++i) {
        if (!bounds.contains(drawing.edgePoints[i])) {
            return fmt::format("edge point {} is out of bounds", i);
        }
    }
    for (std::size_t group = 0; group < drawing.groups.size(); ++group) {
        if (drawing.groups[group].width > 0 && !bounds.contains(drawing.groups[group])) {
            return fmt::format("frame {} is out of bounds", group);
        }
    }
    return {};
}

std::string firstViolation(const LayoutInput& input, const LayeredLayout& drawing)
{
    for (std::string violation :
         {boxesApart(drawing), edgesRunDown(input, drawing), edgesMissBoxes(input, drawing), layersConsistent(drawing),
          framesHoldMembers(input, drawing), everythingInBounds(drawing)}) {
        if (!violation.empty()) {
            return violation;
        }
    }
    return {};
}

} // namespace properties
